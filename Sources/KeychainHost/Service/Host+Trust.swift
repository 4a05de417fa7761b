public import HostAPI
public import KeychainModel
internal import SecureBytes
public import SystemCrypto

// Judgements of certificates.
extension Host {
    public func trustedRoots(_ context: RequestContext) throws(KeychainError) -> [Certificate] {
        try run(context) { _ throws(KeychainError) in try client.trustAnchors.roots() }
    }

    public func judge(
        _ request: ChainRequest, _ context: RequestContext
    ) throws(KeychainError) -> Outcome<CertificateChain.Outcome> {
        // Without a keychain, no setting has to be readable.
        if request.keychains == [] {
            return try run(context) { _ throws(KeychainError) in try verdict(request, Outcome([])) }
        }
        return try visit(context, onToken: false) { visit throws(KeychainError) in
            try verdict(request, visit.session.certificates(in: request.keychains))
        }
    }

    private func verdict(
        _ request: ChainRequest, _ known: Outcome<[Item]>
    ) throws(KeychainError) -> Outcome<CertificateChain.Outcome> {
        let roots = try request.anchors + (request.trustsSystem ? client.trustAnchors.roots() : [])
        let verdict = try KeychainError.mapping { () throws(CryptoError) in
            try CertificateChain.verify(
                request.certificate, intermediates: request.helpers + known.found.compactMap(\.certificate),
                roots: roots, at: request.time ?? ItemDate.now.seconds,
                revocation: request.revocation.map { (given) throws(CryptoError) in try given.parsed },
                endsAtAnyRoot: request.endsAtAnyAnchor, securityLevel: request.securityLevel)
        }
        return Outcome(verdict, missing: known.missing)
    }
}

extension KeychainSession {
    /// The certificates of keychains in files, whatever their access groups: nothing of them is told but a chain.
    ///
    /// - Parameter keychains: nil for those of the search list.
    fileprivate func certificates(in keychains: [KeychainIdentifier]?) -> Outcome<[Item]> {
        guard let keychains else { return searchList.certificates }
        var (members, missing): ([any Keychain], [Missing]) = ([], [])
        for identifier in keychains {
            do throws(KeychainError) { members.append(try keychain(identifier)) } catch {
                missing.append(Missing(.absentKeychain, in: .file, of: identifier.rawValue, error))
            }
        }
        return SearchList(locals: members, missing: missing).certificates
    }
}

extension ChainRequest.Revocation {
    fileprivate var parsed: CertificateChain.Revocation {
        get throws(CryptoError) {
            var lists: [CertificateRevocationList] = []
            for file in files { lists += try CertificateRevocationList.all(in: file.secret.copied()) }
            return CertificateChain.Revocation(lists: lists, isRequired: isRequired)
        }
    }
}
