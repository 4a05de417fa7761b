internal import SecureBytes
internal import SystemCrypto
internal import TokenKit

// Decryption and key agreement, whose results are secret.
extension PrivateKeyRequest {
    static func decrypt(
        _ ciphertext: [UInt8], _ decryption: RSAEncryption, _ key: TokenKey, _ publicKey: PublicKey
    ) throws(TokenError) -> PrivateKeyRequest {
        guard case .rsa(let bits) = key.kind else {
            throw TokenError(.invalidArgument, "only RSA keys can decrypt")
        }
        return try rsa(
            ciphertext, bits: bits, publicKey, isConfidential: true, .decryption(decryption, of: ciphertext))
    }

    /// - Parameter peer: an uncompressed point on the key's curve, or the 32 bytes of an X25519 key.
    static func agree(
        with peer: [UInt8], _ key: TokenKey, _ publicKey: PublicKey
    ) throws(TokenError) -> PrivateKeyRequest {
        let kind = publicKey.kind
        let algorithm: PIVAlgorithm
        switch kind {
        case .ecP256: algorithm = .p256
        case .ecP384: algorithm = .p384
        case .x25519: algorithm = .x25519
        default: throw TokenError(.invalidArgument, "the key cannot be used for key agreement")
        }
        do {
            // A point that is not on the curve could extract the private key from a careless card.
            _ = try kind.isEC ? PublicKey(ecPoint: peer, curve: kind) : PublicKey(raw: peer, kind: kind)
        } catch {
            throw TokenError(error, "use the other's public key")
        }
        return PrivateKeyRequest(
            algorithm, 0x85, peer, answerLength: kind.coordinateLength ?? 0, isConfidential: true, .agreement)
    }
}
