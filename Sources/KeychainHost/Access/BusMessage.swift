internal import SecureBytes

/// A method call and its answer as D-Bus writes them, as far as asking for one property needs them. D-Bus
/// Specification, "Message Protocol".
enum BusMessage {
    /// The largest message that is read, in bytes.
    static let maximumLength = 64 << 10

    /// A call whose arguments are all strings.
    static func call(
        _ member: String, of interface: String, at path: String, to destination: String, arguments: [String] = [],
        serial: UInt32
    ) -> [UInt8] {
        var body: [UInt8] = []
        for argument in arguments { append(argument, to: &body) }
        var fields: [UInt8] = []
        for (code, type, value) in [(1, "o", path), (2, "s", interface), (3, "s", member), (6, "s", destination)] {
            align(&fields, to: 8)
            fields += [UInt8(code), 1] + type.utf8 + [0]
            append(value, to: &fields)
        }
        if !arguments.isEmpty {
            align(&fields, to: 8)
            fields += [8, 1] + "g".utf8 + [0, UInt8(clamping: arguments.count)] + arguments.map { _ in 0x73 } + [0]
        }
        var message: [UInt8] =
            [0x6C, 1, 0, 1] + UInt32(clamping: body.count).littleEndianBytes + serial.littleEndianBytes
        message += UInt32(clamping: fields.count).littleEndianBytes + fields
        align(&message, to: 8)
        return message + body
    }

    /// A message's reply serial and flag; nil for a message of another kind.
    struct Answer {
        let serial: UInt32
        /// The flag; nil if the call failed, or the answer has another type.
        let flag: Bool?
    }

    static let headerLength = 16

    /// The length of the whole message whose header this is; nil for one that is too long, or of another byte order or version.
    static func length(header: [UInt8]) -> Int? {
        guard header.count >= headerLength, header[0] == 0x6C, header[3] == 1, let body = number(header, at: 4),
            let fields = number(header, at: 12), body <= maximumLength, fields <= maximumLength
        else { return nil }
        let length = headerLength + (Int(fields) + 7) / 8 * 8 + Int(body)
        return length <= maximumLength ? length : nil
    }

    /// - Parameter message: as long as ``length(header:)`` said.
    static func answer(in message: [UInt8]) -> Answer? {
        guard let fields = number(message, at: 12).map(Int.init), message.count >= headerLength + fields,
            message[1] == 2 || message[1] == 3
        else { return nil }
        var offset = headerLength
        // Fields before the reply serial are skipped by their types; only the types that an answer has are known.
        while offset + 8 <= headerLength + fields {
            let (code, type) = (message[offset], message[offset + 2])
            if code == 5, type == UInt8(ascii: "u") {
                guard let serial = number(message, at: offset + 4) else { return nil }
                return Answer(serial: serial, flag: message[1] == 2 ? flag(message.suffix(8)) : nil)
            }
            switch type {
            case UInt8(ascii: "u"): offset += 8
            case UInt8(ascii: "g"): offset += 4 + Int(message[offset + 4]) + 2
            case UInt8(ascii: "s"), UInt8(ascii: "o"):
                guard let length = number(message, at: offset + 4) else { return nil }
                offset += 8 + Int(length) + 1
            default: return nil
            }
            offset = (offset + 7) / 8 * 8
        }
        return nil
    }

    /// The boolean that a variant holds; nil for anything else.
    private static func flag(_ body: ArraySlice<UInt8>) -> Bool? {
        switch Array(body) {
        case [1, UInt8(ascii: "b"), 0, 0, 1, 0, 0, 0]: true
        case [1, UInt8(ascii: "b"), 0, 0, 0, 0, 0, 0]: false
        default: nil
        }
    }

    private static func append(_ text: String, to bytes: inout [UInt8]) {
        align(&bytes, to: 4)
        bytes += UInt32(clamping: text.utf8.count).littleEndianBytes + text.utf8 + [0]
    }

    private static func align(_ bytes: inout [UInt8], to multiple: Int) {
        while !bytes.count.isMultiple(of: multiple) { bytes.append(0) }
    }

    private static func number(_ bytes: [UInt8], at offset: Int) -> UInt32? {
        guard offset >= 0, offset + 4 <= bytes.count else { return nil }
        return UInt32(littleEndianBytes: bytes[offset..<offset + 4])
    }
}
