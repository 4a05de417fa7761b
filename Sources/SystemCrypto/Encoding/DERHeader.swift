/// The tag of an element of DER and where its content lies, X.690 §8.1 and §10.1: definite, shortest lengths only.
struct DERHeader {
    let tag: UInt8
    /// Within the bytes the header was read from.
    let content: Range<Int>

    /// The header at the start of `bytes`, which hold all of the content and maybe more.
    init(_ bytes: Span<UInt8>) throws(CryptoError) {
        // Tags of more than one byte do not occur in X.509.
        guard bytes.count >= 2, bytes[0] & 0x1F != 0x1F else { throw CryptoError(.malformed, "DER tag") }
        tag = bytes[0]
        let octets = bytes[1] > 0x7F ? Int(bytes[1] & 0x7F) : 0
        var length = Int(bytes[1])
        if bytes[1] > 0x7F {
            guard 1...4 ~= octets, octets <= bytes.count - 2, bytes[2] != 0 else { throw DERHeader.malformedLength }
            length = (2..<2 + octets).reduce(0) { $0 << 8 | Int(bytes[$1]) }
            guard length > 0x7F else { throw DERHeader.malformedLength }
        }
        guard length <= bytes.count - 2 - octets else { throw DERHeader.malformedLength }
        content = 2 + octets..<2 + octets + length
    }

    private static let malformedLength = CryptoError(.malformed, "DER length")
}

extension Span where Element == UInt8 {
    /// Takes the next element off the front. For DER that is a secret, which no array may hold a copy of.
    @_lifetime(self: copy self)
    @_lifetime(copy self)
    mutating func readDER(_ tag: UInt8) throws(CryptoError) -> Span<UInt8> {
        let header = try DERHeader(self)
        guard header.tag == tag else { throw CryptoError(.malformed, "DER tag") }
        let content = extracting(header.content)
        self = extracting(header.content.upperBound...)
        return content
    }

    /// Takes a non-negative INTEGER off the front, most significant byte first.
    @_lifetime(self: copy self)
    @_lifetime(copy self)
    mutating func readDERInteger() throws(CryptoError) -> Span<UInt8> {
        let digits = try readDER(DER.Tag.integer)
        guard !digits.isEmpty, digits[0] <= 0x7F else { throw CryptoError(.malformed, "DER integer") }
        return digits
    }
}
