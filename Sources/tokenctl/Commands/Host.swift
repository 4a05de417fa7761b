internal import ArgumentParser
internal import Glibc
import Platform
internal import Wire

struct Host: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "host",
        abstract: "Start, stop or show the process that has cards and keychains for the session's programs.",
        discussion: """
            Programs, and this command, share it where it runs; each starts one of its own where it does not. With systemd \
            'systemctl --user enable --now tokenkit.socket' has it started when the first program needs it.
            """,
        subcommands: [Start.self, Stop.self, Status.self], defaultSubcommand: Status.self)

    /// The state after a command, as JSON.
    struct State: Encodable {
        let socket: String
        let isServed: Bool
        /// The host's process; nil where a service manager listens in its place.
        let process: Int32?

        init(_ session: HostSession) {
            let listener = session.listener
            (socket, isServed, process) = (session.path, listener != .none, session.host(listener))
        }
    }

    private static func report(_ sentence: String, _ session: HostSession, _ output: OutputOptions) throws {
        guard !output.json else { return try Listing.showJSON(State(session)) }
        StandardOutput.line(sentence)
    }

    struct Start: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "start",
            abstract: "Start it, unless it runs. It ends by itself when it is not used for a minute.")

        @OptionGroup var output: OutputOptions

        func run() throws {
            let session = try HostSession()
            guard session.listener == .none else {
                return try Host.report("The host serves this session already.", session, output)
            }
            var host = try HostProgram.start()
            for _ in 0..<100 where session.listener == .none && !host.hasEnded { usleep(50_000) }
            guard session.listener != .none else {
                let reason = host.complaint ?? "it ended, or could not listen at \(session.path)"
                throw CommandError("the host does not serve this session", reason)
            }
            try Host.report("The host serves this session at \(session.path).", session, output)
        }
    }

    struct Stop: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "stop", abstract: "Have it take no further programs. It ends with the last of those it serves."
        )

        @OptionGroup var output: OutputOptions

        func run() throws {
            let session = try HostSession()
            let listener = session.listener
            switch listener {
            case .none: return try Host.report("No host serves this session.", session, output)
            case .overloaded:
                throw CommandError(
                    "the host does not answer", "many programs wait for it",
                    advice: "end it with 'pkill -KILL \(HostProgram.name)'")
            case .process: break
            }
            guard let process = session.host(listener) else {
                throw CommandError(
                    "cannot stop this session's host", "its socket belongs to a service manager",
                    advice: "systemctl --user stop tokenkit.socket tokenkit.service")
            }
            guard kill(process, SIGTERM) == 0 else {
                throw CommandError("cannot stop the host", SystemError().reason)
            }
            for _ in 0..<100 where session.listener == listener { usleep(50_000) }
            guard session.listener != listener else {
                throw CommandError(
                    "the host has not stopped", "the process \(process) does not answer",
                    advice: "end it with 'kill -KILL \(process)'")
            }
            try Host.report("The host takes no further programs.", session, output)
        }
    }

    struct Status: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "status", abstract: "Show whether one serves this session.")

        @OptionGroup var output: OutputOptions

        func run() throws {
            let session = try HostSession()
            let sentence =
                switch session.listener {
                case .none: "No host serves this session: each program starts one of its own."
                case .process(let process): "A host serves this session at \(session.path) (process \(process))."
                case .overloaded: "A host listens at \(session.path), and does not answer: many programs wait for it."
                }
            try Host.report(sentence, session, output)
        }
    }
}

/// The session that a host serves, by its folder for sockets.
struct HostSession {
    private let runtime: String

    /// - Throws: ``CommandError`` where the session has no folder for sockets.
    init() throws(CommandError) {
        guard let runtime = Environment.variable("XDG_RUNTIME_DIR"), runtime.hasPrefix("/") else {
            throw CommandError(
                "this session cannot share a host", "it has no folder for sockets", advice: "set XDG_RUNTIME_DIR")
        }
        self.runtime = runtime
    }

    var path: String { HostSocket.path(in: runtime) }

    /// The listener at the session's socket.
    var listener: HostSocket.Listener { HostSocket.listener(in: runtime) }

    /// The process of a listener that is a host; nil for a service manager.
    func host(_ listener: HostSocket.Listener) -> Int32? {
        guard case .process(let process) = listener else { return nil }
        return Executable.name(of: process) == HostProgram.name ? process : nil
    }
}

/// The program `tokenkitd`.
enum HostProgram {
    static let name = "tokenkitd"

    /// The folder that this program is installed below, as `make install` lays it out.
    static var folderOfInstallation: String {
        "/" + Executable.path(of: getpid()).split(separator: "/").dropLast(2).joined(separator: "/")
    }

    /// The path of the installed host, or else of the one that was built beside this program.
    static var path: String {
        let installed = folderOfInstallation + "/libexec/\(name)"
        guard unsafe access(installed, X_OK) != 0 else { return installed }
        return "/" + Executable.path(of: getpid()).split(separator: "/").dropLast().joined(separator: "/") + "/\(name)"
    }

    /// Starts the host for the session. It outlives this program and its terminal.
    static func start() throws(CommandError) -> StartedHost {
        let path = path
        var errors: [Int32] = [-1, -1]
        let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        guard unsafe socketpair(AF_UNIX, kind, 0, &errors) == 0 else {
            throw CommandError("cannot start the host", SystemError().reason)
        }
        defer { close(errors[1]) }
        let host = StartedHost(errors: errors[0])
        let variables = Environment.all.filter { HostVariables.includes(Array($0.utf8)) }
        let program = ChildProgram(
            path: path, arguments: [path], environment: variables,
            streams: [.nothing, .nothing, .descriptor(errors[1])], belonging: .ownSession)
        do throws(SystemError) { _ = try program.start() } catch {
            throw CommandError(
                "cannot start the host", "\(path): \(error.reason)",
                advice: "sudo make install")
        }
        return host
    }
}

/// A host that was just started, with its output until it serves the session.
struct StartedHost: ~Copyable {
    /// The end of a socket pair whose other end is the host's standard error.
    private let errors: Int32
    private var text: [UInt8] = []

    fileprivate init(errors: Int32) {
        self.errors = errors
        _ = fcntl(errors, F_SETFL, O_NONBLOCK)
    }

    deinit { close(errors) }

    /// Whether the process has ended. Reads its output so far.
    var hasEnded: Bool {
        mutating get {
            var buffer = [UInt8](repeating: 0, count: 512)
            while true {
                let count = unsafe buffer.withUnsafeMutableBytes { unsafe read(errors, $0.baseAddress, $0.count) }
                if count < 0 && errno == EINTR { continue }
                guard count > 0 else { return count == 0 }
                if text.count < StartedHost.mostText { text += buffer[..<count] }
            }
        }
    }

    private static let mostText = 4096

    /// The last line that the host has written, without its own name; nil without one.
    var complaint: String? {
        let lines = String(decoding: text, as: UTF8.self).split(whereSeparator: \.isNewline)
        return lines.last.map { String($0.trimmingPrefix("\(HostProgram.name): ")) }
    }
}
