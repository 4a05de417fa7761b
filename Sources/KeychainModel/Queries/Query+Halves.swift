extension Query {
    /// The part of a query for identities that concerns one of the two classes they are made of.
    ///
    /// An attribute that certificates have is matched at the certificate, one that only keys have at the key; the limit
    /// applies to the pairs.
    package func half(_ itemClass: ItemClass) throws(KeychainError) -> Query {
        var attributes = attributes.concerning(itemClass)
        // A query for any value of `sync` holds none, but a new query without a value would mean 0.
        attributes[.synchronizable] = self.attributes[.synchronizable] ?? Query.anySynchronizable
        if isLocalOnly { attributes[.tokenID] = "" }
        var half: Query
        if itemClass == .certificate, let reference {
            half = try Query(
                reference.retyped(as: .certificate), attributes, filters: certificateFilters, folding: folding,
                in: keychains, limit: .all)
        } else {
            let isCertificate = itemClass == .certificate
            half = try Query(
                itemClass, attributes, filters: isCertificate ? certificateFilters : [],
                folding: isCertificate ? folding : [], in: keychains, limit: .all)
        }
        half.isLocalOnly = isLocalOnly
        half.includesAbsentTokens = includesAbsentTokens
        half.isDistinct = isDistinct && itemClass == .certificate
        return half
    }

    /// The filters without item lists, which may name an identity by either half, or as a whole.
    private var certificateFilters: [Filter] { filters.filter { $0.itemList == nil } }
}

extension Attributes {
    /// The attributes of an identity's query that concern one of its two items. Attributes that both have are the
    /// certificate's.
    package func concerning(_ half: ItemClass) -> Attributes {
        filter { half.has($0.key) && (half == .certificate || !ItemClass.certificate.has($0.key)) }
    }
}

extension Filter {
    package var itemList: ItemList? {
        if case .items(let list) = self { list } else { nil }
    }
}
