import KeychainHost
import KeychainModel
import SystemCrypto

/// The two halves of a key pair as a keychain has them.
struct KeyPair {
    let privateKey: Item
    let publicKey: Item
}

extension LocalKeychain {
    @discardableResult
    func generateKeyPair(
        _ kind: KeyKind, _ attributes: Attributes = [:], privateAttributes: Attributes = [:],
        publicAttributes: Attributes = [:]
    ) throws -> KeyPair {
        let halves = try NewItem.generatedKeyPair(
            kind, attributes, privateAttributes: privateAttributes, publicAttributes: publicAttributes)
        return KeyPair(privateKey: try add(halves.privateKey), publicKey: try add(halves.publicKey))
    }

    func generateSymmetricKey(
        type: KeyType = .aes, bits: Int = 256, _ attributes: Attributes = [:]
    ) throws -> Item {
        try add(.symmetricKey(type.randomKey(bits: bits), type: type, NewItem.history(of: attributes)))
    }
}
