internal import PKCS11Mechanisms
internal import CCryptoki
internal import SecureBytes
internal import SystemCrypto

/// A key agreement: Diffie-Hellman on a curve, and the treatment of the shared secret. PKCS #11 §6.3.16.
struct AgreementScheme: Sendable {
    private let derivation: DigestAlgorithm?
    private let sharedInfo: [UInt8]
    private let peer: [UInt8]

    /// - Throws: `CKR_MECHANISM_INVALID`, `CKR_MECHANISM_PARAM_INVALID`, `CKR_KEY_TYPE_INCONSISTENT`.
    init(_ request: MechanismRequest, key: PublicKey) throws(CryptokiError) {
        // On these curves the cofactor is 1, and X25519 clears it: both mechanisms are the same.
        guard case .keyExchange = try request.use(for: CKF_DERIVE) else { throw MechanismRequest.unknown }
        guard key.kind.agrees else { throw CryptokiError(CKR_KEY_TYPE_INCONSISTENT) }
        guard case .agreement(let kdf, let sharedInfo, let publicData) = request.parameter,
            let peer = key.kind.point(in: publicData)
        else { throw CryptokiError(CKR_MECHANISM_PARAM_INVALID) }
        guard AgreementScheme.contributes(peer, to: key.kind) else {
            throw CryptokiError(CKR_MECHANISM_PARAM_INVALID, "nothing can be agreed on with the other side's value")
        }
        self.peer = peer
        self.sharedInfo = sharedInfo
        guard kdf != CKD_NULL else {
            guard sharedInfo.isEmpty else { throw CryptokiError(CKR_MECHANISM_PARAM_INVALID) }
            derivation = nil
            return
        }
        guard let derivation = DigestAlgorithm(kdf, as: \.kdf) else { throw CryptokiError(CKR_MECHANISM_PARAM_INVALID) }
        self.derivation = derivation
    }

    /// Whether a value is a point of the curve, and one that yields a secret (RFC 7748 §6.1). Other values are not sent to a
    /// card.
    private static func contributes(_ peer: [UInt8], to kind: KeyKind) -> Bool {
        guard kind == .x25519 else { return (try? PublicKey(ecPoint: peer, curve: kind)) != nil }
        guard let other = try? PublicKey(raw: peer, kind: kind), let key = try? PrivateKey.generate(kind) else {
            return false
        }
        return (try? key.sharedSecret(with: other)) != nil
    }

    var use: KeyUse { .agree(peer) }

    /// The bytes of the key.
    ///
    /// - Parameter count: the number of bytes that the template wants; nil for the whole shared secret or digest.
    /// - Throws: `CKR_TEMPLATE_INCONSISTENT` for a number of bytes that cannot be derived.
    func keyBytes(from secret: consuming Secret, count: Int?) throws(CryptokiError) -> Secret {
        guard let derivation else {
            guard let count else { return secret }
            guard count > 0, count <= secret.count else { throw CryptokiError(CKR_TEMPLATE_INCONSISTENT) }
            // The leading bytes are cut off where fewer are wanted.
            return Secret(copying: secret.bytes.extracting((secret.count - count)...))
        }
        let length = count ?? derivation.byteCount
        guard 1...AgreementScheme.longestKey ~= length else { throw CryptokiError(CKR_TEMPLATE_INCONSISTENT) }
        do throws(CryptoError) {
            return try X963KDF.deriveKey(from: secret, sharedInfo: sharedInfo, count: length, using: derivation)
        } catch {
            throw CryptokiError(error)
        }
    }

    private static let longestKey = 1024
}
