internal import SecureBytes

/// A command to a card: header, data, and the expected length of the answer.
///
/// All four cases of ISO/IEC 7816-4 §5.1, in short and extended form.
public struct CommandAPDU: Hashable, Sendable {
    /// The most bytes of data in a short command.
    public static let maximumShortData = 255
    /// The most bytes of data in an extended command.
    public static let maximumExtendedData = 65_535
    /// Le of a short command that takes any answer.
    public static let maximumShortResponse = 256
    /// Le of a command that takes any answer: 256 bytes in a short command, 65,536 in an extended one.
    public static let anyLength = 65_536

    public enum Form: Sendable, Hashable {
        case short, extended
    }

    /// The parts that must not be shown in a trace.
    public struct Confidentiality: OptionSet, Sendable, Hashable {
        public let rawValue: UInt8
        public init(rawValue: UInt8) { self.rawValue = rawValue }
        public static let command = Confidentiality(rawValue: 1)
        public static let response = Confidentiality(rawValue: 2)
    }

    public var cla: UInt8
    public var ins: UInt8
    public var p1: UInt8
    public var p2: UInt8
    public var data: [UInt8]

    /// Le in bytes, 1 to 65,536; nil where no answer is expected.
    public var expectedLength: Int?

    public var confidentiality: Confidentiality

    public init(
        cla: UInt8 = 0, ins: UInt8, p1: UInt8, p2: UInt8, data: [UInt8] = [], expectedLength: Int? = nil,
        confidentiality: Confidentiality = []
    ) {
        self.cla = cla
        self.ins = ins
        self.p1 = p1
        self.p2 = p2
        self.data = data
        self.expectedLength = expectedLength
        self.confidentiality = confidentiality
    }

    /// Reads a command as a card receives it, and the form that it had, with which `encoded(form)` gives the same bytes.
    ///
    /// - Throws: ``CardError`` `.malformed` where Lc and Le do not fit the bytes.
    public static func parse(_ bytes: [UInt8]) throws(CardError) -> (command: CommandAPDU, form: Form) {
        guard bytes.count >= 4 else { throw CardError(.malformed, "command of \(bytes.count) bytes") }
        var command = CommandAPDU(cla: bytes[0], ins: bytes[1], p1: bytes[2], p2: bytes[3])
        let body = Array(bytes[4...])
        guard let first = body.first else { return (command, .short) }
        if body.count == 1 {
            command.expectedLength = first == 0 ? maximumShortResponse : Int(first)
            return (command, .short)
        }
        if first == 0 && body.count >= 3 {
            try command.parseExtended(Array(body.dropFirst()))
            return (command, .extended)
        }
        try command.parseShort(body)
        return (command, .short)
    }

    /// The bytes to send.
    ///
    /// - Throws: ``CardError`` `.invalidCommand` for data or an expected length that does not fit the form.
    public func encoded(_ form: Form) throws(CardError) -> [UInt8] {
        let header = [cla, ins, p1, p2]
        if let expectedLength, !(1...CommandAPDU.anyLength).contains(expectedLength) {
            throw CardError(.invalidCommand, "expected length \(expectedLength) is outside 1…65536")
        }
        let maximum = form == .short ? CommandAPDU.maximumShortData : CommandAPDU.maximumExtendedData
        guard data.count <= maximum else {
            throw CardError(.invalidCommand, "\(data.count) bytes do not fit a \(form) command")
        }
        switch form {
        case .short:
            let le = expectedLength.map { [UInt8(truncatingIfNeeded: min($0, CommandAPDU.maximumShortResponse))] } ?? []
            return data.isEmpty ? header + le : header + [UInt8(truncatingIfNeeded: data.count)] + data + le
        case .extended:
            let le = expectedLength.map { CommandAPDU.twoOctets($0) } ?? []
            if data.isEmpty { return le.isEmpty ? header : header + [0] + le }
            return header + [0] + CommandAPDU.twoOctets(data.count) + data + le
        }
    }

    private static func twoOctets(_ number: Int) -> [UInt8] { UInt16(truncatingIfNeeded: number).bigEndianBytes }

    private mutating func parseShort(_ body: [UInt8]) throws(CardError) {
        let count = Int(body[0])
        guard count > 0, body.count == 1 + count || body.count == 2 + count else {
            throw CardError(.malformed, "Lc \(count) does not fit a body of \(body.count) bytes")
        }
        data = Array(body[1..<1 + count])
        if body.count == 2 + count {
            expectedLength = body[1 + count] == 0 ? CommandAPDU.maximumShortResponse : Int(body[1 + count])
        }
    }

    private mutating func parseExtended(_ body: [UInt8]) throws(CardError) {
        let number = Int(bigEndianBytes: body.prefix(2))
        if body.count == 2 {
            expectedLength = number == 0 ? CommandAPDU.anyLength : number
            return
        }
        guard number > 0, body.count == 2 + number || body.count == 4 + number else {
            throw CardError(.malformed, "extended Lc \(number) does not fit a body of \(body.count) bytes")
        }
        data = Array(body[2..<2 + number])
        if body.count == 4 + number {
            let le = Int(bigEndianBytes: body.suffix(2))
            expectedLength = le == 0 ? CommandAPDU.anyLength : le
        }
    }
}
