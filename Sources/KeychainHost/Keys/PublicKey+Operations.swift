public import SystemCrypto
internal import TokenKit

/// What a public key does by Apple's algorithms, wherever its private half is.
extension PublicKey {
    /// Whether the algorithm can be used with this key.
    public func isSupported(_ algorithm: KeyAlgorithm, for operation: KeyOperation) -> Bool {
        guard algorithm.scheme.suits(kind) else { return false }
        return switch (operation, algorithm.scheme) {
        case (.verify, .rsaSignatureRaw), (.verify, .rsaSignaturePKCS1), (.verify, .rsaSignaturePSS),
            (.verify, .ecdsa), (.verify, .ed25519), (.encrypt, .rsaEncryption), (.encrypt, .rsaHybrid),
            (.encrypt, .ecies):
            true
        default: false
        }
    }

    /// Whether a signature is this key's over a message or a digest, as the algorithm says.
    ///
    /// - Throws: `errSecParam` for an algorithm that is not this key's, or a digest of the wrong length.
    public func verify(
        _ signature: [UInt8], of input: [UInt8], using algorithm: KeyAlgorithm
    ) throws(KeychainError) -> Bool {
        guard isSupported(algorithm, for: .verify) else { throw algorithm.isNot(for: .verify, kind) }
        return try KeychainError.mapping { () throws(CryptoError) in
            switch algorithm.scheme {
            case .rsaSignatureRaw:
                guard let block = try? encrypt(signature, using: .raw) else { return false }
                return block == input
            case .rsaSignaturePKCS1(let kind, let digest):
                return try verify(signature, of: input, kind, using: .rsaPKCS1(digest))
            case .rsaSignaturePSS(let kind, let digest):
                return try verify(signature, of: input, kind, using: .rsaPSS(digest))
            case .ecdsa(let kind, let digest, let form):
                if kind == .digest, let digest, input.count != digest.byteCount {
                    throw CryptoError(.invalidLength, "digest of \(input.count) bytes")
                }
                guard let signature = x962(signature, form) else { return false }
                return try verify(signature, of: input, kind, using: .ecdsa(digest))
            case .ed25519: return try verify(signature, message: input, using: .ed25519)
            default: return false
            }
        }
    }

    /// Encrypts what the private half decrypts.
    ///
    /// - Parameter sharedInfo: for ECIES, what both sides know beside their keys.
    /// - Throws: `errSecParam` for an algorithm that is not this key's, or a plaintext that does not fit.
    public func encrypt(
        _ plaintext: Span<UInt8>, using algorithm: KeyAlgorithm, sharedInfo: [UInt8] = []
    ) throws(KeychainError) -> [UInt8] {
        guard isSupported(algorithm, for: .encrypt) else { throw algorithm.isNot(for: .encrypt, kind) }
        try algorithm.checkTakes(sharedInfo)
        try checkFits(plaintext.count, algorithm)
        do throws(CryptoError) {
            switch algorithm.scheme {
            case .rsaEncryption(let encryption): return try encrypt(plaintext, using: encryption)
            case .rsaHybrid(let digest): return try Hybrid.seal(plaintext, for: self, using: digest)
            case .ecies(_, let digest, let vector):
                return try Hybrid.seal(
                    plaintext, for: self, KeyExchangeParameters(sharedInfo: sharedInfo), using: digest, vector)
            default: throw CryptoError(.unsupported, "\(algorithm)")
            }
        } catch {
            throw KeychainError(error)
        }
    }

    /// The longest plaintext in bytes, RFC 8017 §7; nil for no limit.
    public func maximumPlaintextLength(_ algorithm: KeyAlgorithm) -> Int? {
        switch algorithm.scheme {
        case .rsaEncryption(.raw): blockLength
        case .rsaEncryption(.pkcs1): blockLength - RSAPadding.pkcs1Overhead
        case .rsaEncryption(.oaep(let digest, _, _)): blockLength - 2 * digest.byteCount - 2
        default: nil
        }
    }

    private func checkFits(_ count: Int, _ algorithm: KeyAlgorithm) throws(KeychainError) {
        guard let limit = maximumPlaintextLength(algorithm), count > limit else { return }
        throw KeychainError(
            .param, "\(algorithm) with a key of kind \(kind) takes \(limit) bytes, and these are \(count)")
    }

    private func verify(
        _ signature: [UInt8], of input: [UInt8], _ kind: Scheme.Input, using algorithm: SignatureAlgorithm
    ) throws(CryptoError) -> Bool {
        switch kind {
        case .message: try verify(signature, message: input, using: algorithm)
        case .digest: try verify(signature, digest: input, using: algorithm)
        }
    }

    /// The signature as OpenSSL takes it; nil for what is none.
    private func x962(_ signature: [UInt8], _ form: Scheme.SignatureForm) -> [UInt8]? {
        guard form == .rfc4754 else { return signature }
        guard signature.count == 2 * blockLength else { return nil }
        return try? ECDSASignature.der(fromFixedWidth: signature)
    }
}
