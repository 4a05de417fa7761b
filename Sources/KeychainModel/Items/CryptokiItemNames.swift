/// The `CKA_ID` and `CKA_LABEL` of a keychain's items in PKCS #11.
///
/// A certificate and the halves of its key share one id. On a token the driver gives it. In a file it is the key's
/// application tag, else the certificate's alias, unless an item of another key has the same; else the hash of the
/// public key. The id of a symmetric key is its application tag, else its application label.
package struct CryptokiItemNames {
    /// The ids by the hashes of public keys.
    private let tags: [[UInt8]: [UInt8]]
    /// The labels that carry a number, since another item has the same label.
    private let numberedLabels: [PersistentReference: String]

    /// - Parameters:
    ///   - keys: all keys of the keychain.
    ///   - certificates: all certificates of the keychain, in its order.
    package init(keys: [Item], certificates: [Item]) {
        tags = CryptokiItemNames.tags(of: keys.filter { !$0.isSymmetricKey }, certificates)
        // Ids tell keys apart, but not several items of one key.
        let halves = Dictionary(grouping: keys) { [$0.publicKeyHash ?? [], [$0.isPrivateKey ? 1 : 0]] }
        numberedLabels = halves.values.reduce(into: CryptokiItemNames.numberedLabels(of: certificates)) {
            $0.merge(CryptokiItemNames.numberedLabels(of: $1)) { $1 }
        }
    }

    /// The id under which the item is shown, and then the hash, which finds it as well; none for an item that is not
    /// shown, an empty one for passwords.
    package func ids(of item: Item) -> [[UInt8]] {
        if let traits = item.tokenTraits { return traits.cryptokiID.map { [$0] } ?? [] }
        let hash: [UInt8]?
        switch item.itemClass {
        case .genericPassword, .internetPassword: return [[]]
        case .identity: return []
        case .key where item.isSymmetricKey:
            return [item[.applicationTag], item[.applicationLabel]].compactMap { $0?.bytes }.filter { !$0.isEmpty }
        case .certificate, .key: hash = item.publicKeyHash
        }
        return hash.map { hash in tags[hash].map { [$0, hash] } ?? [hash] } ?? []
    }

    /// The label of an item. Programs tell certificates apart by their labels, so the later ones of equal labels get a
    /// number; so do items of one key.
    package func label(of item: Item) -> String {
        numberedLabels[item.reference] ?? CryptokiItemNames.plainLabel(of: item)
    }

    private static func plainLabel(of item: Item) -> String {
        switch item.itemClass {
        case .genericPassword, .internetPassword: item.label ?? item[.account]?.string ?? ""
        case .certificate, .identity: item.label ?? "certificate"
        case .key: item.label ?? "key"
        }
    }

    private static func tags(of keys: [Item], _ certificates: [Item]) -> [[UInt8]: [UInt8]] {
        var (tags, owners) = ([[UInt8]: [UInt8]](), [[UInt8]: Set<[UInt8]>]())
        // Where the names of a key's items differ, that of the private half counts.
        for item in keys.filter(\.isPrivateKey) + keys.filter({ !$0.isPrivateKey }) + certificates {
            let name = item.itemClass == .certificate ? item[.alias] : item[.applicationTag]
            guard let hash = item.publicKeyHash, let tag = name?.bytes, !tag.isEmpty else { continue }
            owners[tag, default: []].insert(hash)
            if tags[hash] == nil { tags[hash] = tag }
        }
        return tags.filter { owners[$0.value]?.count == 1 }
    }

    private static func numberedLabels(of items: [Item]) -> [PersistentReference: String] {
        var (labels, met) = ([PersistentReference: String](), Set<String>())
        var taken = Set(items.map(plainLabel))
        for item in items {
            let label = plainLabel(of: item)
            guard !met.insert(label).inserted else { continue }
            let numbers = (2...).lazy.map { "\(label) (\($0))" }
            labels[item.reference] = numbers.first { taken.insert($0).inserted }
        }
        return labels
    }
}
