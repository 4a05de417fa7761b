internal import SecureBytes

/// A card's answer to reset. ISO/IEC 7816-3 §8.2.
public struct ATR: Hashable, Sendable, CustomStringConvertible {
    /// Bytes of the longest answer to reset.
    public static let maximumLength = 33

    public let bytes: [UInt8]

    public init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// The historical bytes; none where the interface bytes do not parse.
    public var historicalBytes: [UInt8] {
        guard bytes.count >= 2 else { return [] }
        var position = 2
        var indicator = bytes[1] >> 4
        while true {
            position += (indicator & 0x07).nonzeroBitCount
            guard indicator & 0x08 != 0 else { break }
            guard position < bytes.count else { return [] }
            indicator = bytes[position] >> 4
            position += 1
        }
        let end = position + Int(bytes[1] & 0x0F)
        return end <= bytes.count ? Array(bytes[position..<end]) : []
    }

    /// Whether the card's historical bytes announce extended Lc and Le fields.
    ///
    /// Card capabilities are the COMPACT-TLV object `73`, third byte, bit 7 (ISO/IEC 7816-4 §12.1.1.9).
    public var announcesExtendedLength: Bool {
        let historical = historicalBytes
        guard let category = historical.first, category == 0x80 || category == 0x00 else { return false }
        // Under category 00 the last three bytes are a status indicator and no data object.
        var objects = historical.dropFirst().dropLast(category == 0x00 ? 3 : 0)
        while let header = objects.popFirst() {
            let (tag, length) = (header >> 4, Int(header & 0x0F))
            let value = objects.prefix(length)
            if tag == 7, length == 3, value.count == 3, let third = value.last { return third & 0x40 != 0 }
            objects = objects.dropFirst(length)
        }
        return false
    }

    public var description: String { Hex.encode(bytes) }
}
