package import SecureBytes
package import Wire

/// A value that is a part of a message: it is written as fields, and its secrets in the lane for secrets.
///
/// A value has one form only: what ``init(from:)`` accepts, ``write(to:)`` writes again byte for byte.
protocol WireValue: SendableMetatype {
    func write(to message: inout MessageWriter)
    init(from message: inout MessageReader) throws(WireError)

    /// Writes an array: the count of its elements and each of them, unless the type has a shorter form.
    static func write(_ values: [Self], to message: inout MessageWriter)
    /// Reads what ``write(_:to:)`` writes.
    static func values(from message: inout MessageReader) throws(WireError) -> [Self]
}

extension WireValue {
    static func write(_ values: [Self], to message: inout MessageWriter) {
        message.append(count: values.count)
        for value in values { value.write(to: &message) }
    }

    static func values(from message: inout MessageReader) throws(WireError) -> [Self] {
        var values: [Self] = []
        for _ in 0..<(try message.count()) { values.append(try Self(from: &message)) }
        return values
    }

    /// The value of a whole message.
    ///
    /// - Throws: `WireError` for anything that ``wholeMessage`` does not write.
    static func read(_ fields: [UInt8], lane: consuming Secret) throws(WireError) -> Self {
        var message = MessageReader(fields, lane: lane)
        let value = try Self(from: &message)
        try message.finish()
        return value
    }

    /// The message of the value.
    var wholeMessage: MessageWriter {
        var message = MessageWriter()
        write(to: &message)
        return message
    }
}

/// Writes a message: fields, and the secrets that go with them.
package struct MessageWriter {
    private var fields = FieldWriter()
    private var secrets: [SharedSecret] = []

    package init() {}

    /// The fields of the message.
    package var bytes: [UInt8] { fields.bytes }

    /// The secrets of the message, one after the other.
    package var lane: Secret {
        Secret(capacity: secrets.reduce(0) { $0 + $1.secret.count }) { lane in
            for shared in secrets {
                let secret = shared.secret.clone()
                lane.append(secret.bytes)
            }
        }
    }

    mutating func append(_ number: UInt64) { fields.append(number) }
    mutating func append(_ flag: Bool) { fields.append(flag) }
    mutating func append(_ bytes: [UInt8]) { fields.append(bytes) }
    mutating func append(count: Int) { fields.append(count: count) }
    mutating func append(_ text: String) { fields.append(text.utf8) }

    mutating func append(_ secret: SharedSecret) {
        fields.append(UInt64(secret.secret.count))
        secrets.append(secret)
    }

    mutating func write<each Value: WireValue>(_ values: repeat each Value) {
        repeat (each values).write(to: &self)
    }

    /// Writes a case of an enumeration: its number, and its associated values.
    mutating func write<each Value: WireValue>(case number: UInt8, _ values: repeat each Value) {
        append(UInt64(number))
        repeat (each values).write(to: &self)
    }
}

/// Reads a message that another process wrote.
package struct MessageReader: ~Copyable {
    private var fields: FieldReader
    private let lane: Secret
    private var position = 0

    package init(_ bytes: [UInt8], lane: consuming Secret) {
        fields = FieldReader(bytes)
        self.lane = lane
    }

    /// - Throws: `WireError.trailingBytes` where fields or secrets are left.
    package func finish() throws(WireError) {
        try fields.finish()
        guard position == lane.count else { throw .trailingBytes }
    }

    mutating func number() throws(WireError) -> UInt64 { try fields.number() }
    mutating func flag() throws(WireError) -> Bool { try fields.flag() }
    mutating func bytes() throws(WireError) -> [UInt8] { try fields.byteString() }
    mutating func text() throws(WireError) -> String {
        let bytes = try fields.byteSlice()
        guard let text = try? UTF8Span(validating: bytes.span) else { throw .malformed }
        return String(copying: text)
    }

    mutating func count() throws(WireError) -> Int { try fields.count(ofElementsWith: 1) }

    mutating func secret() throws(WireError) -> Secret {
        guard let count = Int(exactly: try fields.number()), count <= lane.count - position else { throw .truncated }
        defer { position += count }
        return Secret(copying: lane.bytes.extracting(position..<position + count))
    }

    mutating func value<Value: WireValue>(_ kind: Value.Type = Value.self) throws(WireError) -> Value {
        try Value(from: &self)
    }

    /// Reads the arguments of `make`, an initialiser or a case of an enumeration, and calls it.
    mutating func read<each Value: WireValue, Result>(
        _ make: (repeat each Value) -> Result
    ) throws(WireError) -> Result {
        make(repeat try (each Value)(from: &self))
    }
}
