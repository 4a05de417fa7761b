internal import Glibc
internal import Localization
internal import Platform
internal import SecureBytes

/// A program of this system that does a part of a command's work: it is sent text, and may answer.
struct HelperProgram {
    let name: String
    private let path: String

    /// Nil where there is no such program in `PATH`.
    init?(_ name: String) {
        guard !Environment.isUntrusted, let path = Environment.program(name) else { return nil }
        (self.name, self.path) = (name, path)
    }

    /// Runs the program at the terminal, and waits for its end.
    ///
    /// - Parameter isQuiet: whether its messages are dropped.
    /// - Returns: its status, and up to `limit` bytes of its standard output.
    func run(
        _ arguments: [String], sending text: String = "", limit: Int, isQuiet: Bool = false
    ) throws -> (status: Int32, output: [UInt8]) {
        let (input, output) = (try Pipe(), try Pipe())
        let process = try start(
            arguments,
            [
                .descriptor(input.reading), .descriptor(output.writing), isQuiet ? .nothing : StandardError.stream,
            ])
        input.closeReading()
        output.closeWriting()
        // A program that wants no more has closed its side.
        try? Descriptor.write(text, to: input.writing)
        input.closeWriting()
        let bytes = try Descriptor.read(output.reading, limit: limit)
        return (HelperProgram.status(of: process, 0) ?? 0, bytes)
    }

    func isNamed(_ other: String) -> Bool { path.split(separator: "/").last.map { $0 == other } ?? false }

    /// Runs the program on standard output, and waits for its end.
    ///
    /// - Returns: false where it cannot be started.
    func show(_ text: String, _ arguments: [String]) -> Bool {
        guard let input = try? Pipe(),
            let process = try? start(
                arguments, [.descriptor(input.reading), StandardOutput.stream, StandardError.stream])
        else { return false }
        // An interruption is for the program, which this one outlives.
        let former = signal(SIGINT, SIG_IGN)
        defer { signal(SIGINT, former) }
        input.closeReading()
        // A person may leave before the end.
        try? Descriptor.write(text + "\n", to: input.writing)
        input.closeWriting()
        let status = HelperProgram.status(of: process, 0)
        // As shells tell of a program that is not there, or cannot run.
        return status != 126 && status != 127
    }

    /// Starts the program in a session of its own, sends it a secret, and leaves it running.
    ///
    /// - Parameter start: the time within which the program ends where it cannot do its work.
    /// - Throws: ``CommandError`` where it ends with an error within that time.
    func startDetached(_ arguments: [String], sending secret: borrowing Secret, toStartWithin start: Duration) throws {
        let input = try Pipe()
        let process = try self.start(arguments, [.descriptor(input.reading), .nothing, .nothing], .ownSession)
        input.closeReading()
        try? Descriptor.write(secret.bytes, to: input.writing)
        input.closeWriting()
        let deadline = ContinuousClock.now + start
        while ContinuousClock.now < deadline {
            if let status = HelperProgram.status(of: process, WNOHANG) {
                guard status == 0 else { throw CommandError("\(name) ended with \(status)") }
                return
            }
            usleep(10_000)
        }
    }

    private func start(
        _ arguments: [String], _ streams: [ChildProgram.Stream], _ belonging: ChildProgram.Belonging = .sameGroup
    ) throws -> pid_t {
        let program = ChildProgram(
            path: path, arguments: [name] + arguments, environment: Environment.all, streams: streams,
            belonging: belonging)
        do throws(SystemError) { return try program.start() } catch {
            throw CommandError("cannot start \(name)", "\(error.reason)")
        }
    }

    /// - Returns: nil for a program that still runs.
    private static func status(of process: pid_t, _ options: Int32) -> Int32? {
        var status: Int32 = 0
        while true {
            let result = unsafe waitpid(process, &status, options)
            if result < 0 && errno == EINTR { continue }
            guard result == process else { return result == 0 ? nil : 0 }
            // WEXITSTATUS, or 128 and the signal as shells have it.
            return status & 0x7F == 0 ? status >> 8 & 0xFF : 128 + (status & 0x7F)
        }
    }

    /// A pipe, both of whose ends are above the standard streams.
    private final class Pipe {
        /// The lowest descriptor above the standard streams.
        private static let lowest: Int32 = 3

        private(set) var reading: Int32 = -1
        private(set) var writing: Int32 = -1

        init() throws {
            var ends: [Int32] = [-1, -1]
            guard unsafe pipe(&ends) == 0 else {
                throw CommandError("no pipe could be made", "\(SystemError().reason)")
            }
            reading = Descriptor.moved(ends[0], to: Pipe.lowest)
            writing = Descriptor.moved(ends[1], to: Pipe.lowest)
            guard reading >= 0, writing >= 0 else {
                throw CommandError("no pipe could be made", "\(SystemError().reason)")
            }
        }

        deinit {
            closeReading()
            closeWriting()
        }

        func closeReading() {
            if reading >= 0 { close(reading) }
            reading = -1
        }

        func closeWriting() {
            if writing >= 0 { close(writing) }
            writing = -1
        }
    }
}
