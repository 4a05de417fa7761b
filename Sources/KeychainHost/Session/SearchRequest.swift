internal import KeychainModel
internal import SystemCrypto

/// A search as it is carried out: the query, the keychains, and what is wanted of what they have.
struct SearchRequest: Sendable {
    let query: Query
    /// Whom it is for.
    let client: SearchClient
    let searchList: SearchList
    let returns: ParsedDictionary.Returns
    let context: PromptContext
    /// Whether items are left out for which a person would have to be asked.
    let leavesOutGuarded: Bool

    /// - Throws: `errSecParam` and its kin, naming the key, for what the class or the reference rules out.
    init(_ parsed: ParsedDictionary, in session: KeychainSession) throws(KeychainError) {
        try session.checkEntitled()
        guard let itemClass = parsed.itemClass else { throw KeychainError(.param, key: "class") }
        var attributes = parsed.attributes
        if parsed.isLocalOnly {
            guard attributes[.tokenID]?.isDefault ?? true else {
                throw KeychainError(.param, "the query is about a token", key: "u_LocalOnly")
            }
            attributes[.tokenID] = ""
        }
        var filters = parsed.filters
        var reference = parsed.persistentReference
        switch parsed.reference {
        case nil: break
        case .item(let item): reference = item.reference
        case .identity(let identity): reference = identity.reference
        case .certificate(let certificate), .keyPair(let certificate, _), .certified(let certificate, _):
            attributes.merge(certificate.uniqueAttributes) { given, _ in given }
            filters.append(.items(ItemList(certificates: [certificate.der])))
        case .publicKey(let key):
            attributes.merge(InferredAttributes.identifying(key, .public)) { given, _ in given }
        case .privateKey(let key):
            attributes.merge(InferredAttributes.identifying(key.publicKey, .private)) { given, _ in given }
        case .symmetricKey(let key):
            let own = key.attributes.filter { [.keyClass, .keyType, .applicationLabel].contains($0.key) }
            attributes.merge(own) { given, _ in given }
        case .keychain, .policy: throw .unfitting("v_Ref")
        }
        let limit = parsed.limit ?? .one
        var query =
            if let reference {
                try Query(
                    reference, attributes, filters: filters, folding: parsed.folding, in: parsed.searchList,
                    limit: limit)
            } else {
                try Query(
                    itemClass, attributes, filters: filters, folding: parsed.folding, in: parsed.searchList,
                    limit: limit)
            }
        query.isLocalOnly = parsed.isLocalOnly
        query.isDistinct = parsed.isDistinct
        query.includesAbsentTokens = parsed.includesAbsentTokens
        self.query = query
        client = session.client
        searchList = session.searchList(for: query)
        returns = parsed.returns
        leavesOutGuarded = parsed.authenticationUI == .skip
        context = session.promptContext(parsed, for: "read \(itemClass.anyNoun)")
    }
}

extension Certificate {
    /// What makes an item of it unique, so that it is found again.
    var uniqueAttributes: Attributes {
        let unique = ItemClass.certificate.uniqueAttributes
        return InferredAttributes.certificate(self).filter { unique.contains($0.key) }
    }
}

extension InferredAttributes {
    /// What a stored key is found by.
    static func identifying(_ key: PublicKey, _ keyClass: KeyClass) -> Attributes {
        [.keyClass: keyClass.value, .applicationLabel: .data(key.keyHash)]
    }
}
