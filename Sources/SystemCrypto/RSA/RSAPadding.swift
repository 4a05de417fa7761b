internal import SecureBytes

/// The paddings of RFC 8017, for cards that have only the bare RSA operation.
public enum RSAPadding {
    /// The DER of a `DigestInfo`, RFC 8017 §9.2: a digest and the name of its hash function.
    ///
    /// - Throws: `invalidLength` for a digest of another length than the algorithm's.
    public static func digestInfo(_ digest: [UInt8], algorithm: DigestAlgorithm) throws(CryptoError) -> [UInt8] {
        guard digest.count == algorithm.byteCount else {
            throw CryptoError(.invalidLength, "digest of \(digest.count) bytes")
        }
        return encodedDigestInfo(digest, algorithm)
    }

    /// The length of a `DigestInfo` in bytes.
    public static func digestInfoLength(_ algorithm: DigestAlgorithm) -> Int {
        encodedDigestInfo([UInt8](repeating: 0, count: algorithm.byteCount), algorithm).count
    }

    private static func encodedDigestInfo(_ digest: [UInt8], _ algorithm: DigestAlgorithm) -> [UInt8] {
        let identifier = DER.sequence([DER.objectIdentifier(algorithm.identifier), [0x05, 0x00]])
        return DER.sequence([identifier, DER.octetString(digest)])
    }

    /// Block type 1 of PKCS #1 v1.5 over the caller's bytes: `00 01 FF … FF 00` and the bytes.
    ///
    /// - Throws: `invalidLength` when fewer than eight bytes of padding would be left.
    public static func pkcs1Raw(_ data: [UInt8], keyBytes: Int) throws(CryptoError) -> [UInt8] {
        guard pkcs1Overhead...PublicKey.maximumModulusLength ~= keyBytes, data.count <= keyBytes - pkcs1Overhead else {
            throw CryptoError(.invalidLength, "PKCS#1 block")
        }
        return [0x00, 0x01] + [UInt8](repeating: 0xFF, count: keyBytes - data.count - 3) + [0x00] + data
    }

    /// EMSA-PSS, RFC 8017 §9.1.1, in a block as long as the modulus.
    ///
    /// - Parameter salt: the salt; nil for random bytes as long as the digest.
    /// - Throws: `invalidLength` for a digest of another length than the algorithm's, or a key too short for both.
    public static func pss(
        digest: [UInt8], algorithm: DigestAlgorithm, mgf1: DigestAlgorithm, salt: [UInt8]? = nil, keyBits: Int
    ) throws(CryptoError) -> [UInt8] {
        guard digest.count == algorithm.byteCount else { throw CryptoError(.invalidLength, "digest") }
        let salt = if let salt { salt } else { try RandomBytes.make(count: digest.count) }
        guard 1...PublicKey.maximumModulusLength * 8 ~= keyBits else { throw CryptoError(.invalidLength, "RSA key") }
        let encodedBits = keyBits - 1
        let encodedLength = (encodedBits + 7) / 8
        guard encodedLength >= digest.count + salt.count + 2 else { throw CryptoError(.invalidLength, "PSS block") }
        let hash = try Digest.hash([UInt8](repeating: 0, count: 8) + digest + salt, using: algorithm)
        var block = [UInt8](repeating: 0, count: encodedLength - digest.count - salt.count - 2) + [0x01] + salt
        let mask = try MGF1.mask(seed: hash.span, count: block.count, using: mgf1)
        let maskBytes = mask.bytes
        for index in block.indices { block[index] ^= maskBytes[index] }
        block[0] &= 0xFF >> UInt8(8 * encodedLength - encodedBits)
        // A modulus of 8n + 1 bits is a byte longer than the encoding.
        return [UInt8](repeating: 0, count: (keyBits + 7) / 8 - encodedLength) + block + hash + [0xBC]
    }

    /// The bytes that PKCS #1 v1.5 adds to a message at least: two of header, eight of padding, one separator.
    public static let pkcs1Overhead = 11
}

extension DigestAlgorithm {
    /// The hash function's identifier, RFC 8017 §B.1.
    var identifier: OID {
        switch self {
        case .sha1: "1.3.14.3.2.26"
        case .sha224: "2.16.840.1.101.3.4.2.4"
        case .sha256: "2.16.840.1.101.3.4.2.1"
        case .sha384: "2.16.840.1.101.3.4.2.2"
        case .sha512: "2.16.840.1.101.3.4.2.3"
        }
    }
}
