internal import SecureBytes
internal import Wire

extension UInt32: WireValue {}
extension UInt64: WireValue {}
extension UInt: WireValue {}
extension Int32: WireValue {}
extension Int64: WireValue {}

/// A number is written in 8 bytes, a negative one in two's complement.
extension WireValue where Self: FixedWidthInteger {
    func write(to message: inout MessageWriter) { message.append(UInt64(truncatingIfNeeded: self)) }

    init(from message: inout MessageReader) throws(WireError) {
        let number = try message.number()
        self.init(truncatingIfNeeded: number)
        guard UInt64(truncatingIfNeeded: self) == number else { throw .malformed }
    }
}

/// A byte alone is a number; several are a byte string.
extension UInt8: WireValue {
    static func write(_ values: [UInt8], to message: inout MessageWriter) { message.append(values) }
    static func values(from message: inout MessageReader) throws(WireError) -> [UInt8] { try message.bytes() }
}

/// An `Int` is a count, which is never negative.
extension Int: WireValue {
    init(from message: inout MessageReader) throws(WireError) {
        guard let count = Int(exactly: try message.number()) else { throw .malformed }
        self = count
    }
}

/// A range of counts is written as its bounds.
extension ClosedRange<Int>: WireValue {
    func write(to message: inout MessageWriter) { message.write(lowerBound, upperBound) }

    init(from message: inout MessageReader) throws(WireError) {
        let (lower, upper) = (try message.value(Int.self), try message.value(Int.self))
        guard lower <= upper else { throw .malformed }
        self = lower...upper
    }
}

extension Bool: WireValue {
    func write(to message: inout MessageWriter) { message.append(self) }
    init(from message: inout MessageReader) throws(WireError) { self = try message.flag() }
}

extension String: WireValue {
    func write(to message: inout MessageWriter) { message.append(self) }
    init(from message: inout MessageReader) throws(WireError) { self = try message.text() }
}

extension SharedSecret: WireValue {
    func write(to message: inout MessageWriter) { message.append(self) }
    convenience init(from message: inout MessageReader) throws(WireError) { self.init(try message.secret()) }
}

/// A duration is written in milliseconds.
extension Duration: WireValue {
    /// The longest duration that is accepted, in milliseconds: a year.
    private static let longest: UInt64 = 366 * 24 * 3600 * 1000

    /// A division of durations would be one of floating-point numbers, which loses milliseconds and traps beyond `Int64`.
    func write(to message: inout MessageWriter) {
        let (seconds, attoseconds) = components
        let milliseconds = UInt64(clamping: attoseconds / 1_000_000_000_000_000)
        message.write(min(min(UInt64(clamping: seconds), Self.longest) * 1000 + milliseconds, Self.longest))
    }

    init(from message: inout MessageReader) throws(WireError) {
        let milliseconds = try message.number()
        guard milliseconds <= Self.longest else { throw .malformed }
        self = .milliseconds(milliseconds)
    }
}

extension Optional: WireValue where Wrapped: WireValue {
    func write(to message: inout MessageWriter) {
        switch self {
        case nil: message.append(false)
        case let value?:
            message.append(true)
            value.write(to: &message)
        }
    }

    init(from message: inout MessageReader) throws(WireError) {
        self = try message.flag() ? try Wrapped(from: &message) : nil
    }
}

extension Array: WireValue where Element: WireValue {
    func write(to message: inout MessageWriter) { Element.write(self, to: &message) }
    init(from message: inout MessageReader) throws(WireError) { self = try Element.values(from: &message) }
}

/// A dictionary is written in the order of its keys, each once.
extension Dictionary: WireValue where Key: WireValue & Comparable, Value: WireValue {
    func write(to message: inout MessageWriter) {
        message.append(count: count)
        for key in keys.sorted() {
            key.write(to: &message)
            self[key]?.write(to: &message)
        }
    }

    init(from message: inout MessageReader) throws(WireError) {
        self.init()
        var last: Key?
        for _ in 0..<(try message.count()) {
            let key = try message.value(Key.self)
            guard last.map({ $0 < key }) ?? true else { throw .malformed }
            self[key] = try message.value(Value.self)
            last = key
        }
    }
}

/// An enumeration or a name is written as its number or its text.
extension WireValue where Self: RawRepresentable, RawValue: WireValue {
    func write(to message: inout MessageWriter) { rawValue.write(to: &message) }

    init(from message: inout MessageReader) throws(WireError) {
        guard let value = Self(rawValue: try RawValue(from: &message)) else { throw .malformed }
        self = value
    }
}

/// A set of options, of which only the known ones are accepted.
protocol WireOptions: WireValue, OptionSet where RawValue: WireValue {
    /// The known options.
    static var all: Self { get }
}

extension WireOptions {
    init(from message: inout MessageReader) throws(WireError) {
        self.init(rawValue: try message.value())
        guard isSubset(of: .all) else { throw .malformed }
    }
}
