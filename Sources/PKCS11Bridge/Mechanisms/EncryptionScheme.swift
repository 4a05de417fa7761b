internal import PKCS11Mechanisms
internal import CCryptoki
internal import SecureBytes
internal import SystemCrypto

/// A way to encrypt or decrypt with an RSA key.
struct EncryptionScheme: Sendable {
    private let encryption: RSAEncryption
    let key: PublicKey

    /// - Throws: `CKR_MECHANISM_INVALID`, `CKR_MECHANISM_PARAM_INVALID`, `CKR_KEY_TYPE_INCONSISTENT`.
    init(_ request: MechanismRequest, key: PublicKey) throws(CryptokiError) {
        let use = try request.use(for: CKF_ENCRYPT)
        guard use.suits(key.kind) else { throw CryptokiError(CKR_KEY_TYPE_INCONSISTENT) }
        self.key = key
        switch use {
        case .encryption(let encryption):
            try request.requireNoParameter()
            self.encryption = encryption
        case .oaep:
            guard case .oaep(let hash, let mgf, let label) = request.parameter,
                let hash = DigestAlgorithm(hash, as: \.mechanism), let mgf1 = DigestAlgorithm(mgf, as: \.mgf)
            else { throw CryptokiError(CKR_MECHANISM_PARAM_INVALID) }
            encryption = .oaep(hash, mgf1: mgf1, label: label)
        default: throw MechanismRequest.unknown
        }
    }

    /// Bytes of a ciphertext, and the most that a plaintext may have.
    var length: Int { ((key.kind.bits ?? 0) + 7) / 8 }

    /// - Throws: `CKR_DATA_LEN_RANGE`; `CKR_DATA_INVALID` for a number that is not below the modulus.
    func encrypt(_ plaintext: borrowing Secret) throws(CryptokiError) -> [UInt8] {
        let room = length
        guard case .raw = encryption else {
            do throws(CryptoError) { return try key.encrypt(plaintext.bytes, using: encryption) } catch {
                throw CryptokiError(error)
            }
        }
        guard plaintext.count <= room else { throw CryptokiError(CKR_DATA_LEN_RANGE) }
        do throws(CryptoError) {
            let bytes = plaintext.bytes
            let block = Secret(capacity: room) { output in
                for _ in 0..<(room - bytes.count) { output.append(0) }
                for index in bytes.indices { output.append(bytes[index]) }
            }
            return try key.encrypt(block.bytes, using: .raw)
        } catch {
            throw CryptokiError(error, length: CKR_DATA_INVALID)
        }
    }

    /// The use of the private key to decrypt.
    ///
    /// - Throws: `CKR_ENCRYPTED_DATA_LEN_RANGE`.
    func use(for ciphertext: [UInt8]) throws(CryptokiError) -> KeyUse {
        guard ciphertext.count == length else { throw CryptokiError(CKR_ENCRYPTED_DATA_LEN_RANGE) }
        return .decrypt(encryption, ciphertext)
    }
}
