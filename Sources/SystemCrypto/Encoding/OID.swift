/// An object identifier, stored as the content bytes of its DER so that unknown ones are preserved.
public struct OID: Sendable, Hashable, CustomStringConvertible, ExpressibleByStringLiteral {
    /// The content octets, without tag and length.
    public let content: [UInt8]

    /// An object identifier as it was read, without a check.
    public init(content: [UInt8]) {
        self.content = content
    }

    /// An object identifier from its dotted form, such as `1.3.6.1.5.5.7.3.2`.
    public init?(_ text: String) {
        var arcs: [UInt128] = []
        for part in text.split(separator: ".", omittingEmptySubsequences: false) {
            guard let arc = UInt128(part), !part.hasPrefix("+") else { return nil }
            arcs.append(arc)
        }
        guard arcs.count >= 2, arcs[0] <= 2, arcs[0] == 2 || arcs[1] < 40, arcs[1] < .max - 80 else { return nil }
        content = ([arcs[0] * 40 + arcs[1]] + arcs.dropFirst(2)).flatMap(OID.encode)
    }

    /// An object identifier written in source; the text must be one.
    public init(stringLiteral text: StaticString) {
        self = OID(text.description) ?? OID(content: [])
    }

    /// The arcs in decimal, with dots; `#` and the hexadecimal form of bytes that are not arcs below 2^128.
    public var description: String {
        OID.arcs(of: content)?.map(String.init).joined(separator: ".") ?? DistinguishedName.hexadecimal(content)
    }

    private static func encode(_ arc: UInt128) -> [UInt8] {
        var bytes = [UInt8(truncatingIfNeeded: arc & 0x7F)]
        var rest = arc >> 7
        while rest > 0 {
            bytes.append(0x80 | UInt8(truncatingIfNeeded: rest & 0x7F))
            rest >>= 7
        }
        return bytes.reversed()
    }

    private static func arcs(of content: [UInt8]) -> [UInt128]? {
        var arcs: [UInt128] = []
        var arc: UInt128 = 0
        var isInside = false
        for byte in content {
            // X.690 §8.19.2: an arc has no leading zeros.
            guard isInside || byte != 0x80, arc < 1 << 121 else { return nil }
            arc = arc << 7 | UInt128(byte & 0x7F)
            isInside = byte & 0x80 != 0
            guard !isInside else { continue }
            arcs.append(arc)
            arc = 0
        }
        guard let first = arcs.first, !isInside else { return nil }
        let root = min(first / 40, 2)
        return [root, first - root * 40] + arcs.dropFirst()
    }
}
