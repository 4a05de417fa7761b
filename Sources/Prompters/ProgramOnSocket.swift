internal import KeychainModel
internal import Glibc
internal import Localization
internal import Platform
internal import SecureBytes

/// A program whose standard input and output are sockets of this process.
///
/// One socket pair serves both directions; closing it tells the program that it is not needed any more.
final class ProgramOnSocket: Sendable {
    private let name: String
    private let process: pid_t
    private let socket: Int32
    private let signals: HeldSignals?

    /// Starts a program.
    ///
    /// - Parameters:
    ///   - program: a name that is looked up in `PATH`, or a path from the root on.
    ///   - environment: the program's environment.
    ///   - signals: signals that end a wait for the program.
    /// - Throws: `errSecNotAvailable` where it cannot be started; `errSecInteractionNotAllowed` in a process that has
    ///   more rights than the user who started it, who could choose the program.
    init(
        _ program: String, environment: [String: String], unless signals: HeldSignals? = nil
    ) throws(KeychainError) {
        guard !Environment.isUntrusted else {
            throw KeychainError(
                .interactionNotAllowed,
                "cannot start \(program): this program has more rights than the user who started it")
        }
        guard let path = Environment.program(program) else {
            throw KeychainError(.notAvailable, "cannot start \(program): there is no such program")
        }
        var descriptors: [Int32] = [-1, -1]
        let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        guard unsafe socketpair(AF_UNIX, kind, 0, &descriptors) == 0 else {
            throw KeychainError(
                .notAvailable, "cannot start \(program): no socket could be made: \(SystemError().reason)")
        }
        defer { close(descriptors[1]) }
        // The program's standard error is this process's.
        let child = ChildProgram(
            path: path, arguments: [program], environment: environment.map { "\($0.key)=\($0.value)" }.sorted(),
            streams: [.descriptor(descriptors[1]), .descriptor(descriptors[1]), .descriptor(STDERR_FILENO)])
        do throws(SystemError) {
            (name, process, socket, self.signals) = (program, try child.start(), descriptors[0], signals)
        } catch {
            close(descriptors[0])
            throw KeychainError(.notAvailable, "cannot start \(program): \(error.reason)")
        }
    }

    /// Closes the socket and waits for the program's end; a program that does not end is killed.
    func end() {
        close(socket)
        // The signal lets the program restore the terminal.
        if wasInterrupted { interrupt() }
        for _ in 0..<ProgramOnSocket.looks {
            if hasEnded(WNOHANG) { return }
            usleep(ProgramOnSocket.timeBetweenLooks)
        }
        kill(process, SIGKILL)
        _ = hasEnded(0)
    }

    /// A second in all.
    private static let looks = 200
    private static let timeBetweenLooks: UInt32 = 5_000

    private func hasEnded(_ options: Int32) -> Bool {
        var status: Int32 = 0
        while true {
            let result = unsafe waitpid(process, &status, options)
            if result == -1 && errno == EINTR { continue }
            return result != 0
        }
    }

    /// Asks the program to end. One that shows something to a person does not look at its socket.
    func interrupt() { kill(process, SIGTERM) }

    func write(_ bytes: [UInt8]) throws(KeychainError) {
        do throws(SystemError) { try Descriptor.send(bytes.span, to: socket) } catch { throw ended }
    }

    /// Reads up to a line feed.
    ///
    /// - Parameters:
    ///   - limit: bytes that the line may have.
    ///   - milliseconds: how long the program may say nothing; nil for ever.
    func readLine(limit: Int, within milliseconds: Int32?) throws(KeychainError) -> Secret {
        try Secret(capacity: limit) { (line) throws(KeychainError) in
            while true {
                try waitForByte(milliseconds ?? -1)
                var byte: UInt8 = 0
                let count = unsafe read(socket, &byte, 1)
                if count < 0 && errno == EINTR { continue }
                guard count == 1 else { throw ended }
                if byte == 0x0A { return }
                guard line.freeCapacity > 0 else {
                    throw KeychainError(.notAvailable, "\(name) sent an overlong line")
                }
                line.append(byte)
            }
        }
    }

    /// - Throws: `errSecUserCanceled` when one of the held signals has come.
    private func waitForByte(_ milliseconds: Int32) throws(KeychainError) {
        var watched = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
        var rest = milliseconds
        while !wasInterrupted {
            // A signal that comes just before the wait does not end it, so the wait is divided.
            let part = signals == nil ? rest : rest < 0 ? Self.signalCheckInterval : min(rest, Self.signalCheckInterval)
            let count = unsafe poll(&watched, 1, part)
            if count > 0 { return }
            if count < 0 && errno == EINTR { continue }
            if rest > 0 { rest -= part }
            guard count == 0, rest != 0 else { throw KeychainError(.notAvailable, "\(name) does not answer") }
        }
        throw .canceled
    }

    private var wasInterrupted: Bool { signals?.hasCome == true }

    /// Milliseconds between two looks at the signals.
    private static let signalCheckInterval: Int32 = 100

    private var ended: KeychainError { KeychainError(.notAvailable, "\(name) ended before it answered") }
}
