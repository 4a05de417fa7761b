internal import SecureBytes

/// The error of a message that lacks a field of its kind, or has another value in it.
struct MalformedMessage: Error {}

/// A value that goes over the socket between host and worker, as fields one after the other.
///
/// Numbers have eight bytes, most significant first; a string of bytes has its length before it.
protocol MessageField {
    func write(to fields: inout FieldWriter)
    init(from fields: inout FieldReader) throws(MalformedMessage)
}

struct FieldWriter {
    private(set) var bytes: [UInt8] = []

    mutating func write(_ byte: UInt8) { bytes.append(byte) }

    mutating func write(_ number: UInt64) { bytes += number.bigEndianBytes }

    mutating func write(_ string: [UInt8]) {
        write(UInt64(string.count))
        bytes += string
    }

    mutating func write(_ text: String) { write(Array(text.utf8)) }

    mutating func write(_ values: [some MessageField]) {
        write(UInt64(values.count))
        for value in values { value.write(to: &self) }
    }
}

struct FieldReader {
    private var rest: ArraySlice<UInt8>

    init(_ bytes: [UInt8]) { rest = bytes[...] }

    mutating func byte() throws(MalformedMessage) -> UInt8 {
        guard let byte = rest.popFirst() else { throw MalformedMessage() }
        return byte
    }

    mutating func number() throws(MalformedMessage) -> UInt64 {
        guard rest.count >= 8 else { throw MalformedMessage() }
        defer { rest = rest.dropFirst(8) }
        return UInt64(bigEndianBytes: rest.prefix(8))
    }

    mutating func string() throws(MalformedMessage) -> [UInt8] {
        guard let count = Int(exactly: try number()), count <= rest.count else { throw MalformedMessage() }
        defer { rest = rest.dropFirst(count) }
        return Array(rest.prefix(count))
    }

    /// Replaces bytes that are not UTF-8, since the text is for people.
    mutating func text() throws(MalformedMessage) -> String {
        String(decoding: try string(), as: UTF8.self)
    }

    mutating func values<Value: MessageField>(_ kind: Value.Type = Value.self) throws(MalformedMessage) -> [Value] {
        var values: [Value] = []
        for _ in 0..<(try number()) { values.append(try Value(from: &self)) }
        return values
    }

    /// Throws unless all bytes have been read.
    func finish() throws(MalformedMessage) {
        guard rest.isEmpty else { throw MalformedMessage() }
    }
}
