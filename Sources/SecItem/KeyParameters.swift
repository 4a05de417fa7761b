internal import Foundation
internal import KeychainHost
internal import SystemCrypto
internal import TokenKit

/// What a dictionary tells of a key that is to be read or made.
struct KeyParameters {
    let bits: Int?
    private let type: KeyType
    private let keyClass: KeyClass?
    private let dictionary: CFDictionary

    init(_ dictionary: CFDictionary) throws(KeychainError) {
        self.dictionary = dictionary
        guard let number = try KeyParameters.integer(dictionary[kSecAttrKeyType], kSecAttrKeyType) else {
            throw KeychainError(.param, "the type of the key is missing", key: kSecAttrKeyType)
        }
        type = KeyType(rawValue: number)
        bits = try KeyParameters.integer(dictionary[kSecAttrKeySizeInBits], kSecAttrKeySizeInBits).map(
            Int.init(clamping:))
        keyClass = try KeyParameters.integer(dictionary[kSecAttrKeyClass], kSecAttrKeyClass)
            .flatMap(KeyClass.init(rawValue:))
    }

    /// A number, or one in decimal as the constants have it.
    private static func integer(_ value: Any?, _ key: String) throws(KeychainError) -> Int64? {
        guard let value else { return nil }
        if let number = value as? NSNumber { return number.int64Value }
        if let text = value as? String, let number = Int64(text) { return number }
        throw KeychainError(.param, "the value of \(key) is not a number", key: key)
    }

    /// The kind of key to be made.
    func kind() throws(KeychainError) -> KeyKind {
        switch (type, bits) {
        case (.rsa, let bits?) where (2048...8192).contains(bits): return .rsa(bits: bits)
        case (.ecPrime, 256), (.ecPrime, nil): return .ecP256
        case (.ecPrime, 384): return .ecP384
        case (.ecPrime, 521): return .ecP521
        case (.ed25519, _): return .ed25519
        case (.x25519, _): return .x25519
        case (.rsa, _), (.ecPrime, _):
            throw KeychainError(
                .keySizeNotAllowed, "no key of this type is made with \(bits ?? 0) bits", key: kSecAttrKeySizeInBits)
        default: throw KeychainError(.param, "no keys of type \(type.rawValue) are made", key: kSecAttrKeyType)
        }
    }

    /// The key of an external representation.
    func key(of bytes: [UInt8]) throws(KeychainError) -> SecKey {
        let family: KeyFamily
        switch type {
        case .rsa: family = .rsa
        case .ecPrime: family = .ec
        case .ed25519: family = .ed25519
        case .x25519: family = .x25519
        default: throw KeychainError(.param, "keys of type \(type.rawValue) are not known", key: kSecAttrKeyType)
        }
        return try KeychainError.mapped { () throws(CryptoError) in
            switch keyClass {
            case .private:
                var bytes = bytes
                let secret = Secret(consuming: &bytes)
                return SecKey(.privateKey(try PrivateKey(externalRepresentation: secret, family: family)))
            case .public: return SecKey(.publicKey(try PublicKey(externalRepresentation: bytes, family: family)))
            default: throw CryptoError(.unsupported, "keys that are neither public nor private")
            }
        }
    }

    /// Adds a half of a key pair to the default keychain, if it is to be kept.
    ///
    /// - Parameter part: the key of the dictionary that concerns this half alone.
    @discardableResult
    func keep(_ half: SecKey.Material, _ part: CFString) throws(KeychainError) -> SecKey? {
        let shared: Set = [kSecPrivateKeyAttrs, kSecPublicKeyAttrs, kSecAttrKeyType, kSecAttrKeySizeInBits]
        let general = dictionary.filter { !shared.contains($0.key) && $0.key != kSecAttrIsPermanent }
        let own = dictionary[part] as? [String: Any] ?? [:]
        // Public keys are kept only where that is said of them.
        let isPermanent =
            (own[kSecAttrIsPermanent] ?? (part == kSecPrivateKeyAttrs ? dictionary[kSecAttrIsPermanent] : nil))
        guard isPermanent as? Bool ?? false else { return nil }
        var query = general.merging(own) { $1 }
        query[kSecClass] = kSecClassKey
        query[kSecValueRef] = SecKey(half)
        query[kSecReturnRef] = true
        return try Keychains.add(query) as? SecKey
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
