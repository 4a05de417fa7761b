internal import HostAPI
internal import KeychainModel
internal import Localization
internal import SecureBytes
internal import SystemCrypto

// The operations of a symmetric key, under the names of `SecKey`'s operations. Apple has no algorithms for symmetric keys.
extension SymmetricKey {
    /// Whether the algorithm can be used with this key: it is of the key's type, and its attributes allow it. Asks no
    /// person.
    func isSupported(_ algorithm: KeyAlgorithm, for operation: KeyOperation) -> Bool {
        guard algorithm.suits(type), let permission = algorithm.permission(for: operation) else {
            return false
        }
        return attributes[permission]?.isTrue != false
    }

    /// The authentication code of a message.
    ///
    /// - Parameter use: completes "password to …".
    /// - Throws: `errSecParam` for an algorithm that is not this key's.
    func sign(
        _ message: [UInt8], using algorithm: KeyAlgorithm, use: String, authentication: AuthenticationContext
    ) throws(KeychainError) -> [UInt8] {
        try code(for: message, algorithm, .sign, use, authentication)
    }

    /// Whether an authentication code is this key's over a message. The time that it takes does not depend on the code.
    func verify(
        _ code: [UInt8], of message: [UInt8], using algorithm: KeyAlgorithm, use: String,
        authentication: AuthenticationContext
    ) throws(KeychainError) -> Bool {
        ConstantTime.isEqual(try self.code(for: message, algorithm, .verify, use, authentication), code)
    }

    /// Encrypts. With AES-GCM, the result is the nonce, and the ciphertext with its tag.
    ///
    /// - Parameters:
    ///   - associatedData: data that AES-GCM authenticates besides the message, and does not encrypt.
    ///   - use: completes "password to …".
    /// - Throws: `errSecParam` for an algorithm that is not this key's, or a length that it does not take.
    func encrypt(
        _ plaintext: Span<UInt8>, using algorithm: KeyAlgorithm, authenticating associatedData: [UInt8] = [],
        use: String, authentication: AuthenticationContext
    ) throws(KeychainError) -> [UInt8] {
        try check(algorithm, for: .encrypt, plaintext.count, associatedData)
        let key = try material(use: use, authentication: authentication)
        do throws(CryptoError) {
            guard algorithm == .aesGCM else {
                return try AESKeyWrap.wrap(Secret(copying: plaintext), under: key)
            }
            let nonce = try RandomBytes.make(count: AESGCM.nonceLength)
            return nonce + (try AESGCM.seal(plaintext, key: key, nonce: nonce, authenticating: associatedData))
        } catch {
            throw KeychainError(error)
        }
    }

    /// Decrypts what ``encrypt(_:using:authenticating:use:authentication:)`` made.
    ///
    /// - Throws: `errSecParam` for an algorithm that is not this key's, or an impossible length; `errSecDecode` where key,
    ///   ciphertext or associated data are not those that were encrypted.
    func decrypt(
        _ ciphertext: [UInt8], using algorithm: KeyAlgorithm, authenticating associatedData: [UInt8] = [], use: String,
        authentication: AuthenticationContext
    ) throws(KeychainError) -> Secret {
        try check(algorithm, for: .decrypt, ciphertext.count, associatedData)
        let key = try material(use: use, authentication: authentication)
        do throws(CryptoError) {
            guard algorithm == .aesGCM else { return try AESKeyWrap.unwrap(ciphertext, under: key) }
            return try AESGCM.open(
                Array(ciphertext.dropFirst(AESGCM.nonceLength)), key: key,
                nonce: Array(ciphertext.prefix(AESGCM.nonceLength)), authenticating: associatedData)
        } catch {
            throw KeychainError(error)
        }
    }

    private func code(
        for message: [UInt8], _ algorithm: KeyAlgorithm, _ operation: KeyOperation, _ use: String,
        _ authentication: AuthenticationContext
    ) throws(KeychainError) -> [UInt8] {
        guard case .hmac(let digest) = algorithm, isSupported(algorithm, for: operation) else {
            throw algorithm.isNot(for: operation, type.symmetricName)
        }
        let key = try material(for: .sign, use: use, authentication: authentication)
        do throws(CryptoError) {
            return try HMAC.code(for: message, key: key, using: digest)
        } catch {
            throw KeychainError(error)
        }
    }

    /// Checks the input completely, before a person is asked for a password.
    private func check(
        _ algorithm: KeyAlgorithm, for operation: KeyOperation, _ count: Int, _ associatedData: [UInt8]
    ) throws(KeychainError) {
        guard isSupported(algorithm, for: operation) else {
            throw algorithm.isNot(for: operation, type.symmetricName)
        }
        guard algorithm.takes(count, for: operation) else {
            throw KeychainError(.param, "\(algorithm) cannot \(operation) \(count) bytes")
        }
        guard associatedData.isEmpty || algorithm == .aesGCM else {
            throw KeychainError(.param, "\(algorithm) takes no associated data", key: "associatedData")
        }
    }
}

extension KeyAlgorithm {
    /// Whether the algorithm is for symmetric keys of this type: encryption for AES, codes for HMAC.
    func suits(_ type: KeyType) -> Bool {
        switch self {
        case .aesGCM, .aesKeyWrap: type == .aes
        case .hmac: type == .hmac
        default: false
        }
    }

    /// The attribute that allows a symmetric key the operation; nil where the algorithm does not have the operation.
    fileprivate func permission(for operation: KeyOperation) -> Attribute? {
        switch (operation, self) {
        case (.encrypt, .aesGCM): .canEncrypt
        case (.decrypt, .aesGCM): .canDecrypt
        case (.encrypt, .aesKeyWrap): .canWrap
        case (.decrypt, .aesKeyWrap): .canUnwrap
        case (.sign, .hmac): .canSign
        case (.verify, .hmac): .canVerify
        default: nil
        }
    }

    /// Whether an input may have `count` bytes.
    fileprivate func takes(_ count: Int, for operation: KeyOperation) -> Bool {
        switch (operation, self) {
        case (.decrypt, .aesGCM): count >= AESGCM.nonceLength + AESGCM.tagLength
        case (.encrypt, .aesKeyWrap): count >= 16 && count.isMultiple(of: 8)
        case (.decrypt, .aesKeyWrap): count >= 24 && count.isMultiple(of: 8)
        default: true
        }
    }
}
