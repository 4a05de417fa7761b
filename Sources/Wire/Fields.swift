/// The error of a message that does not have the form of its kind.
package enum WireError: Error {
    /// The message ends before its last field.
    case truncated
    /// Bytes follow its last field.
    case trailingBytes
    /// A field has a value that is never written.
    case malformed
}

/// Writes the fields of a message: numbers of 8 bytes, least significant byte first, and bytes behind their count.
package struct FieldWriter {
    package private(set) var bytes: [UInt8] = []

    package init() {}

    package mutating func append(_ flag: Bool) { bytes.append(flag ? 1 : 0) }

    package mutating func append(_ number: UInt64) { append(number, byteCount: 8) }

    package mutating func append(_ numbers: [UInt64]) {
        append(count: numbers.count)
        for number in numbers { append(number) }
    }

    package mutating func append(_ value: [UInt8]) {
        append(count: value.count)
        bytes += value
    }

    package mutating func append(ifAny value: [UInt8]?) {
        append(value != nil)
        if let value { append(value) }
    }

    package mutating func append(_ text: String.UTF8View) {
        append(count: text.count)
        bytes += text
    }

    /// Appends the number of elements that follow. A number beyond 4 bytes is clamped: its message is too long, and is refused as
    /// a whole.
    package mutating func append(count: Int) { append(UInt64(UInt32(clamping: count)), byteCount: 4) }

    private mutating func append(_ number: UInt64, byteCount: Int) {
        for index in 0..<byteCount { bytes.append(UInt8(truncatingIfNeeded: number >> UInt64(8 * index))) }
    }
}

/// Reads the fields of a message that another process wrote.
package struct FieldReader {
    private let bytes: [UInt8]
    private var position = 0

    package init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    private var remaining: Int { bytes.count - position }

    package var isAtEnd: Bool { remaining == 0 }

    package mutating func flag() throws(WireError) -> Bool {
        guard remaining >= 1 else { throw .truncated }
        defer { position += 1 }
        switch bytes[position] {
        case 0: return false
        case 1: return true
        default: throw .malformed
        }
    }

    package mutating func number() throws(WireError) -> UInt64 { try number(byteCount: 8) }

    package mutating func numbers() throws(WireError) -> [UInt64] {
        let count = try count(ofElementsWith: 8)
        var numbers: [UInt64] = []
        numbers.reserveCapacity(count)
        for _ in 0..<count { numbers.append(try number()) }
        return numbers
    }

    package mutating func byteString() throws(WireError) -> [UInt8] { [UInt8](try byteSlice()) }

    package mutating func optionalByteString() throws(WireError) -> [UInt8]? { try flag() ? try byteString() : nil }

    /// A byte string in place, without a copy of it.
    package mutating func byteSlice() throws(WireError) -> ArraySlice<UInt8> {
        let count = try count(ofElementsWith: 1)
        defer { position += count }
        return bytes[position..<position + count]
    }

    /// The number of elements that follow.
    ///
    /// - Parameter size: the least bytes of an element, so that a count is refused that exceeds the rest of the message.
    package mutating func count(ofElementsWith size: Int) throws(WireError) -> Int {
        let count = Int(try number(byteCount: 4))
        guard count <= remaining / size else { throw .truncated }
        return count
    }

    /// - Throws: ``WireError/trailingBytes``.
    package func finish() throws(WireError) {
        guard remaining == 0 else { throw .trailingBytes }
    }

    private mutating func number(byteCount: Int) throws(WireError) -> UInt64 {
        guard remaining >= byteCount else { throw .truncated }
        var number: UInt64 = 0
        for index in 0..<byteCount { number |= UInt64(bytes[position + index]) << UInt64(8 * index) }
        position += byteCount
        return number
    }
}
