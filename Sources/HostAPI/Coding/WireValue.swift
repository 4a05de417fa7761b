package import SecureBytes
package import Wire

/// A value that is a part of a message: it is written as fields, and its secrets in the lane for secrets.
///
/// A value has one form only: what ``init(from:)`` accepts, ``write(to:)`` writes again byte for byte.
protocol WireValue {
    func write(to message: inout MessageWriter)
    init(from message: inout MessageReader) throws(WireError)
}

extension WireValue {
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

    mutating func write(_ byte: UInt8) { fields.append(UInt64(byte)) }
    mutating func write(_ number: UInt64) { fields.append(number) }
    mutating func write(_ number: Int) { fields.append(UInt64(bitPattern: Int64(number))) }
    mutating func write(_ flag: Bool) { fields.append(flag) }
    mutating func write(_ bytes: [UInt8]) { fields.append(bytes) }
    mutating func write(_ text: String) { fields.append(Array(text.utf8)) }
    mutating func write(count: Int) { fields.append(count: count) }

    mutating func write(_ secret: SharedSecret) {
        fields.append(UInt64(secret.secret.count))
        secrets.append(secret)
    }

    mutating func write(_ value: some WireValue) { value.write(to: &self) }

    mutating func write<Value>(_ values: [Value], _ write: (Value, inout MessageWriter) -> Void) {
        fields.append(count: values.count)
        for value in values { write(value, &self) }
    }

    mutating func write<Value>(_ value: Value?, _ write: (Value, inout MessageWriter) -> Void) {
        fields.append(value != nil)
        if let value { write(value, &self) }
    }

    mutating func write(_ value: (some WireValue)?) {
        write(value) { $1.write($0) }
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

    mutating func byte() throws(WireError) -> UInt8 {
        guard let byte = UInt8(exactly: try fields.number()) else { throw .malformed }
        return byte
    }

    mutating func number() throws(WireError) -> UInt64 { try fields.number() }

    mutating func number32() throws(WireError) -> UInt32 {
        guard let number = UInt32(exactly: try fields.number()) else { throw .malformed }
        return number
    }

    mutating func optionalNumber32() throws(WireError) -> UInt32? {
        try optional { (message) throws(WireError) in try message.number32() }
    }

    mutating func integer() throws(WireError) -> Int { Int(Int64(bitPattern: try fields.number())) }
    /// A count, which is never negative.
    mutating func count() throws(WireError) -> Int {
        let count = try integer()
        guard count >= 0 else { throw .malformed }
        return count
    }

    mutating func flag() throws(WireError) -> Bool { try fields.flag() }
    mutating func bytes() throws(WireError) -> [UInt8] { try fields.byteString() }

    mutating func text() throws(WireError) -> String {
        guard let text = String(validating: try fields.byteString(), as: UTF8.self) else { throw .malformed }
        return text
    }

    mutating func optionalText() throws(WireError) -> String? {
        try optional { (message) throws(WireError) in try message.text() }
    }

    mutating func texts() throws(WireError) -> [String] {
        try values { (message) throws(WireError) in try message.text() }
    }

    mutating func secret() throws(WireError) -> SharedSecret {
        guard let count = Int(exactly: try fields.number()), count <= lane.count - position else { throw .truncated }
        defer { position += count }
        return SharedSecret(Secret(copying: lane.bytes.extracting(position..<position + count)))
    }

    mutating func optionalSecret() throws(WireError) -> SharedSecret? {
        try optional { (message) throws(WireError) in try message.secret() }
    }

    mutating func value<Value: WireValue>(_ kind: Value.Type = Value.self) throws(WireError) -> Value {
        try Value(from: &self)
    }

    mutating func values<Value>(
        _ read: (inout MessageReader) throws(WireError) -> Value
    ) throws(WireError) -> [Value] {
        var values: [Value] = []
        for _ in 0..<(try fields.count(ofElementsWith: 1)) { values.append(try read(&self)) }
        return values
    }

    mutating func optional<Value>(
        _ read: (inout MessageReader) throws(WireError) -> Value
    ) throws(WireError) -> Value? {
        guard try fields.flag() else { return nil }
        return try read(&self)
    }

    mutating func optional<Value: WireValue>(_ kind: Value.Type = Value.self) throws(WireError) -> Value? {
        try optional { (message) throws(WireError) in try message.value() }
    }
}

extension Array: WireValue where Element: WireValue {
    func write(to message: inout MessageWriter) { message.write(self) { $1.write($0) } }

    init(from message: inout MessageReader) throws(WireError) {
        self = try message.values { (message) throws(WireError) in try message.value() }
    }
}

/// An enumeration is written as its number.
extension WireValue where Self: RawRepresentable, RawValue == UInt8 {
    func write(to message: inout MessageWriter) { message.write(rawValue) }

    init(from message: inout MessageReader) throws(WireError) {
        guard let value = Self(rawValue: try message.byte()) else { throw .malformed }
        self = value
    }
}

/// An enumeration or a name is written as its text.
extension WireValue where Self: RawRepresentable, RawValue == String {
    func write(to message: inout MessageWriter) { message.write(rawValue) }

    init(from message: inout MessageReader) throws(WireError) {
        guard let value = Self(rawValue: try message.text()) else { throw .malformed }
        self = value
    }
}
