internal import COpenSSL

extension PublicKey {
    /// Whether `signature` is this key's over a digest.
    ///
    /// A malformed signature is an invalid one, not an error.
    ///
    /// - Throws: `unsupported` for an algorithm that is not this key's or signs no digests, `invalidLength` for a digest
    ///   of another length than the algorithm's.
    public func verify(
        _ signature: [UInt8], digest: [UInt8], using algorithm: SignatureAlgorithm
    ) throws(CryptoError) -> Bool {
        try algorithm.check(kind: kind, digestCount: digest.count)
        switch algorithm {
        case .rsaRaw:
            // The public operation encrypts without padding. It fails for a number that is not below the modulus.
            guard let block = try? encrypt(signature, using: .raw) else { return false }
            return block == digest
        case .ecdsa(let digestAlgorithm, .rfc4754):
            guard let length = kind.coordinateLength, signature.count == 2 * length else { return false }
            return try verify(
                ECDSASignature.der(fromFixedWidth: signature), digest: digest, using: .ecdsa(digestAlgorithm))
        default: break
        }
        let operation = try unsafe handle.makeContext("verify", algorithm.parameters()) {
            unsafe EVP_PKEY_verify_init_ex($0, $1)
        }
        return try unsafe OpenSSL.call("verify") { _ in
            unsafe signature.span.withPointer { signature, signatureLength in
                unsafe digest.span.withPointer { digest, length in
                    unsafe EVP_PKEY_verify(operation.pointer, signature, signatureLength, digest, length) == 1
                }
            }
        }
    }

    /// Whether `signature` is this key's over the algorithm's input: a digest, or with Ed25519 the message.
    ///
    /// - Throws: as for a digest.
    public func verify(
        _ signature: [UInt8], of input: [UInt8], using algorithm: SignatureAlgorithm
    ) throws(CryptoError) -> Bool {
        try algorithm == .ed25519
            ? verifyEd25519(signature, message: input) : verify(signature, digest: input, using: algorithm)
    }

    /// Whether `signature` is this key's over a message.
    ///
    /// - Throws: as for a digest; `unsupported` also for ECDSA without a digest algorithm.
    public func verify(
        _ signature: [UInt8], message: [UInt8], using algorithm: SignatureAlgorithm
    ) throws(CryptoError) -> Bool {
        switch (algorithm, algorithm.digestAlgorithm) {
        case (.ed25519, _): return try verifyEd25519(signature, message: message)
        case (_, let digest?):
            return try verify(signature, digest: Digest.hash(message, using: digest), using: algorithm)
        case (.rsaPKCS1, nil): return try verify(signature, digest: message, using: algorithm)
        default: throw CryptoError(.unsupported, "verify a message without a digest algorithm")
        }
    }

    /// Encrypts with an RSA key.
    ///
    /// - Returns: as many bytes as the modulus has.
    /// - Throws: `unsupported` for another kind of key, `invalidLength` for a plaintext that does not fit.
    public func encrypt(_ plaintext: Span<UInt8>, using encryption: RSAEncryption) throws(CryptoError) -> [UInt8] {
        guard case .rsa(let bits) = kind else { throw CryptoError(.unsupported, "encryption with \(kind)") }
        let operation = try unsafe handle.makeContext("RSA encryption", encryption.parameters()) {
            unsafe EVP_PKEY_encrypt_init_ex($0, $1)
        }
        return try unsafe plaintext.withPointer { plaintext, length throws(CryptoError) in
            try unsafe [UInt8](
                capacity: (bits + 7) / 8, "RSA encryption", failing: .invalidLength
            ) { _, start, count in
                unsafe EVP_PKEY_encrypt(operation.pointer, start, &count, plaintext, length) == 1
            }
        }
    }

    /// Encrypts bytes that are not kept as a secret.
    public func encrypt(_ plaintext: [UInt8], using encryption: RSAEncryption) throws(CryptoError) -> [UInt8] {
        try encrypt(plaintext.span, using: encryption)
    }

    private func verifyEd25519(_ signature: [UInt8], message: [UInt8]) throws(CryptoError) -> Bool {
        guard kind == .ed25519 else { throw CryptoError(.unsupported, "Ed25519 verification with \(kind)") }
        let operation = try unsafe Handle("verify", release: EVP_MD_CTX_free) { _ in unsafe EVP_MD_CTX_new() }
        try unsafe OpenSSL.check("verify") { context in
            unsafe EVP_DigestVerifyInit_ex(operation.pointer, nil, nil, context, nil, handle.pointer, nil)
        }
        return try unsafe OpenSSL.call("verify") { _ in
            unsafe signature.span.withPointer { signature, signatureLength in
                unsafe message.span.withPointer { message, length in
                    unsafe EVP_DigestVerify(operation.pointer, signature, signatureLength, message, length) == 1
                }
            }
        }
    }
}
