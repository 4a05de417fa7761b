internal import COpenSSL
public import SecureBytes

extension PrivateKey {
    /// Signs a digest.
    ///
    /// - Throws: `unsupported` for an algorithm that is not this key's or signs no digests, `invalidLength` for a digest that
    ///   does not have the algorithm's length or does not fit the key, and for a PSS salt without a length.
    public func sign(digest: [UInt8], using algorithm: SignatureAlgorithm) throws(CryptoError) -> [UInt8] {
        try algorithm.check(kind: kind, digestCount: digest.count)
        if algorithm == .rsaRaw { return try rsaPrivateOperation(digest).copied() }
        if case .rsaPSS(_, _, nil) = algorithm { throw CryptoError(.invalidLength, "PSS salt") }
        let operation = try unsafe handle.makeContext("sign", algorithm.parameters()) {
            unsafe EVP_PKEY_sign_init_ex($0, $1)
        }
        let signature = try unsafe digest.span.withPointer { digest, length throws(CryptoError) in
            try unsafe [UInt8](
                capacity: Int(EVP_PKEY_get_size(handle.pointer)), "sign", failing: .invalidLength
            ) { _, start, count in
                unsafe EVP_PKEY_sign(operation.pointer, start, &count, digest, length) == 1
            }
        }
        return try algorithm.signature(fromBare: signature, of: kind)
    }

    /// Signs the algorithm's input: a digest, or with Ed25519 the message.
    ///
    /// - Throws: as for a digest.
    public func sign(_ input: [UInt8], using algorithm: SignatureAlgorithm) throws(CryptoError) -> [UInt8] {
        try algorithm == .ed25519 ? signEd25519(input) : sign(digest: input, using: algorithm)
    }

    /// Signs a message, which is hashed first by the algorithm's hash function.
    ///
    /// - Throws: as for a digest; `unsupported` also for ECDSA without a digest algorithm.
    public func sign(message: [UInt8], using algorithm: SignatureAlgorithm) throws(CryptoError) -> [UInt8] {
        switch (algorithm, algorithm.digestAlgorithm) {
        case (.ed25519, _): return try signEd25519(message)
        case (_, let digest?): return try sign(digest: Digest.hash(message, using: digest), using: algorithm)
        case (.rsaPKCS1, nil): return try sign(digest: message, using: algorithm)
        default: throw CryptoError(.unsupported, "sign a message without a digest algorithm")
        }
    }

    /// The RSA private operation RSADP = RSASP1, RFC 8017 §5.1.2: a block as long as the modulus, without padding.
    ///
    /// - Throws: `invalidLength` for a block of another length or not below the modulus.
    public func rsaPrivateOperation(_ block: [UInt8]) throws(CryptoError) -> Secret {
        try rsaDecrypt(block, using: .raw, failing: .invalidLength)
    }

    /// Decrypts with an RSA key.
    ///
    /// Wrong PKCS#1 v1.5 padding gives a meaningless message, always the same for a ciphertext, and not an error, which would let
    /// an attacker decrypt by trial (see `RSAPadding.removePKCS1Decryption`).
    ///
    /// - Throws: `decryptionFailed`; `invalidLength` for a ciphertext that is not as long as the modulus.
    public func decrypt(_ ciphertext: [UInt8], using encryption: RSAEncryption) throws(CryptoError) -> Secret {
        guard encryption == .pkcs1 else {
            return try rsaDecrypt(ciphertext, using: encryption, failing: .decryptionFailed)
        }
        let block = try rsaDecrypt(ciphertext, using: .raw, failing: .decryptionFailed)
        let exponent = try BigNumber(OSSL_PKEY_PARAM_RSA_D, of: handle).bytes(length: ciphertext.count)
        var context = try DigestContext(.sha256)
        try context.update(exponent.bytes)
        let rejectionKey = try context.finalizeSecret()
        return try RSAPadding.removePKCS1Decryption(block, ciphertext: ciphertext, rejectionKey: rejectionKey)
    }

    /// The secret shared with the holder of another key on the same curve: the X coordinate for NIST curves (SP 800-56A
    /// §5.7.1.2), the output of X25519 (RFC 7748 §6.1).
    ///
    /// - Throws: `unsupported` for keys that cannot agree on a secret.
    public func sharedSecret(with peer: PublicKey) throws(CryptoError) -> Secret {
        guard kind == peer.kind, kind.isEC || kind == .x25519, let length = kind.coordinateLength else {
            throw CryptoError(.unsupported, "key agreement of \(kind) with \(peer.kind)")
        }
        let operation = try handle.makeContext("key agreement")
        try unsafe OpenSSL.check("key agreement", failing: .malformed) { _ in
            unsafe EVP_PKEY_derive_init(operation.pointer) == 1
                ? EVP_PKEY_derive_set_peer(operation.pointer, peer.handle.pointer) : 0
        }
        return try unsafe Secret(capacity: length, "key agreement", failing: .malformed) { _, start, count in
            unsafe EVP_PKEY_derive(operation.pointer, start, &count) == 1
        }
    }

    private func rsaDecrypt(
        _ ciphertext: [UInt8], using encryption: RSAEncryption, failing code: CryptoError.Code
    ) throws(CryptoError) -> Secret {
        guard case .rsa(let bits) = kind else { throw CryptoError(.unsupported, "RSA with \(kind)") }
        guard ciphertext.count == (bits + 7) / 8 else { throw CryptoError(.invalidLength, "RSA block") }
        let operation = try unsafe handle.makeContext("RSA", encryption.parameters()) {
            unsafe EVP_PKEY_decrypt_init_ex($0, $1)
        }
        return try unsafe ciphertext.span.withPointer { input, length throws(CryptoError) in
            try unsafe Secret(capacity: length, "RSA", failing: code) { _, start, count in
                unsafe EVP_PKEY_decrypt(operation.pointer, start, &count, input, length) == 1
            }
        }
    }

    private func signEd25519(_ message: [UInt8]) throws(CryptoError) -> [UInt8] {
        guard kind == .ed25519 else { throw CryptoError(.unsupported, "Ed25519 signature with \(kind)") }
        let operation = try unsafe Handle("sign", release: EVP_MD_CTX_free) { _ in unsafe EVP_MD_CTX_new() }
        try unsafe OpenSSL.check("sign") { context in
            unsafe EVP_DigestSignInit_ex(operation.pointer, nil, nil, context, nil, handle.pointer, nil)
        }
        return try unsafe message.span.withPointer { message, length throws(CryptoError) in
            try unsafe [UInt8](capacity: 64, "sign") { _, start, count in
                unsafe EVP_DigestSign(operation.pointer, start, &count, message, length) == 1
            }
        }
    }
}
