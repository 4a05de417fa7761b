internal import HostAPI
internal import KeychainModel
internal import Localization
internal import SystemCrypto

/// A search: its query, and the wanted parts of the items. Keychain semantics 1.6 and 1.8, "copy".
struct ItemSearch {
    private let query: Query
    private let returns: ParsedDictionary.Returns
    private let leavesOutGuarded: Bool

    init(_ parsed: ParsedDictionary) throws(KeychainError) {
        query = try parsed.query()
        returns = parsed.returns
        leavesOutGuarded = parsed.authenticationUI == .skip
    }

    /// One request in most cases. A person proves presence once for all secrets that it reads.
    func result(
        of service: some KeychainService, _ context: RequestContext
    ) throws(KeychainError) -> Outcome<ItemValue?> {
        var context = context
        var request = SearchRequest(
            query, leavingOutGuarded: leavesOutGuarded, describingKeychains: returns.contains(.provenance))
        if returns.contains(.data) {
            request.secrets = returns.isDataAlone ? .all : .extractable
            request.endsAuthentication = context.authentication == nil
            context.authentication = context.authentication ?? .next()
        }
        let answer = try service.searchAll(request, context)
        guard !answer.found.found.isEmpty else { throw answer.damage ?? notFound(besides: answer.missing) }
        let value = returns.value(of: answer.found.found, in: answer.found.keychains, isArray: query.limit.count != 1)
        return Outcome(value, missing: answer.missing)
    }

    /// The error for no match. If the query names a known card that is not inserted or cannot be read, it says so (keychain
    /// semantics 1.12).
    private func notFound(besides missing: [Missing]) -> KeychainError {
        if query.tokenID != nil, let unread = missing.unreadCard { return unread }
        if let card = missing.first(where: { $0.kind == .absentKeychain && $0.place == .card }) { return card.error }
        // A file of the search list that does not exist hides nothing. One that the query names is the reason.
        let isNamed = query.keychains != nil
        let hiding = missing.filter { isNamed || $0.kind != .absentKeychain || $0.place != .file }
        return .notFound("no \(query.itemClass.noun) matches", besides: hiding)
    }
}

extension ParsedDictionary {
    /// The query that the dictionary describes.
    ///
    /// - Throws: `errSecParam` and its kin, naming the key, for what the class or the reference rules out.
    func query() throws(KeychainError) -> Query {
        guard let itemClass else { throw KeychainError(.param, key: "class") }
        var attributes = attributes
        if isLocalOnly {
            guard attributes[.tokenID]?.isDefault ?? true else {
                throw KeychainError(.param, "the query is about a token", key: "u_LocalOnly")
            }
            attributes[.tokenID] = ""
        }
        var filters = filters
        var persistent = persistentReference
        switch reference {
        case nil: break
        case .item(let item): persistent = item.reference
        case .identity(let identity): persistent = identity.reference
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
        let limit = limit ?? .one
        var query =
            if let persistent {
                try Query(
                    persistent, attributes, filters: filters, folding: folding, in: searchList, limit: limit)
            } else {
                try Query(itemClass, attributes, filters: filters, folding: folding, in: searchList, limit: limit)
            }
        query.isLocalOnly = isLocalOnly
        query.isDistinct = isDistinct
        query.includesAbsentTokens = includesAbsentTokens
        return query
    }
}

extension Certificate {
    /// The attributes that make the certificate's item unique, by which it is found.
    fileprivate var uniqueAttributes: Attributes {
        let unique = ItemClass.certificate.uniqueAttributes
        return InferredAttributes.certificate(self).filter { unique.contains($0.key) }
    }
}

extension InferredAttributes {
    /// The attributes by which a stored key is found.
    fileprivate static func identifying(_ key: PublicKey, _ keyClass: KeyClass) -> Attributes {
        [.keyClass: keyClass.value, .applicationLabel: .data(key.keyHash)]
    }
}
