internal import SecureBytes
public import SystemCrypto
internal import TokenKit

// What is done around the next simpler step: with the input before it, and with the result after it.
extension AlgorithmStep {
    /// What the next step is given.
    func prepare(_ input: [UInt8], for key: PublicKey) throws(CryptoError) -> [UInt8] {
        switch scheme {
        case .rsaSignaturePKCS1(.message, let digest?), .rsaSignaturePSS(.message, let digest),
            .ecdsa(.message, let digest?, _):
            return try Digest.hash(input, using: digest)
        case .rsaSignaturePKCS1(.digest, let digest?): return try RSAPadding.digestInfo(input, algorithm: digest)
        case .rsaSignaturePKCS1(.digest, nil): return try RSAPadding.pkcs1Raw(input, keyBytes: key.blockLength)
        case .rsaSignaturePSS(.digest, let digest):
            return try RSAPadding.pss(digest: input, algorithm: digest, mgf1: digest, keyBits: key.kind.bits ?? 0)
        case .ecdsa(.digest, let digest?, _):
            guard input.count == digest.byteCount else {
                throw CryptoError(.invalidLength, "digest of \(input.count) bytes")
            }
            return input
        case .rsaHybrid, .ecies: return try Hybrid.split(input, for: key, scheme).key
        default: return input
        }
    }

    /// What the next step is told beside its input.
    func parametersOfNext(
        _ parameters: KeyExchangeParameters, input: [UInt8], for key: PublicKey
    ) throws(CryptoError) -> KeyExchangeParameters {
        guard case .ecies(_, _, let vector) = scheme else { return parameters }
        let ephemeral = try Hybrid.split(input, for: key, scheme).key
        return Hybrid.parameters(parameters, ephemeral: ephemeral, for: key, vector)
    }

    /// What becomes of the next step's result.
    ///
    /// - Parameter input: what this step was given.
    func finish(
        _ result: consuming Secret, of input: [UInt8], for key: PublicKey, _ parameters: KeyExchangeParameters
    ) throws(CryptoError) -> Secret {
        switch (operation, scheme) {
        case (.sign, .ecdsa(.digest, _, .rfc4754)):
            var signature = try ECDSASignature.fixedWidth(
                fromDER: result.copied(), coordinateLength: key.blockLength)
            return Secret(consuming: &signature)
        case (.decrypt, .rsaEncryption(.pkcs1)):
            return try RSAPadding.removePKCS1Decryption(result, ciphertext: input)
        case (.decrypt, .rsaEncryption(.oaep(let digest, let mask, let label))):
            return try RSAPadding.removeOAEP(result, algorithm: digest, mgf1: mask, label: label)
        case (.decrypt, .rsaHybrid):
            let sealed = try Hybrid.split(input, for: key, scheme).sealed
            return try Hybrid.open(sealed, sessionKey: result, for: key)
        case (.decrypt, .ecies(_, _, let vector)):
            return try Hybrid.open(try Hybrid.split(input, for: key, scheme).sealed, derived: result, vector)
        case (.keyExchange, .keyExchange(.standard, let digest?)):
            return try parameters.derive(from: result, using: digest)
        default: return result
        }
    }
}

/// What both sides of a key exchange agree on beside their keys: Apple's `SecKeyKeyExchangeParameter`.
public struct KeyExchangeParameters: Sendable, Hashable {
    /// Bytes that the derivation is to give; algorithms with a derivation want it.
    public var requestedSize: Int?

    /// What goes into the derivation beside the secret.
    public var sharedInfo: [UInt8]

    public init(requestedSize: Int? = nil, sharedInfo: [UInt8] = []) {
        self.requestedSize = requestedSize
        self.sharedInfo = sharedInfo
    }

    func derive(from secret: borrowing Secret, using digest: DigestAlgorithm) throws(CryptoError) -> Secret {
        guard let requestedSize else { throw CryptoError(.invalidLength, "key derivation without a requested size") }
        return try X963KDF.deriveKey(from: secret, sharedInfo: sharedInfo, count: requestedSize, using: digest)
    }
}

extension PublicKey {
    /// Bytes of the modulus, or of a coordinate: `SecKeyGetBlockSize`.
    public var blockLength: Int { ((kind.bits ?? 0) + 7) / 8 }
}
