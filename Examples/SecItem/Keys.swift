import Foundation

#if canImport(Security)
    import Security
#else
    import SecItem
#endif

/// A private key in the keychain, found by its tag.
struct KeyStore {
    let tag: Data

    /// Makes a key in the keychain and gives its reference.
    func make() throws -> SecKey {
        let attributes: [String: Any] = [
            kSecAttrKeyType as String: kSecAttrKeyTypeECSECPrimeRandom,
            kSecAttrKeySizeInBits as String: 256,
            kSecPrivateKeyAttrs as String: [
                kSecAttrIsPermanent as String: true,
                kSecAttrApplicationTag as String: tag,
            ],
        ]
        var error: Unmanaged<CFError>?
        guard let privateKey = SecKeyCreateRandomKey(attributes as CFDictionary, &error) else {
            throw error!.takeRetainedValue() as Error
        }
        return privateKey
    }

    /// Adds an existing key to the keychain.
    func keep(_ key: SecKey) throws {
        let addQuery: [String: Any] = [
            kSecClass as String: kSecClassKey,
            kSecAttrApplicationTag as String: tag,
            kSecValueRef as String: key,
        ]
        let status = SecItemAdd(addQuery as CFDictionary, nil)
        guard status == errSecSuccess else { throw KeychainError.unhandledError(status: status) }
    }

    func find() throws -> SecKey {
        let query: [String: Any] = [
            kSecClass as String: kSecClassKey,
            kSecAttrApplicationTag as String: tag,
            kSecAttrKeyType as String: kSecAttrKeyTypeECSECPrimeRandom,
            kSecReturnRef as String: true,
        ]
        var item: CFTypeRef?
        let status = SecItemCopyMatching(query as CFDictionary, &item)
        guard status == errSecSuccess else { throw KeychainError.unhandledError(status: status) }
        // swift-format-ignore: NeverForceUnwrap
        return item as! SecKey
    }

    func delete() -> OSStatus {
        SecItemDelete([kSecClass: kSecClassKey, kSecAttrApplicationTag: tag] as CFDictionary)
    }
}

/// Signs with the private key, and checks with the public one.
func signAndVerify(_ message: Data, with privateKey: SecKey) throws -> Bool {
    let algorithm: SecKeyAlgorithm = .ecdsaSignatureMessageX962SHA256
    guard SecKeyIsAlgorithmSupported(privateKey, .sign, algorithm) else { return false }
    var error: Unmanaged<CFError>?
    guard let signature = SecKeyCreateSignature(privateKey, algorithm, message as CFData, &error) as Data? else {
        throw error!.takeRetainedValue() as Error
    }
    guard let publicKey = SecKeyCopyPublicKey(privateKey) else { return false }
    return SecKeyVerifySignature(publicKey, algorithm, message as CFData, signature as CFData, &error)
}

/// Encrypts for the public key, and decrypts with the private one.
func encryptAndDecrypt(_ message: Data, with privateKey: SecKey) throws -> Data {
    let algorithm: SecKeyAlgorithm = .eciesEncryptionCofactorX963SHA256AESGCM
    var error: Unmanaged<CFError>?
    guard let publicKey = SecKeyCopyPublicKey(privateKey),
        let ciphertext = SecKeyCreateEncryptedData(publicKey, algorithm, message as CFData, &error) as Data?,
        let plaintext = SecKeyCreateDecryptedData(privateKey, algorithm, ciphertext as CFData, &error) as Data?
    else { throw error!.takeRetainedValue() as Error }
    return plaintext
}
