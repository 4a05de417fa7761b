internal import COpenSSL
internal import SecureBytes

/// A running encryption or decryption. Wraps `EVP_CipherInit_ex2` and its companions.
struct CipherContext: ~Copyable {
    enum Direction: Int32 {
        case decrypt = 0
        case encrypt = 1
    }

    private let name: String
    private let handle: Handle

    /// - Parameters:
    ///   - pads: whether the last block is padded, RFC 5652 §6.3.
    ///   - associatedData: the data that is authenticated but not encrypted.
    /// - Throws: `invalidLength` for a key or an initialisation vector the cipher does not take.
    init(
        _ name: String, _ direction: Direction, key: borrowing Secret, initializationVector: [UInt8] = [],
        pads: Bool = false, authenticating associatedData: [UInt8] = []
    ) throws(CryptoError) {
        self.name = name
        let cipher = try unsafe Handle(name, failing: .unsupported, release: EVP_CIPHER_free) { context in
            unsafe EVP_CIPHER_fetch(context, name, nil)
        }
        let isGCM = unsafe EVP_CIPHER_get_mode(cipher.pointer) == EVP_CIPH_GCM_MODE
        let vectorLength = unsafe Int(EVP_CIPHER_get_iv_length(cipher.pointer))
        guard unsafe key.count == Int(EVP_CIPHER_get_key_length(cipher.pointer)),
            isGCM ? AESGCM.nonceLengths ~= initializationVector.count : initializationVector.count == vectorLength
        else { throw CryptoError(.invalidLength, name) }
        let handle = try unsafe Handle(name, release: EVP_CIPHER_CTX_free) { _ in unsafe EVP_CIPHER_CTX_new() }
        if isGCM {
            let length = Int32(truncatingIfNeeded: initializationVector.count)
            try unsafe OpenSSL.check(name) { _ in
                unsafe EVP_CipherInit_ex2(handle.pointer, cipher.pointer, nil, nil, direction.rawValue, nil) == 1
                    ? EVP_CIPHER_CTX_ctrl(handle.pointer, EVP_CTRL_AEAD_SET_IVLEN, length, nil) : 0
            }
        }
        try unsafe key.bytes.withPointer { key, _ throws(CryptoError) in
            try unsafe initializationVector.span.withPointer { vector, length throws(CryptoError) in
                try unsafe OpenSSL.check(name) { _ in
                    // Passing the cipher again would reset the length of the vector.
                    unsafe EVP_CipherInit_ex2(
                        handle.pointer, isGCM ? nil : cipher.pointer, key, length == 0 ? nil : vector,
                        direction.rawValue, nil)
                }
            }
        }
        try unsafe OpenSSL.check(name) { _ in unsafe EVP_CIPHER_CTX_set_padding(handle.pointer, pads ? 1 : 0) }
        // OpenSSL would take empty data for the end of the message.
        if !associatedData.isEmpty {
            guard let length = Int32(exactly: associatedData.count) else { throw CryptoError(.invalidLength, name) }
            var written: Int32 = 0
            try unsafe associatedData.span.withPointer { start, _ throws(CryptoError) in
                try unsafe OpenSSL.check(name) { _ in
                    unsafe EVP_CipherUpdate(handle.pointer, nil, &written, start, length)
                }
            }
        }
        self.handle = handle
    }

    /// Processes all of `input` and ends; `output` has space for the result, whose length is returned, nil for failure.
    func finish(_ input: Span<UInt8>, into output: UnsafeMutablePointer<UInt8>) -> Int? {
        guard let written = unsafe update(input, into: output) else { return nil }
        var last: Int32 = 0
        guard unsafe EVP_CipherFinal_ex(handle.pointer, output + written, &last) == 1 else { return nil }
        return written + Int(last)
    }

    /// Processes a part. `output` has room for it and one block more. Returns the length of the output; nil for failure.
    func update(_ input: Span<UInt8>, into output: UnsafeMutablePointer<UInt8>) -> Int? {
        // OpenSSL would take empty data for the end of the message.
        guard !input.isEmpty else { return 0 }
        guard let length = Int32(exactly: input.count) else { return nil }
        var written: Int32 = 0
        let updated = unsafe input.withPointer { start, _ in
            unsafe EVP_CipherUpdate(handle.pointer, output, &written, start, length) == 1
        }
        return updated ? Int(written) : nil
    }

    /// The output for a part.
    func update(_ input: Span<UInt8>) throws(CryptoError) -> Secret {
        try unsafe Secret(capacity: input.count + Int(EVP_MAX_BLOCK_LENGTH), name) { _, start, count in
            guard let written = unsafe update(input, into: start) else { return false }
            count = written
            return true
        }
    }

    /// The output at the end.
    ///
    /// - Throws: `decryptionFailed`.
    func finish() throws(CryptoError) -> Secret {
        let nothing: [UInt8] = []
        return try unsafe Secret(
            capacity: Int(EVP_MAX_BLOCK_LENGTH), name, failing: .decryptionFailed
        ) { _, start, count in
            guard let written = unsafe finish(nothing.span, into: start) else { return false }
            count = written
            return true
        }
    }

    /// The authentication tag of the ciphertext.
    func tag(count: Int) throws(CryptoError) -> [UInt8] {
        try unsafe [UInt8](capacity: count, name) { _, start, count in
            unsafe EVP_CIPHER_CTX_ctrl(handle.pointer, EVP_CTRL_AEAD_GET_TAG, Int32(count), start) == 1
        }
    }

    /// The authentication tag that the data to decrypt must have.
    func expect(tag: [UInt8]) throws(CryptoError) {
        var tag = tag
        try unsafe tag.withUnsafeMutableBufferPointer { buffer throws(CryptoError) in
            try unsafe OpenSSL.check(name) { _ in
                unsafe EVP_CIPHER_CTX_ctrl(
                    handle.pointer, EVP_CTRL_AEAD_SET_TAG, Int32(buffer.count), buffer.baseAddress)
            }
        }
    }
}
