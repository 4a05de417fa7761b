internal import KeychainModel
internal import Glibc
internal import Localization
internal import SecureBytes

/// A program that speaks the Assuan protocol on its standard input and output: pinentry.
///
/// Every answer is a run of lines `D data`, `S status`, `# comment`, ended by `OK` or `ERR code text`. A program that
/// does not answer is given up after a time limit, except while a person is asked.
final class AssuanClient {
    /// The longest line in bytes, its line feed included (Assuan manual, "Server responses").
    static let maximumLineLength = 1002

    /// The longest data of one answer in bytes, over all its lines.
    static let maximumDataLength = 4096

    private let child: ProgramOnSocket
    private let patience: Int32

    /// Whether the program had the last answer typed twice, which its status line `PIN_REPEATED` says.
    private(set) var hasRepeated = false

    /// Whether the last question was declined by the button of `SETNOTOK`, or by the only other one of some programs. Closing the window,
    /// the button of `SETCANCEL`, and the end of the time do not count.
    private(set) var hasDeclined = false

    /// Starts the program and waits for its greeting.
    ///
    /// - Parameters:
    ///   - environment: the program's environment.
    ///   - patience: milliseconds that it may take for an answer that needs no person.
    ///   - signals: signals that end every wait with `errSecUserCanceled`.
    init(
        program: String, environment: [String: String], patience: Int32, unless signals: HeldSignals? = nil
    ) throws(KeychainError) {
        child = try ProgramOnSocket(program, environment: environment, unless: signals)
        self.patience = patience
        do throws(KeychainError) { _ = try answer(within: patience) } catch {
            end()
            throw error
        }
    }

    /// Ends the program.
    func end() {
        try? child.write(Array("BYE\n".utf8))
        child.end()
    }

    /// Ends the program while it shows something to a person.
    var stop: @Sendable () -> Void {
        { [child] in
            child.interrupt()
            child.end()
        }
    }

    /// Sends a command, and does not wait for its answer.
    func begin(_ name: String) throws(KeychainError) { try child.write(Array(name.utf8) + [0x0A]) }

    /// Sends a command whose answer carries no data. Its argument is shown as one line, without control characters.
    func command(_ name: String, _ argument: String) throws(KeychainError) { try command(name, lines: [argument]) }

    /// Sends a command whose answer carries no data. Its argument is shown in these lines, without control characters.
    func command(_ name: String, lines: [String]) throws(KeychainError) {
        try child.write(AssuanClient.line(name, lines.map(DisplayText.line).joined(separator: "\n")))
        _ = try answer(within: patience)
    }

    /// Sends a command whose answer is a text.
    func text(_ name: String) throws(KeychainError) -> String {
        try begin(name)
        let data = try answer(within: patience)
        return String(decoding: Array(copying: data.bytes), as: UTF8.self)
    }

    /// Sends a command that a person answers with yes or no, for however long that takes.
    func question(_ name: String) throws(KeychainError) {
        hasDeclined = false
        try begin(name)
        _ = try answer(within: nil)
    }

    /// Sends a command that a person answers with a secret, for however long that takes.
    func secret(_ name: String) throws(KeychainError) -> Secret {
        hasRepeated = false
        try begin(name)
        return try answer(within: nil)
    }

    /// Reads to the end of an answer and returns its data, percent-decoded.
    private func answer(within milliseconds: Int32?) throws(KeychainError) -> Secret {
        try Secret(capacity: AssuanClient.maximumDataLength) { (data) throws(KeychainError) in
            while true {
                let line = try child.readLine(limit: AssuanClient.maximumLineLength, within: milliseconds)
                switch AssuanLine(line.bytes) {
                case .ok: return
                case .error(let number):
                    hasDeclined = number & 0xFFFF == AssuanClient.notConfirmed
                    throw AssuanClient.error(number)
                case .data: try AssuanClient.decode(line.bytes, into: &data)
                // There is no data here that a program could ask back for.
                case .inquiry: try child.write(Array("CAN\n".utf8))
                case .repeated: hasRepeated = true
                case .other: continue
                }
            }
        }
    }

    /// Decodes the data after `D `. Data that does not fit is an error: half a PIN would cost a try.
    private static func decode(_ line: Span<UInt8>, into data: inout OutputSpan<UInt8>) throws(KeychainError) {
        var index = 2
        while index < line.count {
            var byte = line[index]
            index += 1
            if byte == UInt8(ascii: "%"), index + 1 < line.count, let high = Hex.value(of: line[index]),
                let low = Hex.value(of: line[index + 1])
            {
                byte = high << 4 | low
                index += 2
            }
            guard data.freeCapacity > 0 else {
                throw KeychainError(.dataTooLarge, "the pinentry program sent more than \(maximumDataLength) bytes")
            }
            data.append(byte)
        }
    }

    /// A command's line, cut after a whole character where it would be too long.
    static func line(_ name: String, _ argument: String) -> [UInt8] {
        var line = Array(name.utf8) + [0x20]
        for character in argument {
            let escaped = character.utf8.flatMap { byte in
                byte < 0x20 || byte == UInt8(ascii: "%") ? Array("%\(Hex.encode([byte]))".utf8) : [byte]
            }
            guard line.count + escaped.count < maximumLineLength - 1 else { break }
            line += escaped
        }
        return line + [0x0A]
    }

    /// GPG_ERR_NOT_CONFIRMED
    private static let notConfirmed: UInt32 = 114

    /// The keychain error of a GnuPG error, whose code is in the lower 16 bits and whose source is above.
    private static func error(_ number: UInt32) -> KeychainError {
        switch number & 0xFFFF {
        // Canceled, fully canceled, not confirmed, and no answer in time.
        case 99, 198, notConfirmed, 62: .canceled
        default: KeychainError(.notAvailable, "the pinentry program failed with error \(number & 0xFFFF)")
        }
    }
}

/// A line of an answer.
private enum AssuanLine {
    case ok, data, inquiry, repeated, other
    case error(UInt32)

    init(_ line: Span<UInt8>) {
        if AssuanLine.is(line, "OK") {
            self = .ok
        } else if AssuanLine.is(line, "ERR") {
            self = .error(AssuanLine.number(line))
        } else if AssuanLine.is(line, "D") {
            self = .data
        } else if AssuanLine.is(line, "INQUIRE") {
            self = .inquiry
        } else {
            self = AssuanLine.is(line, "S PIN_REPEATED") ? .repeated : .other
        }
    }

    /// Whether the line's first words are these.
    private static func `is`(_ line: Span<UInt8>, _ text: StaticString) -> Bool {
        let words = Array(text.description.utf8)
        guard line.count >= words.count, words.indices.allSatisfy({ line[$0] == words[$0] }) else { return false }
        return line.count == words.count || line[words.count] == 0x20
    }

    private static func number(_ line: Span<UInt8>) -> UInt32 {
        var number: UInt32 = 0
        for index in line.indices.dropFirst(4) {
            guard (0x30...0x39).contains(line[index]) else { break }
            number = number &* 10 &+ UInt32(line[index] - 0x30)
        }
        return number
    }
}
