// Keychain semantics 1.5, `m_Issuers`.
extension SearchList {
    /// How far a chain is followed.
    static let maximumChainLength = 10

    /// The query with the names that lead to its issuers; the certificates between may be in any member.
    func followingChains(_ query: Query) -> Query {
        let wanted = query.filters.flatMap { filter -> [[UInt8]] in
            if case .issuers(let names) = filter { names } else { [] }
        }
        guard !wanted.isEmpty else { return query }
        var query = query
        query.issuerNames = names(leadingTo: wanted.compactMap { NormalizedName.content(of: $0) })
        return query
    }

    /// The subjects of certificates that were issued, step by step, below one of the names; and the names themselves.
    private func names(leadingTo wanted: [[UInt8]]) -> Set<[UInt8]> {
        // What cannot be searched for parents is reported by the search itself.
        let everything = try? Query(.certificate, [.synchronizable: Query.anySynchronizable], limit: .all)
        let certificates = members.flatMap { member in
            everything.flatMap { try? member.items(matching: $0) }?.items ?? []
        }
        let issued = Dictionary(grouping: certificates) { $0[.issuer]?.bytes ?? [] }
        var names = Set(wanted)
        var latest = names
        // The certificate that is looked for is one step of the chain, its issuer's another.
        for _ in 1..<Self.maximumChainLength where !latest.isEmpty {
            let subjects = latest.flatMap { issued[$0] ?? [] }.compactMap { $0[.subject]?.bytes }
            latest = Set(subjects).subtracting(names)
            names.formUnion(latest)
        }
        return names
    }
}
