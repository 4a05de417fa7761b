internal import SecureBytes
internal import SystemCrypto
internal import TokenKit

// Signatures: the card performs the bare operation, and the host hashes and pads before it.
extension PrivateKeyRequest {
    static func sign(
        _ input: [UInt8], _ signature: SignatureAlgorithm, _ key: TokenKey, _ publicKey: PublicKey,
        _ quirks: PIVQuirks
    ) throws(TokenError) -> PrivateKeyRequest {
        guard signature.suits(publicKey.kind) else {
            throw TokenError(.invalidArgument, "the key cannot make this kind of signature")
        }
        let bare: [UInt8]
        do { bare = try signature.bareInput(of: input, for: publicKey.kind) } catch {
            throw TokenError(error, "pad the input")
        }
        switch (signature, key.kind) {
        case (.rsaRaw, .rsa(let bits)), (.rsaPKCS1, .rsa(let bits)), (.rsaPSS, .rsa(let bits)):
            return try rsa(bare, bits: bits, publicKey, .rsaSignature(of: bare, publicKey))
        case (.ecdsa, .ecP256), (.ecdsa, .ecP384):
            guard !quirks.has(.hashesOnCard) else {
                throw TokenError(.unsupported, "this card signs only what it has hashed itself")
            }
            return try ecdsa(bare, signature, publicKey)
        case (.ed25519, .ed25519):
            guard input.count <= maximumMessage else {
                throw TokenError(.invalidArgument, "Ed25519 on a card signs messages of up to \(maximumMessage) bytes")
            }
            return PrivateKeyRequest(
                quirks.has(.ed25519As22) ? .soloEd25519 : .ed25519, 0x81, input, answerLength: 64,
                .ed25519Signature(of: input, publicKey))
        default:
            throw TokenError(.invalidArgument, "this key cannot make this kind of signature")
        }
    }

    /// The RSA private-key operation over a block as long as the modulus, and smaller than it.
    static func rsa(
        _ block: [UInt8], bits: Int, _ publicKey: PublicKey, isConfidential: Bool = false, _ completion: Completion
    ) throws(TokenError) -> PrivateKeyRequest {
        let algorithm: PIVAlgorithm
        switch bits {
        case 1024: algorithm = .rsa1024
        case 2048: algorithm = .rsa2048
        case 3072: algorithm = .rsa3072
        case 4096: algorithm = .rsa4096
        default: throw TokenError(.unsupported, "PIV has no RSA keys of \(bits) bits")
        }
        let modulus = publicKey.rsaComponents?.modulus ?? []
        guard block.count == modulus.count else {
            throw TokenError(
                .invalidArgument, "an RSA key of \(bits) bits takes \(modulus.count) bytes, and got \(block.count)")
        }
        guard block.lexicographicallyPrecedes(modulus) else {
            throw TokenError(
                .invalidArgument, "the data are not for this RSA key: as a number they are not below its modulus")
        }
        return PrivateKeyRequest(
            algorithm, 0x81, block, answerLength: block.count, isConfidential: isConfidential, completion)
    }

    /// ECDSA takes as many bits as the curve's order has (FIPS 186-5 §6.4.1). Cards require that full length.
    private static func ecdsa(
        _ digest: [UInt8], _ signature: SignatureAlgorithm, _ publicKey: PublicKey
    ) throws(TokenError) -> PrivateKeyRequest {
        guard let length = publicKey.kind.coordinateLength, let bits = publicKey.kind.bits, !digest.isEmpty else {
            throw TokenError(.invalidArgument, "there is no digest to sign")
        }
        let cut = ECDSASignature.truncate(digest, orderBits: bits)
        let input = [UInt8](repeating: 0, count: max(0, length - cut.count)) + cut
        return PrivateKeyRequest(
            publicKey.kind == .ecP256 ? .p256 : .p384, 0x81, input,
            // Two integers with a sign byte each, tags and lengths.
            answerLength: 2 * (length + 1) + 8, .ecdsaSignature(signature, of: input, publicKey))
    }

    /// The longest message that fits the data of a command of 65,535 bytes.
    private static let maximumMessage = 65_000
}
