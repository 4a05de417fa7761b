internal import COpenSSL
internal import SecureBytes

/// OpenSSH's derivation of a key from a password: PBKDF2 of RFC 8018 with bcrypt as the hash function, and the blocks of the
/// result interleaved. bcrypt_pbkdf(3) of OpenBSD.
enum BcryptPBKDF {
    /// The most rounds that are accepted; OpenSSH writes 16 or 24. More would keep a program busy for minutes.
    static let maximumRounds: UInt32 = 512
    private static let blockLength = 32
    private static let maximumLength = 64

    static func deriveKey(
        password: borrowing Secret, salt: [UInt8], rounds: UInt32, count: Int
    ) throws(CryptoError) -> Secret {
        guard 1...maximumLength ~= count, 1...maximumRounds ~= rounds, !salt.isEmpty, !password.isEmpty else {
            throw CryptoError(.invalidLength, "bcrypt")
        }
        let hashedPassword = try hash(password.bytes)
        let blocks = (count + blockLength - 1) / blockLength
        var key = [UInt8](repeating: 0, count: blocks * blockLength)
        defer { unsafe key.withUnsafeMutableBytes { unsafe OPENSSL_cleanse($0.baseAddress, $0.count) } }
        for block in 0..<blocks {
            var hashedSalt = try hash((salt + UInt32(truncatingIfNeeded: block + 1).bigEndianBytes).span)
            var sum = try bcrypt(hashedPassword, hashedSalt)
            var output = sum.clone()
            for _ in 1..<rounds {
                hashedSalt = try hash(output.bytes)
                output = try bcrypt(hashedPassword, hashedSalt)
                sum = exclusiveOr(sum, output)
            }
            let bytes = sum.bytes
            for index in bytes.indices { key[index * blocks + block] = bytes[index] }
        }
        return Secret(copying: key.span.extracting(first: count))
    }

    private static func hash(_ bytes: Span<UInt8>) throws(CryptoError) -> Secret {
        var context = try DigestContext(.sha512)
        try context.update(bytes)
        return try context.finalizeSecret()
    }

    /// Sixty-four rounds of key schedule, then a fixed text encrypted sixty-four times.
    private static func bcrypt(_ password: borrowing Secret, _ salt: borrowing Secret) throws(CryptoError) -> Secret {
        var cipher = Blowfish()
        defer { cipher.wipe() }
        let none = [UInt8]()
        cipher.expand(key: password.bytes, salt: salt.bytes)
        for _ in 0..<64 {
            cipher.expand(key: salt.bytes, salt: none.span)
            cipher.expand(key: password.bytes, salt: none.span)
        }
        let text = Array("OxychromaticBlowfishSwatDynamite".utf8)
        return Secret(capacity: blockLength) { output in
            for start in stride(from: 0, to: blockLength, by: 8) {
                var left = UInt32(bigEndianBytes: text[start..<start + 4])
                var right = UInt32(bigEndianBytes: text[start + 4..<start + 8])
                for _ in 0..<64 { cipher.encrypt(&left, &right) }
                output.append(littleEndian: left)
                output.append(littleEndian: right)
            }
        }
    }

    private static func exclusiveOr(_ left: borrowing Secret, _ right: borrowing Secret) -> Secret {
        Secret(capacity: left.count) { output in
            let (first, second) = (left.bytes, right.bytes)
            for index in first.indices { output.append(first[index] ^ second[index]) }
        }
    }
}
