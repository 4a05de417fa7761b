internal import HostAPI
internal import KeychainModel
internal import SecureBytes
internal import SystemCrypto

/// A search: its query, and the wanted parts of the items. Keychain semantics 1.6 and 1.8, "copy".
struct ItemSearch {
    let service: any KeychainService
    let query: Query
    let returns: ParsedDictionary.Returns
    /// Whether items are left out for which a person would have to be asked.
    let leavesOutGuarded: Bool
    let context: RequestContext

    private typealias Described = (FoundItem, data: ItemValue?, provenance: ItemDictionary?)

    func result() throws(KeychainError) -> Outcome<ItemValue?> {
        let limit = query.limit.count
        let matches = try matches(of: query)
        var answer = Outcome<[Described]>([], missing: matches.missing)
        var provenances = Provenances(service: service, context)
        try describe(matches.found[...], &provenances, in: &answer)
        if let limit, matches.found.count == limit, answer.found.count < limit {
            // Items that are left out do not count: the next matches take their place.
            let all = try self.matches(of: query.withoutLimit)
            answer.add(missing: all.missing)
            try describe(all.found.dropFirst(limit), &provenances, in: &answer)
        }
        guard !answer.found.isEmpty else { throw answer.damage ?? notFound(besides: answer.missing) }
        return Outcome(returns.value(of: answer.found, isArray: limit != 1), missing: answer.missing)
    }

    /// The items that match, at least one. No data are read.
    ///
    /// - Throws: `errSecItemNotFound`, with the keychains that could not be searched.
    private func matches(of query: Query) throws(KeychainError) -> Outcome<[FoundItem]> {
        let matches: Outcome<[FoundItem]>
        if query.itemClass == .identity {
            let result = try service.identities(matching: query, context)
            matches = Outcome(result.found.map { .identity($0) }, missing: result.missing)
        } else {
            let result = try service.items(matching: query, context)
            matches = Outcome(result.found.map { .item($0) }, missing: result.missing)
        }
        guard !matches.found.isEmpty else { throw matches.damage ?? notFound(besides: matches.missing) }
        return matches
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

    /// Appends the wanted parts of each item, up to the limit. Damaged items are left out, and if the query says so, items that
    /// need a password.
    private func describe(
        _ found: ArraySlice<FoundItem>, _ provenances: inout Provenances, in answer: inout Outcome<[Described]>
    ) throws(KeychainError) {
        for item in found {
            if let limit = query.limit.count, answer.found.count == limit { return }
            do throws(KeychainError) {
                let data = try item.main.data(returns) { () throws(KeychainError) in
                    try service.secret(of: item.main.reference, context)?.secret.clone()
                }
                let provenance = returns.contains(.provenance) ? provenances.provenance(of: item.main) : nil
                answer.found.append((item, data, provenance))
            } catch {
                switch error.code {
                case .interactionNotAllowed where leavesOutGuarded: break
                case .decode: answer.add(missing: [Missing(inFile: provenances.name(of: item.main), error)])
                default: throw error
                }
            }
        }
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
