internal import KeychainModel
internal import FoundationEssentials
internal import Glibc
internal import Localization
internal import Platform
internal import SecureBytes
internal import Synchronization

/// Standard input, read a line at a time and never beyond the line's end.
enum StandardInput {
    /// The maximum length of a command in bytes, and the first capacity of a secret, which may grow.
    private static let usualLineLength = 4096

    /// Whether what follows a line is the next command.
    @TaskLocal static var hasCommands = false

    /// The next line, without its end.
    ///
    /// - Throws: if more input follows that is no command: a part of a password is another password.
    static func secretLine() throws -> Secret {
        var isAtEnd = false
        let secret = try secretLine(isAtEnd: &isAtEnd)
        // An empty line is an empty password; no line at all is a program that has failed.
        guard !isAtEnd || !secret.isEmpty else { throw CommandError("there is no password on standard input") }
        guard !hasCommands, nextByte(isAtEnd: &isAtEnd) != nil || !isAtEnd else { return secret }
        throw CommandError(
            "the password has more than one line", "standard input goes on after the first",
            advice: "'tokenctl item -a -f FILE' takes a file of any form")
    }

    /// The line, in memory that grows up to the limit of a keychain's secrets.
    private static func secretLine(isAtEnd: inout Bool) throws -> Secret {
        var line = Secret(capacity: 0) { _ in }
        var capacity = usualLineLength
        while true {
            var isWhole = false
            let next = Secret(capacity: capacity) { output in
                output.append(line.bytes)
                while output.freeCapacity > 0 {
                    guard let byte = nextByte(isAtEnd: &isAtEnd) else {
                        isWhole = true
                        let count = output.count
                        // The line end of Windows, which a --pin-source may have as well.
                        if !isAtEnd, count > 0, output.span[count - 1] == UInt8(ascii: "\r") { _ = output.removeLast() }
                        return
                    }
                    output.append(byte)
                }
            }
            line = next
            if isWhole { return line }
            guard line.count <= Limits.secret else {
                throw CommandError("the password is too long", "it has more than \(Limits.secret) bytes")
            }
            capacity = min(2 * capacity, Limits.secret + 1)
        }
    }

    /// The next line, without its end; nil after the last one. A line that is too long is cut.
    static func line() -> (bytes: [UInt8], isWhole: Bool)? {
        var (bytes, isWhole) = ([UInt8](), true)
        var isAtEnd = false
        while let byte = nextByte(isAtEnd: &isAtEnd) {
            if bytes.count < usualLineLength { bytes.append(byte) } else { isWhole = false }
        }
        return isAtEnd && bytes.isEmpty ? nil : (bytes, isWhole)
    }

    /// - Returns: nil at the end of the line and at the end of the input.
    private static func nextByte(isAtEnd: inout Bool) -> UInt8? {
        var byte: UInt8 = 0
        var count = 0
        repeat { count = unsafe read(STDIN_FILENO, &byte, 1) } while count < 0 && errno == EINTR
        isAtEnd = count < 1
        return isAtEnd || byte == UInt8(ascii: "\n") ? nil : byte
    }
}

/// Standard output, for results. Text is written as lines without control characters, so that callers can print any
/// name, label or certificate.
enum StandardOutput {
    /// The stream for a program that shows something itself.
    static let stream = ChildProgram.Stream.descriptor(STDOUT_FILENO)

    /// Writes a line.
    ///
    /// - Parameters:
    ///   - heading: the text before it, in bold on a terminal.
    ///   - isIndented: whether the line begins with a tab, as some lines of macOS's `security` do.
    static func line(localized text: LocalizedText) { line(String(localized: text)) }

    static func line(_ text: String = "", after heading: String = "", isIndented: Bool = false) {
        print((isIndented ? "\t" : "") + Terminal.emphasized(DisplayText.line(heading)) + DisplayText.line(text))
    }

    /// Writes the lines of a text that has several, each as ``line(_:after:isIndented:)`` does.
    static func lines(_ text: String) {
        var lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        if lines.last == "" { lines.removeLast() }
        for text in lines { line(String(text)) }
    }

