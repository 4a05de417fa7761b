/// A certificate and the private key that belongs to it, wherever each of them is.
public struct Identity: Sendable, Hashable {
    public let certificate: Item
    public let key: Item

    package init(certificate: Item, key: Item) {
        self.certificate = certificate
        self.key = key
    }

    /// The certificate's reference as an identity.
    public var reference: PersistentReference { certificate.reference.retyped(as: .identity) }
}

extension SearchList {
    /// The identities whose halves pass the query, in the order of their certificates.
    ///
    /// A certificate pairs with a private key of the same public-key hash that can be used for something: one in its own
    /// keychain if there is one, else the first in the list. One key with several certificates makes several identities.
    /// An attribute that both halves have is the certificate's. Keychain semantics 1.9.
    public func identities(
        matching query: Query, for client: SearchClient = SearchClient()
    ) throws(KeychainError) -> Result<Identity> {
        guard query.itemClass == .identity else {
            throw KeychainError(.param, "the query is for items of class \(query.itemClass.rawValue)", key: "class")
        }
        let certificates = try items(matching: query.half(.certificate), for: client)
        var result = Result<Identity>()
        (result.failures, result.damagedOthers) = (certificates.failures, certificates.damagedOthers)
        guard !certificates.found.isEmpty else { return result }
        let keys = try items(matching: query.half(.key), for: client)
        // What fails for certificates mostly fails for keys as well; it is told once.
        result.failures += keys.failures.filter { !result.failures.contains($0) }
        result.damagedOthers += keys.damagedOthers
        let candidates = Dictionary(grouping: keys.found.filter(\.isUsablePrivateKey)) { $0.publicKeyHash ?? [] }
        result.found = certificates.found.compactMap { certificate in
            guard let keys = certificate.publicKeyHash.flatMap({ candidates[$0] }) else { return nil }
            let key = keys.first { $0.keychain == certificate.keychain } ?? keys.first
            return key.map { Identity(certificate: certificate, key: $0) }
        }
        let lists = query.filters.compactMap(\.itemList)
        result.found = result.found.filter { identity in lists.allSatisfy { $0.contains(identity) } }
        if let count = query.limit.count { result.found = Array(result.found.prefix(count)) }
        return result
    }
}

extension Item {
    /// Whether it is a private key that does something for its owner; a card's attestation key does not.
    var isUsablePrivateKey: Bool {
        let uses: [Attribute] = [.canSign, .canDecrypt, .canUnwrap, .canDerive]
        return isPrivateKey && uses.contains { self[$0]?.isTrue ?? false }
    }
}

extension Query {
    /// The part of a query for identities that concerns one of the two classes they are made of.
    ///
    /// An attribute that certificates have is matched there, one that only keys have at the key; how many are wanted
    /// counts only once they are paired.
    func half(_ itemClass: ItemClass) throws(KeychainError) -> Query {
        var attributes = attributes.concerning(itemClass)
        // A query keeps no value for "any", and a new one without a value would mean 0.
        attributes[.synchronizable] = self.attributes[.synchronizable] ?? Query.anySynchronizable
        if isLocalOnly { attributes[.tokenID] = "" }
        var half: Query
        if itemClass == .certificate, let reference {
            half = try Query(
                reference.retyped(as: .certificate), attributes, filters: certificateFilters, folding: folding,
                in: keychains, limit: .all, authenticationUI: authenticationUI)
        } else {
            let isCertificate = itemClass == .certificate
            half = try Query(
                itemClass, attributes, filters: isCertificate ? certificateFilters : [],
                folding: isCertificate ? folding : [], in: keychains, limit: .all, authenticationUI: authenticationUI)
        }
        half.isLocalOnly = isLocalOnly
        half.isDistinct = isDistinct && itemClass == .certificate
        return half
    }

    /// A list of items may name an identity by either half, or as a whole.
    private var certificateFilters: [Filter] { filters.filter { $0.itemList == nil } }
}

extension Attributes {
    /// Those of an identity that concern one of the two items it is made of: what both have is the certificate's.
    func concerning(_ half: ItemClass) -> Attributes {
        filter { half.has($0.key) && (half == .certificate || !ItemClass.certificate.has($0.key)) }
    }
}

extension Filter {
    fileprivate var itemList: ItemList? {
        if case .items(let list) = self { list } else { nil }
    }
}

extension ItemList {
    fileprivate func contains(_ identity: Identity) -> Bool {
        references.contains(identity.reference) || contains(identity.certificate) || contains(identity.key)
    }
}
