internal import SecureBytes

/// The two forms of an ECDSA signature, and the truncation of its digest.
public enum ECDSASignature {
    /// The DER of an `ECDSA-Sig-Value` (RFC 3279 §2.2.3) from r‖s, each half of the bytes.
    ///
    /// - Throws: `invalidLength` for no bytes or an odd number of them.
    public static func der(fromFixedWidth signature: [UInt8]) throws(CryptoError) -> [UInt8] {
        guard !signature.isEmpty, signature.count.isMultiple(of: 2) else {
            throw CryptoError(.invalidLength, "ECDSA signature")
        }
        let half = signature.count / 2
        return DER.sequence([DER.integer(signature.prefix(half)), DER.integer(signature.suffix(half))])
    }

    /// r‖s, each `coordinateLength` bytes, from the DER of an `ECDSA-Sig-Value`.
    ///
    /// - Throws: `malformed` for anything else, also for numbers that are negative or too long for the curve.
    public static func fixedWidth(
        fromDER signature: [UInt8], coordinateLength: Int
    ) throws(CryptoError) -> [UInt8] {
        guard coordinateLength <= PublicKey.maximumModulusLength else {
            throw CryptoError(.invalidLength, "ECDSA signature")
        }
        var outer = TLVReader(signature, .der)
        var numbers = try outer.read(DER.Tag.sequence).reader
        try outer.finish()
        let r = try magnitude(numbers.read(DER.Tag.integer), length: coordinateLength)
        let s = try magnitude(numbers.read(DER.Tag.integer), length: coordinateLength)
        try numbers.finish()
        return r + s
    }

    /// The part of a digest that a curve signs: its leftmost bits, as many as the order has (FIPS 186-5 §6.4.1).
    public static func truncate(_ digest: [UInt8], orderBits: Int) -> [UInt8] {
        guard orderBits > 0, digest.count > orderBits / 8 else { return digest }
        let length = (orderBits + 7) / 8
        let kept = digest.prefix(length)
        let shift = UInt16(length * 8 - orderBits)
        return zip([0] + kept.dropLast(), kept).map { high, low in
            UInt8(truncatingIfNeeded: (UInt16(high) << 8 | UInt16(low)) >> shift)
        }
    }

    private static func magnitude(_ integer: TLV, length: Int) throws(CryptoError) -> [UInt8] {
        let bytes = integer.content.drop { $0 == 0 }
        // X.690 §8.3.2: one zero before a byte that would otherwise make the number negative, or for the number zero.
        let isSigned = bytes.first.map { $0 > 0x7F } ?? true
        guard bytes.count <= length, integer.content.count - bytes.count == (isSigned ? 1 : 0) else {
            throw CryptoError(.malformed, "ECDSA signature")
        }
        return [UInt8](repeating: 0, count: length - bytes.count) + bytes
    }
}