    /// Writes JSON, whose values stay unchanged.
    static func json(_ text: String, terminator: String = "\n") {
        print(DisplayText.json(text), terminator: terminator)
    }

    /// Writes a line that ends with a secret, without a copy of it.
    ///
    /// - Parameter secret: printable ASCII, as ``SecretText`` makes it.
    static func line(_ text: String, _ secret: borrowing Secret) throws(WriteError) {
        print(DisplayText.line(text), terminator: "")
        try write(secret, newline: true)
    }

    /// Writes a secret without a copy of it.
    static func write(_ secret: borrowing Secret, newline: Bool = false) throws(WriteError) {
        // Whatever print has buffered comes first.
        try finish()
        do throws(SystemError) {
            try Descriptor.write(secret.bytes, to: STDOUT_FILENO)
            if newline { try Descriptor.write("\n", to: STDOUT_FILENO) }
        } catch {
            throw WriteError(error)
        }
    }

    /// The error of a write that `print` had buffered, which is reported once.
    private static let failure = Atomic<Int32>(0)

    /// Writes what print has buffered.
    static func flush() {
        if fflush(nil) != 0 { failure.store(errno, ordering: .relaxed) }
    }

    /// Writes what print has buffered. Only then is it known whether this and all earlier output was written.
    static func finish() throws(WriteError) {
        flush()
        let number = failure.exchange(0, ordering: .relaxed)
        guard number == 0 else { throw WriteError(SystemError(number)) }
    }
}

/// Standard error, for lines that are not results. A write that fails is not reported. Lines have the form of
/// ``StandardOutput``.
enum StandardError {
    /// Whether standard error is a terminal.
    static var isInteractive: Bool { isatty(STDERR_FILENO) == 1 }

    /// The stream for a program that shows something itself.
    static let stream = ChildProgram.Stream.descriptor(STDERR_FILENO)

    static func line(localized text: LocalizedText) { line(String(localized: text)) }

    static func line(_ text: String) { put(DisplayText.line(text) + "\n") }

    /// Writes a line in place of the last one that was written so.
    static func replaceLine(_ text: String) { put("\r\u{1B}[K" + DisplayText.line(text)) }

    /// Writes a prompt, which the answer follows in the same line.
    static func prompt(_ text: String) { put(DisplayText.line(text)) }

    /// Writes a line that ends with a secret, without a copy of it.
    static func line(_ text: String, _ secret: borrowing Secret) throws(WriteError) {
        put(DisplayText.line(text))
        do throws(SystemError) { try Descriptor.write(secret.bytes, to: STDERR_FILENO) } catch {
            throw WriteError(error)
        }
        put("\n")
    }

    private static func put(_ text: String) {
        StandardOutput.flush()
        try? Descriptor.write(text, to: STDERR_FILENO)
    }
}

/// The error of output that cannot be written.
struct WriteError: Error, CustomStringConvertible {
    private let cause: SystemError

    init(_ cause: SystemError) {
        self.cause = cause
    }

    /// Whether the reader has closed the pipe, as `| head` does, which is not reported.
    var isClosedPipe: Bool { cause.number == EPIPE }

    var description: String { String(localized: "cannot write the output: \(cause.reason)") }
}

enum Clock {
    /// A time in UTC, as RFC 3339 writes it.
    static func text(_ seconds: Int64) -> String {
        Date(timeIntervalSince1970: TimeInterval(seconds)).formatted(.iso8601)
    }

    static var now: Int64 { Int64(Date().timeIntervalSince1970) }

    /// A time in UTC by its parts; nil where there is no such day or time.
    static func seconds(year: Int?, month: Int?, day: Int?, hour: Int?, minute: Int?, second: Int?) -> Int64? {
        var calendar = Calendar(identifier: .gregorian)
        guard let zone = TimeZone(secondsFromGMT: 0) else { return nil }
        calendar.timeZone = zone
        let parts = DateComponents(
            year: year, month: month, day: day, hour: hour, minute: minute, second: second)
        guard let date = calendar.date(from: parts),
            calendar.dateComponents([.year, .month, .day, .hour, .minute, .second], from: date) == parts
        else { return nil }
        return Int64(date.timeIntervalSince1970)
    }
}
