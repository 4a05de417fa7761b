internal import KeychainModel
internal import Glibc
internal import HostAPI
internal import Localization
internal import Platform
internal import SecureBytes

/// A terminal, opened for one question.
final class Terminal {
    /// The longest line in bytes.
    static let maximumLength = 1024

    private let descriptor: Int32

    /// Nil where there is no such terminal.
    ///
    /// - Parameter path: `/dev/tty` for the process's own.
    init?(_ path: String) {
        descriptor = unsafe open(path, O_RDWR | O_CLOEXEC | O_NOCTTY)
        guard descriptor >= 0 else { return nil }
    }

    deinit { close(descriptor) }

    /// Writes text in one line, without control characters.
    func write(_ text: String) { put(DisplayText.line(text)) }

    func writeLine(_ text: String) { put(DisplayText.line(text) + "\n") }

    private func put(_ text: String) { try? Descriptor.write(text, to: descriptor) }

    /// Reads a line that is shown, without its end.
    ///
    /// - Parameter end: the end at which the answer is given up, and empty.
    func readLine(until end: QuestionEnd = QuestionEnd(at: nil)) -> String {
        var line: [UInt8] = []
        while line.count < Terminal.maximumLength {
            guard waitForByte(unless: { end.hasCome }) else { return "" }
            guard let byte = readByte(), byte != UInt8(ascii: "\n") else { break }
            line.append(byte)
        }
        return String(decoding: line, as: UTF8.self)
    }

    /// Discards the keys that were typed before. Wraps `tcflush`.
    func discardTyped() { _ = tcflush(descriptor, TCIFLUSH) }

    /// Asks for a line that is not shown. Keys that were typed before the question are discarded.
    ///
    /// The terminal is restored when this returns, and when a signal ends the process meanwhile. Ctrl-C arrives as a
    /// character and cancels.
    ///
    /// - Parameter end: the end at which the question is given up.
    func readHidden(
        asking question: String, until end: QuestionEnd = QuestionEnd(at: nil)
    ) throws(KeychainError) -> Secret {
        var shown = termios()
        guard unsafe tcgetattr(descriptor, &shown) == 0 else {
            throw KeychainError(.notAvailable, "cannot hide what is typed: \(SystemError().reason)")
        }
        let signals = HeldSignals(until: end)
        var hidden = shown
        hidden.c_lflag &= ~tcflag_t(ECHO | ICANON | ISIG | IEXTEN)
        unsafe tcsetattr(descriptor, TCSAFLUSH, &hidden)
        defer {
            unsafe tcsetattr(descriptor, TCSAFLUSH, &shown)
            put("\n")
            signals.release()
        }
        write(question)
        return try readSecret(unless: signals)
    }

    private func readSecret(unless signals: HeldSignals) throws(KeychainError) -> Secret {
        var isOverlong = false
        let secret = try Secret(capacity: Terminal.maximumLength) { (output) throws(KeychainError) in
            while true {
                guard waitForByte(unless: { signals.hasCome }), let byte = readByte() else { throw .canceled }
                switch Keystroke(byte) {
                case .enter: return
                case .cancel: throw .canceled
                case .eraseAll: output.removeAll()
                case .erase: Terminal.removeCharacter(&output)
                case .character where output.freeCapacity > 0: output.append(byte)
                case .character: isOverlong = true
                case .ignored: break
                }
            }
        }
        guard !isOverlong else {
            throw KeychainError(.param, "an answer may have \(Terminal.maximumLength) bytes, and this one has more")
        }
        return secret
    }

    /// Removes the last character, which in UTF-8 may have several bytes.
    private static func removeCharacter(_ output: inout OutputSpan<UInt8>) {
        while output.count > 0, output.removeLast() & 0xC0 == 0x80 {}
    }

    /// - Returns: whether a byte can be read; false where the wait is over first, or the terminal was closed.
    private func waitForByte(unless isOver: () -> Bool) -> Bool {
        var watched = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        while !isOver() {
            let count = unsafe poll(&watched, 1, Terminal.checkInterval)
            if count > 0 { return watched.revents & Int16(POLLIN) != 0 }
            guard count == 0 || errno == EINTR else { return false }
        }
        return false
    }

    /// The time between two looks at the signals and the time, in milliseconds; it delays only a program that is about to end.
    private static let checkInterval: Int32 = 100

    private func readByte() -> UInt8? {
        var byte: UInt8 = 0
        while true {
            let count = unsafe read(descriptor, &byte, 1)
            if count == 1 { return byte }
            guard count < 0, errno == EINTR else { return nil }
        }
    }
}

/// The effect of a key while a secret is typed.
private enum Keystroke {
    case enter, cancel, erase, eraseAll, character, ignored

    init(_ byte: UInt8) {
        switch byte {
        case 0x0A, 0x0D: self = .enter
        // Ctrl-C, Ctrl-D, Ctrl-\
        case 0x03, 0x04, 0x1C: self = .cancel
        case 0x08, 0x7F: self = .erase
        // Ctrl-U
        case 0x15: self = .eraseAll
        case 0x00..<0x20: self = .ignored
        default: self = .character
        }
    }
}
