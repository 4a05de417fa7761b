internal import SecureBytes

/// Sixteen random bytes that name an item or a keychain for good.
public struct UniqueID: Sendable, Hashable {
    private let high: UInt64
    private let low: UInt64

    /// The number of bytes.
    public static let byteCount = 16

    /// A new id, from the system's random generator.
    public init() {
        var generator = SystemRandomNumberGenerator()
        (high, low) = (generator.next(), generator.next())
    }

    /// The id of exactly ``byteCount`` bytes; nil for any other number.
    public init?(bytes: some Collection<UInt8>) { self.init(bytes: Array(bytes)) }

    /// The id of exactly ``byteCount`` bytes. A search makes one for each row, and the generic form takes ten times as long.
    public init?(bytes: [UInt8]) {
        guard bytes.count == Self.byteCount else { return nil }
        var words: (high: UInt64, low: UInt64) = (0, 0)
        for index in 0..<8 {
            words.high = words.high << 8 | UInt64(bytes[index])
            words.low = words.low << 8 | UInt64(bytes[8 + index])
        }
        (high, low) = words
    }

    /// The bytes, most significant first.
    public var bytes: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(Self.byteCount)
        for word in [high, low] {
            for shift in stride(from: 56, through: 0, by: -8) { bytes.append(UInt8(truncatingIfNeeded: word >> shift)) }
        }
        return bytes
    }
}

extension UniqueID: CustomStringConvertible {
    /// Thirty-two hexadecimal digits.
    public var description: String { Hex.encode(bytes) }
}
