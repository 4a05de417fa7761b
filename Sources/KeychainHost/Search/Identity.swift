public import KeychainModel
internal import Localization

extension SearchList {
    /// The identities whose halves pass the query, in the order of their certificates.
    ///
    /// A certificate pairs with a private key of the same public-key hash that can be used for something: one in its
    /// own keychain if there is one, else the first in the list. One key with several certificates makes several
    /// identities. An attribute that both halves have is matched at the certificate. Keychain semantics 1.9.
    public func identities(
        matching query: Query, for client: SearchClient = SearchClient()
    ) throws(KeychainError) -> Outcome<[Identity]> {
        guard query.itemClass == .identity else {
            throw KeychainError(.param, "the query is for items of class \(query.itemClass.rawValue)", key: "class")
        }
        let certificates = try items(matching: query.half(.certificate), for: client)
        var result = Outcome<[Identity]>([], missing: certificates.missing)
        guard !certificates.found.isEmpty else { return result }
        let keys = try items(matching: query.half(.key), for: client)
        // Most failures for certificates repeat for keys; they are reported once.
        result.add(missing: keys.missing)
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
    /// Whether the item is a private key for its owner's use; a card's attestation key is not.
    var isUsablePrivateKey: Bool {
        let uses: [Attribute] = [.canSign, .canDecrypt, .canUnwrap, .canDerive]
        return isPrivateKey && uses.contains { self[$0]?.isTrue ?? false }
    }
}
