public import SecureBytes

extension RSAPadding {
    /// Removes the PKCS #1 v1.5 encryption padding from a card's plaintext (RFC 8017 §7.2.2), with implicit rejection.
    ///
    /// A block with wrong padding is not an error. It gives a random message, always the same for the same ciphertext, so that
    /// the sender of a ciphertext cannot learn whether its padding was right (Bleichenbacher's attack). The scheme is that of
    /// draft-irtf-cfrg-rsa-guidance §7, whose key for the pseudo-random function comes from the private exponent. A card does not
    /// reveal that, so a random secret of this process replaces it: the substitute is stable while the process lives.
    ///
    /// No branch and no index depends on the block up to the point where the length of the message is known, which the
    /// caller learns in any case.
    ///
    /// - Throws: `invalidLength` when block and ciphertext are not equally long, or too short for any padding.
    public static func removePKCS1Decryption(
        _ block: borrowing Secret, ciphertext: [UInt8]
    ) throws(CryptoError) -> Secret {
        switch processRejectionKey {
        case .some(let key): return try removePKCS1Decryption(block, ciphertext: ciphertext, rejectionKey: key)
        case .none: throw CryptoError(.library, "PKCS#1 decryption")
        }
    }

    /// Removes the padding, with the caller's key for the pseudo-random function.
    static func removePKCS1Decryption(
        _ block: borrowing Secret, ciphertext: [UInt8], rejectionKey: borrowing Secret
    ) throws(CryptoError) -> Secret {
        let count = block.count
        guard count == ciphertext.count, count >= pkcs1Overhead, count <= PublicKey.maximumModulusLength else {
            throw CryptoError(.invalidLength, "PKCS#1 decryption")
        }
        let prfKey = try HMAC.secret(for: ciphertext.span, key: rejectionKey.bytes)
        let substitute = try pseudoRandom(prfKey, label: "message", count: count)
        let lengths = try pseudoRandom(prfKey, label: "length", count: 2 * lengthCandidates)

        let (isValid, validStart) = findMessage(in: block.bytes)
        let substituteLength = substituteLength(from: lengths.bytes, limit: UInt(count - pkcs1Overhead + 1))
        let substituteStart = UInt(count) - substituteLength
        let start = Int(ConstantTime.select(isValid, validStart, substituteStart))
        let (real, fake) = (block.bytes, substitute.bytes)
        return Secret(capacity: count - start) { output in
            for index in start..<count { output.append(ConstantTime.select(isValid, real[index], fake[index])) }
        }
    }

    /// Whether the padding is right, as a mask, and the index at which the message starts.
    private static func findMessage(in block: Span<UInt8>) -> (isValid: UInt, start: UInt) {
        var isFound: UInt = 0
        var separator: UInt = 0
        for index in 2..<block.count {
            let isZero = ConstantTime.isZero(UInt(block[index]))
            separator = ConstantTime.select(~isFound & isZero, UInt(index), separator)
            isFound |= isZero
        }
        let hasHeader = ConstantTime.isZero(UInt(block[0])) & ConstantTime.isEqual(UInt(block[1]), 2)
        // The padding has at least eight bytes. A missing separator has the index zero, and fails here too.
        return (hasHeader & ~ConstantTime.isLess(separator, 10), separator + 1)
    }

    /// The length of the substitute: the last candidate below the limit, after cutting the candidates to the limit's bits.
    private static func substituteLength(from candidates: Span<UInt8>, limit: UInt) -> UInt {
        let mask = UInt.max >> UInt(limit.leadingZeroBitCount)
        var length: UInt = 0
        for index in stride(from: 0, to: candidates.count - 1, by: 2) {
            let candidate = (UInt(candidates[index]) << 8 | UInt(candidates[index + 1])) & mask
            length = ConstantTime.select(ConstantTime.isLess(candidate, limit), candidate, length)
        }
        return length
    }

    /// The pseudo-random function of draft-irtf-cfrg-rsa-guidance §7.1: HMAC-SHA-256 over counter, label and bit length.
    static func pseudoRandom(_ key: borrowing Secret, label: String, count: Int) throws(CryptoError) -> Secret {
        let bits = UInt16(truncatingIfNeeded: count * 8)
        return try Secret(capacity: count) { output throws(CryptoError) in
            var counter: UInt16 = 0
            while output.count < count {
                let input = counter.bigEndianBytes + Array(label.utf8) + bits.bigEndianBytes
                let block = try HMAC.secret(for: input.span, key: key.bytes)
                let blockBytes = block.bytes
                for index in 0..<min(blockBytes.count, count - output.count) { output.append(blockBytes[index]) }
                counter += 1
            }
        }
    }

    /// Enough candidates that it practically never happens that all are too large.
    private static let lengthCandidates = 128

    private static let processRejectionKey: Secret? = try? RandomBytes.makeSecret(count: 32)
}
