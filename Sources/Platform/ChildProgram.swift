internal import CLinux
internal import Glibc

/// A program to be started with only the given resources: no other descriptor of this process, no blocked or ignored signal, and
/// an environment that is built for it.
public struct ChildProgram: Sendable {
    /// The target of one of the program's descriptors.
    public enum Stream: Hashable, Sendable {
        case nothing
        /// A descriptor of this process.
        case descriptor(Int32)
    }

    /// The program's relation to this process's group and session.
    public enum Belonging: Hashable, Sendable {
        /// The program is in this process's group, and gets the signals of the terminal.
        case sameGroup
        case ownGroup
        case ownSession
    }

    /// The absolute path of the file.
    public let path: String
    /// The arguments, the program's name first.
    public let arguments: [String]
    /// The variables, each as `NAME=value`.
    public let environment: [String]
    /// The program's descriptors, from 0 on. Descriptors of this process must have higher numbers than these, or the same as in
    /// the program.
    public let streams: [Stream]
    public let belonging: Belonging

    public init(
        path: String, arguments: [String], environment: [String], streams: [Stream],
        belonging: Belonging = .sameGroup
    ) {
        self.path = path
        self.arguments = arguments
        self.environment = environment
        self.streams = streams
        self.belonging = belonging
    }

    /// Starts the program. Wraps `posix_spawn`.
    public func start() throws(SystemError) -> Int32 {
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        for (number, stream) in streams.enumerated() {
            switch stream {
            case .nothing: unsafe posix_spawn_file_actions_addopen(&actions, Int32(number), "/dev/null", O_RDWR, 0)
            case .descriptor(let source): unsafe posix_spawn_file_actions_adddup2(&actions, source, Int32(number))
            }
        }
        unsafe clinux_close_from(&actions, Int32(streams.count))
        var attributes = posix_spawnattr_t()
        unsafe posix_spawnattr_init(&attributes)
        defer { unsafe posix_spawnattr_destroy(&attributes) }
        var signals = sigset_t()
        unsafe sigemptyset(&signals)
        unsafe posix_spawnattr_setsigmask(&attributes, &signals)
        unsafe sigfillset(&signals)
        unsafe posix_spawnattr_setsigdefault(&attributes, &signals)
        unsafe posix_spawnattr_setflags(&attributes, Int16(truncatingIfNeeded: flags))
        var process: pid_t = 0
        let words = unsafe arguments.map { unsafe strdup($0) } + [nil]
        let variables = unsafe environment.map { unsafe strdup($0) } + [nil]
        defer { unsafe (words + variables).forEach { unsafe free($0) } }
        let result = unsafe posix_spawn(&process, path, &actions, &attributes, words, variables)
        guard result == 0 else { throw SystemError(result) }
        return process
    }

    private var flags: Int32 {
        let signals = Int32(POSIX_SPAWN_SETSIGMASK) | Int32(POSIX_SPAWN_SETSIGDEF)
        return switch belonging {
        case .sameGroup: signals
        case .ownGroup: signals | Int32(POSIX_SPAWN_SETPGROUP)
        case .ownSession: signals | 0x80  // POSIX_SPAWN_SETSID
        }
    }
}
