public import HostAPI
public import KeychainModel
internal import Localization
public import SecureBytes
internal import SystemCrypto

// Files of certificates and keys that are written.
extension Host {
    public func exportFile(_ request: ExportRequest, _ context: RequestContext) throws(KeychainError) -> SharedSecret {
        guard request.usesKeychains else {
            return try run(context) { ticket throws(KeychainError) in
                let file = ExportedFile(request, asking: try authentication(context, ticket)) {
                    (key, _) throws(KeychainError) in try key.givenPrivateKey
                }
                return SharedSecret(try file.bytes())
            }
        }
        return try visit(context, onToken: false) { visit throws(KeychainError) in
            let file = ExportedFile(request, asking: visit.session.authentication) {
                (key, encrypted) throws(KeychainError) in
                try visit.ticket.check()
                guard case .item(let reference) = key else { return try key.givenPrivateKey }
                return try visit.session.exportKey(reference, encrypted: encrypted, noting: self.journal)
            }
            return SharedSecret(try file.bytes())
        }
    }
}

extension ExportRequest {
    fileprivate var usesKeychains: Bool {
        objects.contains { if case .privateKey(.item, _) = $0 { true } else { false } }
    }
}

extension KeyRequest.Key {
    /// - Throws: `errSecDataNotAvailable` for a key without a private half.
    fileprivate var givenPrivateKey: PrivateKey {
        get throws(KeychainError) {
            guard case .given(let key) = self, let secret = key.secret else {
                throw KeychainError(.dataNotAvailable, "the key has no private half")
            }
            return try KeychainError.mapping { () throws(CryptoError) in try PrivateKey(encoded: secret.secret) }
        }
    }
}

extension KeychainSession {
    fileprivate func exportKey(
        _ reference: PersistentReference, encrypted: Bool, noting journal: ClientJournal
    ) throws(KeychainError) -> PrivateKey {
        let item: Item? = if reference.tokenID == nil { try keyItem(reference) } else { nil }
        guard let item, !item.isOnToken, let keychain = try keychain(item.keychain) as? LocalKeychain else {
            throw KeychainError(
                .dataNotAvailable, "the key '\(item?.label ?? "")' is in no keychain that it could leave")
        }
        return try journal.noting(.export, item.journalName, of: keychain.name) { () throws(KeychainError) in
            try keychain.exportKey(item.reference, encrypted: encrypted, authentication: authentication)
        }
    }
}
