internal import SecureBytes

/// A message that does not have the form of its kind.
package struct MalformedMessage: Error {
    package init() {}
}

// The types of RFC 4251 §5. Every length is one that a remote machine may have chosen.
extension Span where Element == UInt8 {
    mutating func readByte() throws(MalformedMessage) -> UInt8 {
        guard let byte = readBigEndian(UInt8.self) else { throw MalformedMessage() }
        return byte
    }

    /// A `boolean`. Other values than 0 and 1, which RFC 4251 has as true, are refused: no program writes them.
    mutating func readFlag() throws(MalformedMessage) -> Bool {
        let byte = try readByte()
        guard byte <= 1 else { throw MalformedMessage() }
        return byte == 1
    }

    mutating func readNumber() throws(MalformedMessage) -> UInt32 {
        guard let number = readBigEndian(UInt32.self) else { throw MalformedMessage() }
        return number
    }

    mutating func readLongNumber() throws(MalformedMessage) -> UInt64 {
        guard let number = readBigEndian(UInt64.self) else { throw MalformedMessage() }
        return number
    }

    /// The bytes of a `string`, in place.
    @_lifetime(self: copy self)
    @_lifetime(copy self)
    mutating func readString() throws(MalformedMessage) -> Span<UInt8> {
        guard let content = readLengthPrefixed() else { throw MalformedMessage() }
        return content
    }

    mutating func readBytes() throws(MalformedMessage) -> [UInt8] { Array(copying: try readString()) }

    mutating func readSecret() throws(MalformedMessage) -> SharedSecret {
        SharedSecret(Secret(copying: try readString()))
    }

    func finish() throws(MalformedMessage) {
        guard isEmpty else { throw MalformedMessage() }
    }
}

extension [UInt8] {
    mutating func append(number: UInt32) { append(contentsOf: number.bigEndianBytes) }

    /// Appends a `string`.
    mutating func append(string: some Collection<UInt8>) {
        append(number: UInt32(clamping: string.count))
        append(contentsOf: string)
    }

    mutating func append(string text: String) { append(string: text.utf8) }

    /// Appends a non-negative `mpint`: no needless zeros, and one zero before a first bit that would be a sign.
    mutating func append(integer: some Collection<UInt8>) {
        let digits = integer.drop { $0 == 0 }
        append(string: (digits.first ?? 0) > 0x7F ? [0] + digits : Array<UInt8>(digits))
    }
}
