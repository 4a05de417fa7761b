internal import SystemCrypto

/// The meaning of a query, as one predicate for the items of every kind of keychain.
extension ResolvedQuery {
    /// Whether an item satisfies everything the query asks for, the limit aside.
    ///
    /// An identity is not an item: the search list matches its two halves, and pairs them.
    public func matches(_ item: Item) -> Bool {
        guard item.itemClass == query.itemClass, query.includes(item.keychain), isReadable(item) else { return false }
        if let reference = query.reference, item.reference != reference { return false }
        guard query.attributes.allSatisfy({ query.matches($0.value, for: $0.key, of: item) }) else { return false }
        guard !query.filters.isEmpty else { return true }
        // Parsed only after all other conditions have passed.
        let certificate = needsCertificate ? item.certificate : nil
        return query.filters.allSatisfy { accepts($0, item, certificate) }
    }

    /// Whether the item's access group is open to the client. Items on a token are open to every client.
    package func isReadable(_ item: Item) -> Bool {
        accessGroups?.allow(item) ?? true
    }

    /// The access groups that are open to the client by name, as values of `agrp`.
    package var groups: [AttributeValue] { accessGroups?.names.map { .string($0) } ?? [] }

    private var needsCertificate: Bool {
        query.filters.contains { filter in
            switch filter {
            case .emailAddress, .policy, .validOn, .trusted: true
            case .subject, .issuers, .hostOrSubdomain, .items: false
            }
        }
    }

    private func accepts(_ filter: Filter, _ item: Item, _ certificate: Certificate?) -> Bool {
        switch filter {
        case .subject(let match): item.commonName.map { match.accepts($0, query.folding) } ?? false
        case .emailAddress(let address):
            certificate?.emailAddresses.contains { !$0.isEmpty && $0.lowercased() == address.lowercased() } ?? false
        case .policy(let policy): certificate.map(policy.accepts) ?? false
        case .validOn(let time): certificate?.isValid(at: time) ?? false
        case .trusted: certificate.flatMap { trust?.accepts($0) } ?? false
        case .issuers(let names): accepts(issuers: names, item)
        case .hostOrSubdomain(let host): accepts(host: host, item)
        case .items(let list): list.contains(item)
        }
    }

    private func accepts(issuers names: [[UInt8]], _ item: Item) -> Bool {
        let wanted = names.compactMap { NormalizedName.content(of: $0) }
        if let subject = item[.subject]?.bytes, wanted.contains(subject) { return true }
        guard let issuer = item[.issuer]?.bytes else { return false }
        return wanted.contains(issuer) || issuerNames.contains(issuer)
    }

    /// Names of hosts have no case (RFC 4343).
    private func accepts(host: String, _ item: Item) -> Bool {
        guard let bytes = item[.server]?.bytes else { return false }
        let (server, host) = (String(decoding: bytes, as: UTF8.self).lowercased(), host.lowercased())
        return server == host || server.hasSuffix("." + host)
    }
}

extension Query {
    /// Whether an item meets all conditions that the query states by itself, the limit aside: access groups are not
    /// looked at, a certificate's chain ends with its issuer, and no root is trusted.
    public func matches(_ item: Item) -> Bool { ResolvedQuery(self).matches(item) }

    /// Whether a keychain is one of those the query is about.
    public func includes(_ keychain: KeychainIdentifier) -> Bool {
        keychains?.contains(keychain) ?? true
    }

    package func matches(_ wanted: AttributeValue, for attribute: Attribute, of item: Item) -> Bool {
        guard let actual = item[attribute] else {
            return itemClass.countsAbsentAsDefault(attribute) && wanted.isDefault
        }
        if folds(attribute), let left = wanted.string, let right = actual.string {
            return folding.fold(left) == folding.fold(right)
        }
        return actual.matches(wanted)
    }
}

extension ItemClass {
    /// Whether an item without the attribute is found by a search for its empty value or 0.
    package func countsAbsentAsDefault(_ attribute: Attribute) -> Bool {
        attribute == .tokenID || uniqueAttributes.contains(attribute)
    }
}
