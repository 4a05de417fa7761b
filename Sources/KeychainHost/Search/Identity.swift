/// A certificate and the private key that belongs to it, wherever each of them is.
public struct Identity: Sendable, Hashable {
    public let certificate: Item
    public let key: Item

    /// The certificate's reference as an identity.
    public var reference: PersistentReference { certificate.reference.retyped(as: .identity) }
}

extension SearchList {
    /// The identities whose halves pass the query, in the order of their certificates.
    ///
    /// A certificate pairs with the private key of the same public-key hash: one in its own keychain if there is one,
    /// else the first in the list. One key with several certificates makes several identities. An attribute that both
    /// halves have is the certificate's.
    public func identities(matching query: Query) throws(KeychainError) -> Result<Identity> {
        guard query.itemClass == .identity else {
            throw KeychainError(.param, "the query is for items of class \(query.itemClass.rawValue)", key: "class")
        }
        let certificates = try items(matching: query.half(.certificate))
        let keys = try items(matching: query.half(.key))
        var result = Result<Identity>()
        result.failures = certificates.failures
        let pairs = Dictionary(grouping: keys.found.filter(\.isPrivateKey)) { $0.publicKeyHash ?? [] }
        for certificate in certificates.found {
            guard let hash = certificate.publicKeyHash, let candidates = pairs[hash] else { continue }
            let own = candidates.first { $0.keychain == certificate.keychain }
            guard let key = own ?? candidates.first else { continue }
            result.found.append(Identity(certificate: certificate, key: key))
        }
        if let count = query.limit.count { result.found = Array(result.found.prefix(count)) }
        return result
    }
}

extension Query {
    /// The part of a query for identities that concerns one of the two classes they are made of.
    ///
    /// An attribute that certificates have is matched there, one that only keys have at the key; how many are wanted
    /// counts only once they are paired.
    func half(_ itemClass: ItemClass) throws(KeychainError) -> Query {
        if let reference {
            guard itemClass == .certificate else { return try Query(.key, limit: .all) }
            return Query(reference.retyped(as: .certificate), in: keychains, authenticationUI: authenticationUI)
        }
        var attributes = attributes.filter { itemClass.has($0.key) }
        if itemClass == .key {
            attributes = attributes.filter { !ItemClass.certificate.has($0.key) || $0.key == .synchronizable }
            // A card's key belongs to a certificate elsewhere, whichever keychains the certificate is looked for in.
            return try Query(.key, attributes, limit: .all, authenticationUI: authenticationUI)
        }
        return try Query(
            itemClass, attributes, subject: subject, ignoringCase: ignoresCase, in: keychains, limit: .all,
            authenticationUI: authenticationUI)
    }
}
