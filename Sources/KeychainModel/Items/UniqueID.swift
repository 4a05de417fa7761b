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
    public init?(bytes: some Collection<UInt8>) {
        guard bytes.count == Self.byteCount else { return nil }
        high = bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
        low = bytes.suffix(8).reduce(0) { $0 << 8 | UInt64($1) }
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
