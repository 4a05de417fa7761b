internal import KeychainModel
public import Foundation
internal import ItemDictionaries
internal import KeychainHost
internal import SecureBytes
internal import SystemCrypto

/// A public, private or symmetric key: in memory, in a local keychain, or, if it is a pair's, on a card.
public final class SecKey: Sendable {
    enum Material: Sendable {
        case publicKey(PublicKey)
        case privateKey(PrivateKey)
        case symmetricKey(SymmetricKey)
        /// A key that a keychain has; its private half is used where it is.
        case item(Item)
    }

    let material: Material
    let context: LAContext?

    /// - Parameter context: what the key was asked for with, and so is used with.
    init(_ material: Material, _ context: LAContext? = nil) {
        self.material = material
        self.context = context
    }

    var authentication: AuthenticationContext {
        get throws(KeychainError) {
            guard let context else { return Keychains.authentication }
            return try context.authentication
        }
    }

    /// The text of a question for people, where the program has set none.
    fileprivate func reason(_ standard: String) -> String {
        context.map(\.localizedReason).flatMap { $0.isEmpty ? nil : $0 } ?? standard
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

    /// The private half, where it is.
    func privateKey() throws(KeychainError) -> any KeychainKey {
        switch material {
        case .privateKey(let key): return SoftwareKey(key)
        case .item(let item) where item.isPrivateKey: return try Keychains.session().key(of: item)
        case .item, .publicKey, .symmetricKey:
            throw KeychainError(.param, "a \(isSymmetric ? "symmetric" : "public") key cannot do this", key: "key")
        }
    }

    var isSymmetric: Bool {
        switch material {
        case .publicKey, .privateKey: false
        case .symmetricKey: true
        case .item(let item): item.isSymmetricKey
        }
    }

    /// The symmetric key that this is; nil for half of a pair.
    func symmetricKey() throws(KeychainError) -> SymmetricKey? {
        switch material {
        case .symmetricKey(let key): return key
        case .item(let item) where item.isSymmetricKey: return try Keychains.session().symmetricKey(of: item)
        case .item, .publicKey, .privateKey: return nil
        }
    }
}

// MARK: - Making keys

/// The key of an external representation: RSA in PKCS#1, EC as `04‖X‖Y` or `04‖X‖Y‖K`, AES and HMAC by their bytes.
///
/// `attributes` has to tell ``kSecAttrKeyType`` and ``kSecAttrKeyClass``; ``kSecAttrKeySizeInBits``, if it is there, has to be
/// the key's. What a key cannot have is an error.
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

/// A new key pair, both halves of it: what programs call that are older than ``SecKeyCreateRandomKey(_:_:)``.
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
    /// A new pair, with its permanent halves stored, both or none; returns the private key.
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

// MARK: - What a key tells

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
        case .symmetricKey(let key): return Data(copying: try key.externalRepresentation())
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

/// Type and class are the text that their constants are, where items have numbers.
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
public func SecKeyGetBlockSize(_ key: SecKey) -> Int {
    key.publicKey?.blockLength ?? (try? key.symmetricKey())?.blockLength ?? 0
}

/// Whether the key can do the operation by the algorithm; a private key verifies and encrypts by its public half. Asks
/// no person.
public func SecKeyIsAlgorithmSupported(
    _ key: SecKey, _ operation: SecKeyOperationType, _ algorithm: SecKeyAlgorithm
) -> Bool {
    guard let algorithm = KeyAlgorithm(rawValue: algorithm.rawValue),
        let operation = KeyOperation(rawValue: operation.rawValue)
    else { return false }
    if key.isSymmetric { return (try? key.symmetricKey())?.isSupported(algorithm, for: operation) ?? false }
    switch operation {
    case .verify, .encrypt: return key.publicKey?.isSupported(algorithm, for: operation) ?? false
    case .sign, .decrypt, .keyExchange:
        return key.isPrivate && (try? key.privateKey())?.isSupported(algorithm, for: operation) ?? false
    }
}

// MARK: - Operations

public func SecKeyCreateSignature(
    _ key: SecKey, _ algorithm: SecKeyAlgorithm, _ dataToSign: CFData,
    _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> CFData? {
    unsafe giving(error) { () throws(KeychainError) in
        let (input, algorithm, use) = ([UInt8](dataToSign), try algorithm.known(), key.reason("sign"))
        if let symmetric = try key.symmetricKey() {
            return Data(
                try symmetric.sign(input, using: algorithm, use: use, authentication: key.authentication))
        }
        return Data(
            try key.privateKey().sign(input, using: algorithm, use: use, authentication: key.authentication))
    }
}

public func SecKeyVerifySignature(
    _ key: SecKey, _ algorithm: SecKeyAlgorithm, _ signedData: CFData, _ signature: CFData,
    _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> Bool {
    let verified: Bool? = unsafe giving(error) { () throws(KeychainError) in
        let (input, signature, algorithm) = ([UInt8](signedData), [UInt8](signature), try algorithm.known())
        let isValid =
            if let symmetric = try key.symmetricKey() {
                try symmetric.verify(
                    signature, of: input, using: algorithm, use: key.reason("check a signature"),
                    authentication: key.authentication)
            } else {
                try key.knownPublicKey().verify(signature, of: input, using: algorithm)
            }
        guard isValid else { throw KeychainError(.verifyFailed, "the signature is not the key's over these data") }
        return true
    }
    return verified ?? false
}

public func SecKeyCreateEncryptedData(
    _ key: SecKey, _ algorithm: SecKeyAlgorithm, _ plaintext: CFData,
    _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> CFData? {
    unsafe giving(error) { () throws(KeychainError) in
        let algorithm = try algorithm.known()
        let secret = Secret(copying: plaintext)
        if let symmetric = try key.symmetricKey() {
            return Data(
                try symmetric.encrypt(
                    secret.bytes, using: algorithm, use: key.reason("encrypt"), authentication: key.authentication))
        }
        return Data(try key.knownPublicKey().encrypt(secret.bytes, using: algorithm))
    }
}

public func SecKeyCreateDecryptedData(
    _ key: SecKey, _ algorithm: SecKeyAlgorithm, _ ciphertext: CFData,
    _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> CFData? {
    unsafe giving(error) { () throws(KeychainError) in
        let (input, algorithm, use) = ([UInt8](ciphertext), try algorithm.known(), key.reason("decrypt"))
        if let symmetric = try key.symmetricKey() {
            return Data(
                copying: try symmetric.decrypt(input, using: algorithm, use: use, authentication: key.authentication))
        }
        return Data(
            copying: try key.privateKey().decrypt(
                input, using: algorithm, use: use, authentication: key.authentication))
    }
}

public func SecKeyCopyKeyExchangeResult(
    _ privateKey: SecKey, _ algorithm: SecKeyAlgorithm, _ publicKey: SecKey, _ parameters: CFDictionary,
    _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> CFData? {
    unsafe giving(error) { () throws(KeychainError) in
        let agreed = try KeyExchangeParameters(parameters)
        let (own, peer) = (try privateKey.privateKey(), try publicKey.knownPublicKey())
        if let kind = privateKey.publicKey?.kind, kind.isEC || kind == .x25519, kind != peer.kind {
            throw .differentCurves(kind, peer.kind)
        }
        return Data(
            copying: try own.keyExchange(
                with: peer.rawRepresentation, using: try algorithm.known(), agreed,
                use: privateKey.reason("agree on a key"), authentication: privateKey.authentication))
    }
}

extension KeyExchangeParameters {
    /// - Throws: `errSecParam` for a value of a wrong kind, and for what is no parameter: ignored, either would give a key that
    ///   the other side does not have.
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

extension SecKey {
    fileprivate func knownPublicKey() throws(KeychainError) -> PublicKey {
        guard let publicKey else { throw KeychainError(.param, "the key is of a kind that is not known", key: "key") }
        return publicKey
    }
}

extension SecKeyAlgorithm {
    fileprivate func known() throws(KeychainError) -> KeyAlgorithm {
        guard let algorithm = KeyAlgorithm(rawValue: rawValue) else {
            throw KeychainError(.param, "there is no algorithm \(rawValue)", key: "algorithm")
        }
        return algorithm
    }
}
