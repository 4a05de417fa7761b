internal import SystemCrypto
package import TokenKit

/// What a keychain in a file is called in PKCS #11, said here alone for the module that shows it and for URIs that name it.
extension LocalKeychain {
    /// The keychain as a token.
    package var cryptokiName: CryptokiTokenName {
        CryptokiTokenName(
            label: name, manufacturer: CryptokiLibrary.manufacturer, model: "Keychain",
            serialNumber: String(identifier.rawValue.filter { $0 != "-" }.suffix(16)))
    }

    /// The slot that it is in.
    package var cryptokiSlotName: CryptokiSlotName {
        CryptokiSlotName(
            description: "Keychain \(name)", manufacturer: CryptokiLibrary.manufacturer,
            number: CryptokiSlotName.number(of: path, in: CryptokiSlotName.keychains))
    }
}

/// What items of a keychain in a file are called in PKCS #11.
package enum CryptokiItemNames {
    /// The id: with certificates and keys the hash of the public key, empty for passwords; nil for what is not shown.
    package static func id(of item: Item) -> [UInt8]? {
        switch item.itemClass {
        case .genericPassword, .internetPassword: []
        case .certificate: item.der.flatMap { try? Certificate(der: $0) }?.keyHash
        case .key: item.der.flatMap { try? PublicKey(spki: $0) }?.keyHash
        case .identity: nil
        }
    }

    /// The label of a key or a password; that of a certificate depends on the others beside it.
    package static func label(of item: Item) -> String {
        switch item.itemClass {
        case .genericPassword, .internetPassword: item.label ?? item[.account]?.string ?? ""
        case .certificate, .identity: item.label ?? "certificate"
        case .key: item.label ?? "key"
        }
    }

    /// The labels of all certificates of a keychain, in its order: programs tell them apart by those, so that of equal ones
    /// the later have a number.
    package static func labels(of certificates: [Item]) -> [PersistentReference: String] {
        var (labels, counts) = ([PersistentReference: String](), [String: Int]())
        for item in certificates {
            let label = label(of: item)
            let count = counts[label, default: 0] + 1
            counts[label] = count
            labels[item.reference] = count == 1 ? label : "\(label) (\(count))"
        }
        return labels
    }
}
