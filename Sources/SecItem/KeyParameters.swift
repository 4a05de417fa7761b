internal import KeychainModel
internal import Foundation
internal import ItemDictionaries
internal import Localization
internal import SecureBytes
internal import SystemCrypto

/// A dictionary's parameters of a key to be read or made. Unknown parameters are refused.
struct KeyParameters {
    let bits: Int?
    private let type: KeyType
    private let attributes: Attributes
    private let keyClass: KeyClass?
    private let dictionary: [String: Any]
    private let parts: [CFString]

    /// - Parameter parts: the keys of nested dictionaries, each for one half of a pair.
    init(_ dictionary: CFDictionary, parts: [CFString] = []) throws(KeychainError) {
        let dictionary = try [String: Any](dictionary)
        self.dictionary = dictionary
        self.parts = parts
        var general = dictionary
        for part in parts { general[part] = nil }
        attributes = try CallParameters(general).dictionary.keyAttributes()
        guard let number = attributes[.keyType]?.integer else {
            throw KeychainError(.param, "the type of the key is missing", key: kSecAttrKeyType)
        }
        type = KeyType(rawValue: number)
        bits = attributes[.keySizeInBits]?.integer.map(Int.init(clamping:))
        keyClass = attributes[.keyClass]?.integer.flatMap(KeyClass.init(rawValue:))
        for part in parts { _ = try CallParameters(self.dictionary(of: part)).dictionary.keyAttributes() }
    }

    /// The parameters of one half. Its own override those for both halves.
    private func dictionary(of part: CFString) throws(KeychainError) -> [String: Any] {
        var general = dictionary
        for part in parts { general[part] = nil }
        guard let own = dictionary[part] else { return general }
        guard let own = own as? [String: Any] else {
            throw KeychainError(.param, "the value of \(part) is not a dictionary", key: part)
        }
        return general.merging(own) { $1 }
    }

    /// Whether the key is symmetric, and so has no halves.
    var isSymmetric: Bool { type == .aes || type == .hmac }

    /// A new symmetric key of the type, with the given attributes.
    ///
    /// - Throws: `errSecParam` for another class of key, and for attributes of a half.
    func symmetricKey() throws(KeychainError) -> NewItem {
        if let part = parts.first(where: { dictionary[$0] != nil }) {
            throw KeychainError(.param, "a symmetric key has no halves", key: part)
        }
        return try .symmetricKey(type.randomKey(bits: bits ?? 256), type: type, attributes)
    }

    /// The kind of key to be made.
    func kind() throws(KeychainError) -> KeyKind {
        switch (type, bits) {
        case (.rsa, let bits?) where KeyType.generatedRSABits ~= bits && bits.isMultiple(of: 8): return .rsa(bits: bits)
        case (.ecPrime, 256), (.ecPrime, nil): return .ecP256
        case (.ecPrime, 384): return .ecP384
        case (.ecPrime, 521): return .ecP521
        case (.ed25519, _): return .ed25519
        case (.x25519, _): return .x25519
        case (.rsa, nil):
            throw KeychainError(
                .param, "the size of the key is missing",
                remedy: """
                    give kSecAttrKeySizeInBits, \(KeyType.generatedRSABits.lowerBound) to \
                    \(KeyType.generatedRSABits.upperBound)
                    """, key: kSecAttrKeySizeInBits)
        case (.rsa, _), (.ecPrime, _):
            throw KeychainError(
                .keySizeNotAllowed, "keys of this type cannot have \(bits ?? 0) bits", key: kSecAttrKeySizeInBits)
        default: throw KeychainError(.param, "keys of type \(type.rawValue) cannot be generated", key: kSecAttrKeyType)
        }
    }

    /// The key of an external representation.
    func key(of data: CFData) throws(KeychainError) -> SecKey {
        if isSymmetric, keyClass == .symmetric {
            return SecKey(.symmetricKey(try .symmetricKey(Secret(copying: data), type: type, attributes)))
        }
        guard let family = KeyFamily(type) else {
            throw KeychainError(.param, "keys of type \(type.rawValue) are not known", key: kSecAttrKeyType)
        }
        switch keyClass {
        case .private:
            let secret = Secret(copying: data)
            return try KeychainError.mapped { () throws(CryptoError) in
                SecKey(.privateKey(try PrivateKey(externalRepresentation: secret, family: family)))
            }
        case .public:
            return try KeychainError.mapped { () throws(CryptoError) in
                SecKey(.publicKey(try PublicKey(externalRepresentation: [UInt8](data), family: family)))
            }
        case .symmetric, nil:
            throw KeychainError(.param, "keys of this type are public or private", key: kSecAttrKeyClass)
        }
    }

    /// Adds a half of a key pair, or a symmetric key, to the default keychain, if it is to be kept.
    ///
    /// - Parameter part: the key of the dictionary that concerns this half alone; nil for a key without halves.
    @discardableResult
    func keep(_ key: SecKey.Material, _ part: CFString? = nil) throws(KeychainError) -> SecKey? {
        // A public key is kept only if its own dictionary says so.
        let own = part.flatMap { dictionary[$0] as? [String: Any] }
        let isPermanent =
            own?[kSecAttrIsPermanent] ?? (part == kSecPublicKeyAttrs ? nil : dictionary[kSecAttrIsPermanent])
        guard isPermanent as? Bool ?? false else { return nil }
        var item = try part.map { part throws(KeychainError) in try dictionary(of: part) } ?? dictionary
        // These attributes follow from the key.
        for key in [kSecAttrKeyType, kSecAttrKeySizeInBits, kSecAttrIsPermanent, kSecAttrKeyClass] { item[key] = nil }
        item[kSecClass] = kSecClassKey
        item[kSecValueRef] = SecKey(key)
        item[kSecReturnRef] = true
        return try Keychains.add(item) as? SecKey
    }
}

extension KeychainError {
    static func mapped<Result>(_ body: () throws(CryptoError) -> Result) throws(KeychainError) -> Result {
        do { return try body() } catch { throw KeychainError(error) }
    }

    static func mapped(_ body: () throws(CryptoError) -> Secret) throws(KeychainError) -> Secret {
        do { return try body() } catch { throw KeychainError(error) }
    }
}
