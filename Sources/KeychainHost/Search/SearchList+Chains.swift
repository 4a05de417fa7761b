internal import KeychainModel
internal import SystemCrypto

// Keychain semantics 1.5, `m_Issuers` and `m_TrustedOnly`.
extension SearchList {
    /// The maximum length of a chain of names.
    static let maximumChainLength = 10

    /// The query for a client, with the facts about chains that its filters need; intermediate certificates may be in
    /// any member.
    ///
    /// - Throws: `errSecTrustNotAvailable` where there are no roots to be trusted.
    func resolve(_ query: Query, for client: SearchClient) throws(KeychainError) -> ResolvedQuery {
        let wanted = query.filters.flatMap { filter -> [[UInt8]] in
            if case .issuers(let names) = filter { names } else { [] }
        }
        let isTrustWanted = query.filters.contains(.trusted)
        var resolved = ResolvedQuery(query, accessGroups: client.accessGroups)
        guard !wanted.isEmpty || isTrustWanted else { return resolved }
        let known = certificates.found
        if !wanted.isEmpty {
            resolved.issuerNames = Self.names(
                leadingTo: wanted.compactMap { NormalizedName.content(of: $0) }, through: known)
        }
        if isTrustWanted {
            resolved.trust = ChainTrust(
                roots: try client.trustAnchors.roots(), intermediates: known.compactMap(\.certificate),
                time: query.time ?? ItemDate.now.seconds)
        }
        return resolved
    }

    /// The queries that members are searched by: for an identity its certificate first, then its key.
    func resolvedParts(
        of query: Query, for client: SearchClient
    ) throws(KeychainError) -> [ResolvedQuery] {
        guard query.itemClass == .identity else { return [try resolve(query, for: client)] }
        return [
            try resolve(query.half(.certificate), for: client), try resolve(query.half(.key), for: client),
        ]
    }

    /// All certificates of the members, and the members that cannot be searched.
    var certificates: Outcome<[Item]> {
        var all = Outcome<[Item]>([], missing: missing)
        for member in members {
            do throws(KeychainError) {
                let found = try member.items(
                    matching: Query(.certificate, [.synchronizable: Query.anySynchronizable], limit: .all))
                all.found += found.found
                all.add(missing: found.missing)
            } catch {
                all.missing.append(member.missing(error))
            }
        }
        return all
    }

    /// The given names, and the subjects of certificates that were issued below one of them, step by step.
    private static func names(leadingTo wanted: [[UInt8]], through certificates: [Item]) -> Set<[UInt8]> {
        let issued = Dictionary(grouping: certificates) { $0[.issuer]?.bytes ?? [] }
        var names = Set(wanted)
        var latest = names
        // The certificate that is looked for is one step of the chain, its issuer's another.
        for _ in 1..<maximumChainLength where !latest.isEmpty {
            let subjects = latest.flatMap { issued[$0] ?? [] }.compactMap { $0[.subject]?.bytes }
            latest = Set(subjects).subtracting(names)
            names.formUnion(latest)
        }
        return names
    }
}

extension Query {
    /// The time that ``Filter/validOn(_:)`` names.
    fileprivate var time: Int64? {
        for case .validOn(let time) in filters { return time }
        return nil
    }
}
