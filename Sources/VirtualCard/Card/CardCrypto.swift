internal import SecureBytes
internal import SystemCrypto
internal import TokenKit

/// The card's processor: operations with keys.
enum CardCrypto {
    enum KeyUse {
        /// ECDSA over a digest as long as the field, or Ed25519 over a message.
        case sign([UInt8])
        /// RSA on a block as long as the modulus.
        case rawRSA([UInt8])
        /// Key agreement with a public point.
        case agree([UInt8])
    }

    static func perform(_ use: KeyUse, with key: CardKey) throws(Refusal) -> [UInt8] {
        do {
            switch use {
            case .sign(let message) where key.algorithm == .ed25519:
                return try key.privateKey.sign(message: message, using: .ed25519)
            case .sign(let digest):
                return try key.privateKey.sign(digest: digest, using: .ecdsa(nil))
            case .rawRSA(let block):
                return bytes(of: try key.privateKey.rsaPrivateOperation(block))
            case .agree(let point):
                let kind = key.algorithm.kind
                let peer =
                    kind == .x25519 ? try PublicKey(raw: point, kind: kind) : try PublicKey(ecPoint: point, curve: kind)
                return bytes(of: try key.privateKey.sharedSecret(with: peer))
            }
        } catch {
            throw Refusal(error)
        }
    }

    static func generate(
        _ algorithm: CardAlgorithm, pinPolicy: CardKey.PINPolicy, touchPolicy: CardKey.TouchPolicy
    ) throws(Refusal) -> CardKey {
        do {
            let key = try PrivateKey.generate(algorithm.kind)
            return CardKey(
                key, algorithm: algorithm, pinPolicy: pinPolicy, touchPolicy: touchPolicy, origin: .generated)
        } catch {
            throw Refusal(error)
        }
    }

    static func hash(_ message: [UInt8], _ algorithm: DigestAlgorithm) throws(Refusal) -> [UInt8] {
        do { return try Digest.hash(message, using: algorithm) } catch { throw Refusal(error) }
    }

    static func random(_ count: Int) throws(Refusal) -> [UInt8] {
        do { return try RandomBytes.make(count: count) } catch { throw Refusal(error) }
    }

    /// One block, encrypted with the management key.
    static func encrypt(_ block: [UInt8], with key: ManagementKey) throws(Refusal) -> [UInt8] {
        guard let cipher = key.algorithm.cipher else { throw Refusal(.noPreciseDiagnosis) }
        do {
            return try cipher.encrypt(block, key: Secret(copying: key.value.bytes.span))
        } catch {
            throw Refusal(error)
        }
    }

    /// The secret's bytes as an ordinary array, since they are about to leave the card.
    private static func bytes(of secret: borrowing Secret) -> [UInt8] {
        let bytes = secret.bytes
        return Array(copying: bytes)
    }
}

extension Refusal {
    /// The card's error of a failing operation.
    init(_ error: CryptoError) {
        switch error.code {
        case .malformed, .invalidLength, .invalidKey: self.init(.incorrectData)
        case .unsupported: self.init(.functionNotSupported)
        default: self.init(.noPreciseDiagnosis)
        }
    }
}

extension CardAlgorithm {
    /// The kind of key pair.
    var kind: KeyKind {
        switch self {
        case .rsa1024, .rsa2048, .rsa3072, .rsa4096: .rsa(bits: 8 * (modulusLength ?? 0))
        case .p256: .ecP256
        case .p384: .ecP384
        case .ed25519: .ed25519
        case .x25519: .x25519
        case .tripleDES, .aes128, .aes192, .aes256: .other("block cipher")
        }
    }

    /// The cipher of a management key.
    var cipher: BlockCipher? {
        switch self {
        case .tripleDES: .tripleDES
        case .aes128: .aes128
        case .aes192: .aes192
        case .aes256: .aes256
        default: nil
        }
    }

    /// The algorithm of a key pair of that kind.
    init?(_ kind: KeyKind) {
        guard let algorithm = CardAlgorithm.allCases.first(where: { $0.isAsymmetric && $0.kind == kind }) else {
            return nil
        }
        self = algorithm
    }
}
