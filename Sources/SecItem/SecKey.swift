public import Foundation
internal import HostAPI
internal import ItemDictionaries
internal import KeychainModel
internal import Localization
internal import SecureBytes
internal import SystemCrypto

/// A public, private or symmetric key in memory or in a local keychain, or a public or private key on a card.
public final class SecKey: Sendable {
    enum Material: Sendable {
        case publicKey(PublicKey)
        case privateKey(PrivateKey)
        case symmetricKey(NewItem)
        /// A key that a keychain has; its private half is used where it is.
        case item(Item)
    }

    let material: Material
    let context: LAContext?

    /// - Parameter context: the context of the search that found the key, for uses of the key.
    init(_ material: Material, _ context: LAContext? = nil) {
        self.material = material
        self.context = context
    }

    var isPrivate: Bool {
        switch material {
        case .publicKey, .symmetricKey: false
        case .privateKey: true
        case .item(let item): item.isPrivateKey
        }
    }

    var publicKey: PublicKey? {
        switch material {
        case .publicKey(let key): key
        case .privateKey(let key): key.publicKey
        case .symmetricKey: nil
        case .item(let item): item.der.flatMap { try? PublicKey(spki: $0) }
        }
    }

    var isSymmetric: Bool {
        switch material {
        case .publicKey, .privateKey: false
        case .symmetricKey: true
        case .item(let item): item.isSymmetricKey
        }
    }

    private var keyType: KeyType? {
        switch material {
        case .publicKey, .privateKey: nil
        case .symmetricKey(let key): key.keyType
        case .item(let item): item.attributes[.keyType]?.integer.map(KeyType.init(rawValue:))
        }
    }

    fileprivate var blockLength: Int {
        publicKey?.blockLength ?? (keyType == .aes ? BlockCipher.aes128.blockLength : 0)
    }

    /// The key for an operation. Verification and encryption need the public half of a pair alone.
    func key(for operation: KeyOperation) throws(KeychainError) -> KeyRequest.Key {
        switch (material, operation) {
        case (.symmetricKey(let key), _): return .given(GivenKey(key))
        case (.item(let item), _) where item.isSymmetricKey: return .item(item.reference)
        case (_, .verify), (_, .encrypt):
            guard let publicKey else {
                throw KeychainError(.param, "the key is of a kind that is not known", key: "key")
            }
            return .given(GivenKey(try .publicKey(publicKey)))
        case (.privateKey(let key), _): return .given(GivenKey(try .privateKey(key)))
        case (.item(let item), _) where item.isPrivateKey: return .item(item.reference)
        case (.publicKey, _), (.item, _):
            throw KeychainError(.param, "a public key cannot do this", key: "key")
        }
    }

    fileprivate func perform(
        _ operation: KeyRequest.Operation, _ algorithm: SecKeyAlgorithm
    ) throws(KeychainError) -> SharedSecret {
        guard let known = KeyAlgorithm(rawValue: algorithm.rawValue) else {
            throw KeychainError(.param, "there is no algorithm \(algorithm.rawValue)", key: "algorithm")
        }
        return try Keychains.host.perform(
            KeyRequest(operation, known, with: key(for: operation.kind)), Keychains.request(context))
    }

    fileprivate func isSupported(_ algorithm: KeyAlgorithm, for operation: KeyOperation) -> Bool {
        guard let key = try? key(for: operation) else { return false }
        return (try? Keychains.host.isSupported(algorithm, for: operation, by: key, Keychains.request(context)))
            ?? false
    }
}

extension KeyRequest.Operation {
    fileprivate var kind: KeyOperation {
        switch self {
        case .sign: .sign
        case .verify: .verify
        case .encrypt: .encrypt
        case .decrypt: .decrypt
        case .exchange: .keyExchange
        }
    }
}

// MARK: - Making keys

