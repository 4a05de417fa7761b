internal import Glibc
public import TokenKit

/// Asks on the controlling terminal, whatever standard input and output are, without showing what is typed.
public struct TerminalPrompter: Prompter {
    static let maximumLength = 1024

    public init() {}

    public var canAsk: Bool {
        guard let terminal = try? Terminal() else { return false }
        terminal.close()
        return true
    }

    public var canAskAgain: Bool { true }

    public func ask(_ request: PromptRequest) throws(KeychainError) -> Secret {
        let terminal: Terminal
        do { terminal = try Terminal() } catch { throw .cannotAsk(request, because: "there is no terminal") }
        defer { terminal.close() }
        if let failure = request.failure { terminal.write("\(failure)\n") }
        while true {
            let answer = try terminal.ask("\(request.sentence): ")
            guard request.wantsRepetition else { return answer }
            if answer.equals(try terminal.ask("\(request.field) again: ")) { return answer }
            terminal.write("they differ; once more\n")
        }
    }

    public func confirm(_ question: String) throws(KeychainError) -> Bool {
        guard let terminal = try? Terminal() else { return false }
        defer { terminal.close() }
        terminal.write("\(question) [y/N] ")
        let answer = terminal.readLine()
        return answer == "y" || answer == "Y" || answer == "yes"
    }
}

/// The controlling terminal, opened for one question.
private struct Terminal {
    private struct Unavailable: Error {}

    private let descriptor: Int32

    init() throws {
        descriptor = unsafe open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY)
        guard descriptor >= 0 else { throw Unavailable() }
    }

    func close() { _ = Glibc.close(descriptor) }

    func write(_ text: String) {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = unsafe rest.withUnsafeBytes { unsafe Glibc.write(descriptor, $0.baseAddress, $0.count) }
            guard count > 0 else { return }
            rest = rest.dropFirst(count)
        }
    }

    func readLine() -> String {
        var line: [UInt8] = []
        while line.count < TerminalPrompter.maximumLength, let byte = readByte(), byte != UInt8(ascii: "\n") {
            line.append(byte)
        }
        return String(decoding: line, as: UTF8.self)
    }

    /// Asks for a line that is not shown.
    ///
    /// The question comes once nothing typed is shown any more: an answer may follow at once.
    /// Signals that would end the process are held back meanwhile and watched for, so that the terminal never stays
    /// without echo; the interrupt character arrives as a byte.
    func ask(_ question: String) throws(KeychainError) -> Secret {
        var saved = termios()
        guard unsafe tcgetattr(descriptor, &saved) == 0 else { throw .canceled }
        var ended = sigset_t()
        unsafe sigemptyset(&ended)
        for signal in Terminal.endingSignals { _ = unsafe sigaddset(&ended, signal) }
        var before = sigset_t()
        unsafe pthread_sigmask(SIG_BLOCK, &ended, &before)
        var hidden = saved
        hidden.c_lflag &= ~tcflag_t(ECHO | ICANON | ISIG | IEXTEN)
        unsafe tcsetattr(descriptor, TCSAFLUSH, &hidden)
        defer {
            unsafe tcsetattr(descriptor, TCSAFLUSH, &saved)
            write("\n")
            unsafe pthread_sigmask(SIG_SETMASK, &before, nil)
        }
        write(question)
        return try readSecret()
    }

    private func readSecret() throws(KeychainError) -> Secret {
        try Secret(capacity: TerminalPrompter.maximumLength) { (output) throws(KeychainError) in
            while true {
                guard waitForByte(), let byte = readByte() else { throw .canceled }
                switch byte {
                case UInt8(ascii: "\n"), UInt8(ascii: "\r"): return
                case 0x03, 0x04, 0x1C: throw .canceled
                case 0x08, 0x7F: if output.count > 0 { _ = output.removeLast() }
                case 0x15: output.removeAll()
                default: if output.freeCapacity > 0 { output.append(byte) }
                }
            }
        }
    }

    /// - Returns: whether a byte can be read; false when one of the held-back signals came first.
    private func waitForByte() -> Bool {
        var watched = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        while true {
            let count = unsafe poll(&watched, 1, Terminal.signalCheckInterval)
            if count > 0 { return watched.revents & Int16(POLLIN) != 0 }
            guard count == 0 || errno == EINTR else { return false }
            var pending = sigset_t()
            unsafe sigpending(&pending)
            for signal in Terminal.endingSignals where unsafe sigismember(&pending, signal) == 1 { return false }
        }
    }

    /// Milliseconds between two looks at the signals; nobody waits for it but a program that is to end.
    private static let signalCheckInterval: Int32 = 100
    private static let endingSignals = [SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGTSTP]

    private func readByte() -> UInt8? {
        var byte: UInt8 = 0
        while true {
            let count = unsafe read(descriptor, &byte, 1)
            if count == 1 { return byte }
            guard count < 0, errno == EINTR else { return nil }
        }
    }
}
