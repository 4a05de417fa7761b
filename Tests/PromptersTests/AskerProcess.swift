import Foundation
import TestSupport

/// A running `PromptAsker`, with its own terminal or without one.
final class AskerProcess {
    private let folder: TemporaryFolder
    private let child: ChildProcess

    /// - Parameters:
    ///   - arguments: the program's prompter and the questions to ask.
    ///   - terminal: the program's controlling terminal; nil for none.
    ///   - input: the file that is the program's standard input.
    init(
        _ arguments: [String], on terminal: PseudoTerminal? = nil, environment: [String: String] = [:],
        input: String = "/dev/null"
    ) throws {
        folder = try TemporaryFolder()
        // The leader of a session gets the first terminal that it opens.
        let terminal = terminal.map { "exec 9<>'\($0.path)'; " } ?? ""
        let script = "\(terminal)exec '\(Self.executable)' \"$@\" <'\(input)' >'\(folder.path("answers"))'"
        let null = open("/dev/null", O_RDWR | O_CLOEXEC)
        defer { close(null) }
        child = try ChildProcess(
            ["sh", "-c", script, "asker"] + arguments, environment: environment, streams: [null, null, null])
    }

    func send(_ signal: Int32) { kill(child.identifier, signal) }

    /// Waits for the end of the program.
    ///
    /// - Returns: the exit status, or the negated number of the signal, and a line for each question.
    func finish() throws -> (status: Int32, answers: [String]) {
        let status = child.wait()
        let text = String(decoding: try folder.read("answers"), as: UTF8.self)
        return (status, text.split(separator: "\n", omittingEmptySubsequences: false).dropLast().map(String.init))
    }

    private static let executable = Program.products + "/PromptAsker"
}

/// A terminal with the test at its keyboard.
final class PseudoTerminal {
    let path: String
    private let keyboard: Int32
    /// The program's side, kept open so that the terminal outlives the program.
    private let line: Int32
    private var seen: [UInt8] = []

    init() throws {
        keyboard = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
        var (isLocked, number): (Int32, UInt32) = (0, 0)
        // TIOCSPTLCK and TIOCGPTN
        guard keyboard >= 0, ioctl(keyboard, 0x4004_5431, &isLocked) == 0, ioctl(keyboard, 0x8004_5430, &number) == 0
        else { throw POSIXError(.ENXIO) }
        path = "/dev/pts/\(number)"
        line = open(path, O_RDWR | O_NOCTTY | O_CLOEXEC)
    }

    deinit {
        close(keyboard)
        close(line)
    }

    func type(_ text: String) {
        let bytes = Array(text.utf8)
        _ = write(keyboard, bytes, bytes.count)
    }

    /// Everything that was shown so far.
    var screen: String { String(decoding: seen, as: UTF8.self) }

    /// Waits until a text has been shown a number of times.
    func wait(for text: String, times: Int = 1) throws {
        var bytes = [UInt8](repeating: 0, count: 4096)
        while screen.components(separatedBy: text).count <= times {
            var watched = pollfd(fd: keyboard, events: Int16(POLLIN), revents: 0)
            guard poll(&watched, 1, 60_000) > 0 else { throw POSIXError(.ETIMEDOUT) }
            let count = read(keyboard, &bytes, bytes.count)
            guard count > 0 else { throw POSIXError(.EIO) }
            seen += bytes.prefix(count)
        }
    }

    /// Whether the terminal shows what is typed, and Ctrl-C interrupts.
    var isOrdinary: Bool {
        var settings = termios()
        guard tcgetattr(line, &settings) == 0 else { return false }
        let flags = tcflag_t(ECHO | ICANON | ISIG)
        return settings.c_lflag & flags == flags
    }
}
