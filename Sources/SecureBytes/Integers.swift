// Whole numbers of a fixed width as bytes, and back.

extension FixedWidthInteger {
    /// The bytes, most significant first.
    @inlinable package var bigEndianBytes: [UInt8] {
        (0..<Self.bitWidth / 8).reversed().map { UInt8(truncatingIfNeeded: self >> ($0 * 8)) }
    }

    /// The bytes, least significant first.
    @inlinable package var littleEndianBytes: [UInt8] { bigEndianBytes.reversed() }

    /// The bytes as this machine has them in memory.
    @inlinable package var nativeBytes: [UInt8] { bigEndian.bigEndianBytes }

    /// The number in bytes, most significant first. Of too many bytes, the last ones count.
    @inlinable package init(bigEndianBytes bytes: some Sequence<UInt8>) {
        self = bytes.reduce(0) { $0 << 8 | Self(truncatingIfNeeded: $1) }
    }

    /// The number in bytes, least significant first. Of too many bytes, the first ones count.
    @inlinable package init(littleEndianBytes bytes: some Collection<UInt8>) {
        self.init(bigEndianBytes: bytes.reversed())
    }

    /// The number in bytes of this machine's order; nil for any other count than the number's own.
    @inlinable package init?(nativeBytes bytes: some Collection<UInt8>) {
        guard bytes.count == Self.bitWidth / 8 else { return nil }
        self.init(bigEndian: Self(bigEndianBytes: bytes))
    }
}

extension Array where Element == UInt8 {
    /// A copy of bytes that are not secret, or for an interface that only takes arrays.
    package init(copying bytes: Span<UInt8>) {
        self = unsafe bytes.withUnsafeBufferPointer { unsafe Array($0) }
    }
}

extension OutputSpan where Element == UInt8 {
    /// Appends bytes, for which there must be room.
    package mutating func append(_ bytes: Span<UInt8>) {
        for index in bytes.indices { append(bytes[index]) }
    }

    /// Appends bytes that are not secret.
    package mutating func append(_ bytes: [UInt8]) {
        for byte in bytes { append(byte) }
    }

    /// Appends a number, most significant byte first.
    @inlinable package mutating func append<Number: FixedWidthInteger>(bigEndian number: Number) {
        // Byte by byte, without an array, since the number may be part of a secret.
        for place in (0..<Number.bitWidth / 8).reversed() { append(UInt8(truncatingIfNeeded: number >> (place * 8))) }
    }

    /// Appends a number, least significant byte first.
    package mutating func append(littleEndian number: some FixedWidthInteger) {
        append(bigEndian: number.byteSwapped)
    }

    /// Appends bytes after their count, in four bytes: a `string` of RFC 4251 §5.
    package mutating func append(lengthPrefixed bytes: Span<UInt8>) {
        append(bigEndian: UInt32(truncatingIfNeeded: bytes.count))
        append(bytes)
    }
}

extension Span where Element == UInt8 {
    /// Takes a number off the front, most significant byte first; nil, with nothing taken, for too few bytes.
    @_lifetime(self: copy self)
    package mutating func readBigEndian<Number: FixedWidthInteger>(_: Number.Type = Number.self) -> Number? {
        let width = Number.bitWidth / 8
        guard count >= width else { return nil }
        let number = (0..<width).reduce(0 as Number) { $0 << 8 | Number(truncatingIfNeeded: self[$1]) }
        self = extracting(width...)
        return number
    }

    /// Takes a count of four bytes, and as many bytes after it, off the front: a `string` of RFC 4251 §5. Nil, with nothing
    /// taken, for too few bytes.
    @_lifetime(self: copy self)
    @_lifetime(copy self)
    package mutating func readLengthPrefixed() -> Span<UInt8>? {
        var rest = self
        guard let length = rest.readBigEndian(UInt32.self), length <= rest.count else { return nil }
        let content = rest.extracting(first: Int(length))
        self = rest.extracting(Int(length)...)
        return content
    }
}