/// The key of an external representation: RSA in PKCS#1, EC as `04‖X‖Y` or `04‖X‖Y‖K`, AES and HMAC by their bytes.
///
/// `attributes` must have ``kSecAttrKeyType`` and ``kSecAttrKeyClass``; ``kSecAttrKeySizeInBits``, if it is there, must be the
/// key's. An attribute that a key cannot have is an error.
public func SecKeyCreateWithData(
    _ keyData: CFData, _ attributes: CFDictionary, _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> SecKey? {
    unsafe giving(error) { () throws(KeychainError) in
        let parameters = try KeyParameters(attributes)
        let key = try parameters.key(of: keyData)
        if let bits = parameters.bits, !key.isSymmetric, bits != key.publicKey?.kind.bits {
            throw KeychainError(.param, "the key does not have \(bits) bits", key: kSecAttrKeySizeInBits)
        }
        return key
    }
}

/// A new key pair, of which the private key is returned, or a new symmetric key. Permanent keys are added to the
/// default keychain, both halves or none.
public func SecKeyCreateRandomKey(
    _ parameters: CFDictionary, _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> SecKey? {
    unsafe giving(error) { () throws(KeychainError) in
        let wanted = try KeyParameters(parameters, parts: [kSecPrivateKeyAttrs, kSecPublicKeyAttrs])
        guard wanted.isSymmetric else { return try wanted.makePair() }
        let key = SecKey.Material.symmetricKey(try wanted.symmetricKey())
        return try wanted.keep(key) ?? SecKey(key)
    }
}

/// Creates a key pair and gives both halves. Older programs call it in place of ``SecKeyCreateRandomKey(_:_:)``.
@discardableResult
public func SecKeyGeneratePair(
    _ parameters: CFDictionary, _ publicKey: UnsafeMutablePointer<SecKey?>?,
    _ privateKey: UnsafeMutablePointer<SecKey?>?
) -> OSStatus {
    status { () throws(KeychainError) in
        let wanted = try KeyParameters(parameters, parts: [kSecPrivateKeyAttrs, kSecPublicKeyAttrs])
        guard !wanted.isSymmetric else {
            throw KeychainError(.param, "a symmetric key has no halves", key: kSecAttrKeyType)
        }
        let made = try wanted.makePair()
        unsafe privateKey?.pointee = made
        unsafe publicKey?.pointee = SecKeyCopyPublicKey(made)
    }
}

extension KeyParameters {
    /// Creates a key pair and stores its permanent halves, both or none. Returns the private key.
    fileprivate func makePair() throws(KeychainError) -> SecKey {
        let kind = try kind()
        let key = try KeychainError.mapped { () throws(CryptoError) in try PrivateKey.generate(kind) }
        let kept = try keep(.privateKey(key), kSecPrivateKeyAttrs)
        do throws(KeychainError) {
            try keep(.publicKey(key.publicKey), kSecPublicKeyAttrs)
        } catch {
            if let kept { try? Keychains.delete(kept) }
            throw error
        }
        return kept ?? SecKey(.privateKey(key))
    }
}

// MARK: - Content and attributes

/// The public key of a private one; a public key itself.
public func SecKeyCopyPublicKey(_ key: SecKey) -> SecKey? { key.publicKey.map { SecKey(.publicKey($0)) } }

/// The key's bytes: RSA in PKCS#1, EC as `04‖X‖Y` or `04‖X‖Y‖K`, a symmetric key's own. Fails for a key on a card, and
/// for one that is not extractable.
public func SecKeyCopyExternalRepresentation(
    _ key: SecKey, _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> CFData? {
    unsafe giving(error) { () throws(KeychainError) in
        switch key.material {
        case .publicKey(let key): return Data(key.rawRepresentation)
        case .privateKey(let key):
            let encoded = try KeychainError.mapped { () throws(CryptoError) in try key.externalRepresentation() }
            return Data(copying: encoded)
        case .symmetricKey(let key):
            if let refusal = ItemClass.key.refusalToLeave(key.attributes) { throw refusal }
            return key.secret.map { Data(copying: $0.secret) }
        case .item(let item):
            guard item.isPrivateKey || item.isSymmetricKey else {
                return key.publicKey.map { Data($0.rawRepresentation) }
            }
            return try Keychains.data(of: item, key.context)
        }
    }
}

/// The attributes of the key.
public func SecKeyCopyAttributes(_ key: SecKey) -> CFDictionary? {
    let attributes: Attributes? =
        switch key.material {
        case .item(let item): item.attributes
        case .symmetricKey(let key): key.attributes
        case .publicKey, .privateKey:
            key.publicKey.map { InferredAttributes.key($0, key.isPrivate ? .private : .public) }
        }
    return attributes.map { dictionary($0) as CFDictionary }
}

/// The attributes as a dictionary. Type and class are strings, as their constants are, where items have numbers.
private func dictionary(_ attributes: Attributes) -> [String: Any] {
    attributes.reduce(into: [:]) { result, entry in
        let (key, value) = (entry.key.rawValue, entry.value)
        if key == kSecAttrKeyType || key == kSecAttrKeyClass, let number = value.integer {
            result[key] = String(number)
        } else {
            result[key] = ItemValue(value).object(for: key)
        }
    }
}

/// Bytes of the modulus, of a coordinate, or of a block of the cipher; 0 for HMAC.
public func SecKeyGetBlockSize(_ key: SecKey) -> Int { key.blockLength }

/// Whether the key can do the operation by the algorithm; a private key verifies and encrypts by its public half. Asks
/// no person.
public func SecKeyIsAlgorithmSupported(
    _ key: SecKey, _ operation: SecKeyOperationType, _ algorithm: SecKeyAlgorithm
) -> Bool {
    guard let algorithm = KeyAlgorithm(rawValue: algorithm.rawValue),
        let operation = KeyOperation(rawValue: operation.rawValue)
    else { return false }
    return key.isSupported(algorithm, for: operation)
}

// MARK: - Operations

public func SecKeyCreateSignature(
    _ key: SecKey, _ algorithm: SecKeyAlgorithm, _ dataToSign: CFData,
    _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> CFData? {
    unsafe giving(error) { () throws(KeychainError) in
        Data(copying: try key.perform(.sign([UInt8](dataToSign)), algorithm).secret)
    }
}

public func SecKeyVerifySignature(
    _ key: SecKey, _ algorithm: SecKeyAlgorithm, _ signedData: CFData, _ signature: CFData,
    _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> Bool {
    let verified: Bool? = unsafe giving(error) { () throws(KeychainError) in
        _ = try key.perform(.verify([UInt8](signature), of: [UInt8](signedData)), algorithm)
        return true
    }
    return verified ?? false
}

public func SecKeyCreateEncryptedData(
    _ key: SecKey, _ algorithm: SecKeyAlgorithm, _ plaintext: CFData,
    _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> CFData? {
    unsafe giving(error) { () throws(KeychainError) in
        Data(copying: try key.perform(.encrypt(SharedSecret(Secret(copying: plaintext))), algorithm).secret)
    }
}

public func SecKeyCreateDecryptedData(
    _ key: SecKey, _ algorithm: SecKeyAlgorithm, _ ciphertext: CFData,
    _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> CFData? {
    unsafe giving(error) { () throws(KeychainError) in
        Data(copying: try key.perform(.decrypt([UInt8](ciphertext)), algorithm).secret)
    }
}

public func SecKeyCopyKeyExchangeResult(
    _ privateKey: SecKey, _ algorithm: SecKeyAlgorithm, _ publicKey: SecKey, _ parameters: CFDictionary,
    _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> CFData? {
    unsafe giving(error) { () throws(KeychainError) in
        let agreed = try KeyExchangeParameters(parameters)
        guard let peer = publicKey.publicKey else {
            throw KeychainError(.param, "the peer's key is of a kind that is not known", key: "publicKey")
        }
        if let kind = privateKey.publicKey?.kind, kind.isEC || kind == .x25519, kind != peer.kind {
            throw .differentCurves(kind, peer.kind)
        }
        return Data(copying: try privateKey.perform(.exchange(peer: peer.rawRepresentation, agreed), algorithm).secret)
    }
}

extension KeyExchangeParameters {
    /// - Throws: `errSecParam` for a value of a wrong kind and for an unknown parameter. If it were ignored, the two sides would
    ///   derive different keys.
    fileprivate init(_ dictionary: CFDictionary) throws(KeychainError) {
        self.init()
        for (key, value) in dictionary {
            let name = key as? String ?? (key as? SecKeyKeyExchangeParameter)?.rawValue ?? "\(key)"
            switch SecKeyKeyExchangeParameter(rawValue: name) {
            case .requestedSize:
                guard let size = value as? Int else {
                    throw KeychainError(.param, "the value of \(name) is not a size in bytes", key: name)
                }
                requestedSize = size
            case .sharedInfo:
                guard let info = value as? Data ?? (value as? [UInt8]).map({ Data($0) }) else {
                    throw KeychainError(.param, "the value of \(name) is not data", key: name)
                }
                sharedInfo = [UInt8](info)
            default: throw KeychainError(.param, "a key exchange has no parameter \(name)", key: name)
            }
        }
    }
}
