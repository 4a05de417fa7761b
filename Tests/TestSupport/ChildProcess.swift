import Foundation

/// A child of this process, which has to be waited for once.
///
/// Foundation's `Process` crashes when several threads start many. A child gets its three streams, none of the other pipes
/// made here, and a session of its own, so that it finds no terminal to ask at.
public struct ChildProcess: Sendable {
    /// The process id.
    public let identifier: pid_t

    /// Starts a program that is found on the path.
    ///
    /// - Parameters:
    ///   - command: The program and its arguments.
    ///   - environment: Additions to this process's environment.
    ///   - streams: The descriptors of its standard input, output and error; they stay open here.
    public init(_ command: [String], environment: [String: String] = [:], streams: [Int32]) throws {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        // The threads of tests block all signals; a child that inherited the mask could not be ended by a signal.
        var (attributes, none) = (posix_spawnattr_t(), sigset_t())
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
        for (number, descriptor) in streams.enumerated() {
            posix_spawn_file_actions_adddup2(&actions, descriptor, Int32(number))
        }
        // env finds the program on the path that the child gets, not on this process's.
        let arguments = CStrings(["setsid", "/usr/bin/env"] + command)
        let variables = CStrings(Self.variables(environment).map { "\($0)=\($1)" })
        var identifier: pid_t = 0
        let result = Self.spawning.withLock {
            posix_spawn(&identifier, "/usr/bin/setsid", &actions, &attributes, arguments.pointers, variables.pointers)
        }
        guard result == 0 else { throw POSIXError(POSIXErrorCode(rawValue: result) ?? .EINVAL) }
        self.identifier = identifier
    }

    /// Waits for the end of the process.
    ///
    /// - Returns: The exit status, or the negated number of the signal that ended the process.
    @discardableResult public func wait() -> Int32 {
        var status: Int32 = 0
        while waitpid(identifier, &status, 0) == -1 && errno == EINTR {}
        let signal = status & 0x7F
        return signal == 0 ? (status >> 8) & 0xFF : -signal
    }

    /// A pipe that only the child it is given to inherits.
    public static func pipe() throws -> (read: FileHandle, write: FileHandle) {
        var ends: [Int32] = [-1, -1]
        let isOpen = spawning.withLock {
            Glibc.pipe(&ends) == 0 && ends.allSatisfy { fcntl($0, F_SETFD, FD_CLOEXEC) == 0 }
        }
        guard isOpen else { throw POSIXError(.EMFILE) }
        let handles = ends.map { FileHandle(fileDescriptor: $0, closeOnDealloc: true) }
        return (handles[0], handles[1])
    }

    /// Held while a child is started, and while a descriptor is open that no child may inherit: a pipe before it has its
    /// close-on-exec flag.
    static let spawning = NSLock()

    private static func variables(_ additions: [String: String]) -> [String: String] {
        var variables = ProcessInfo.processInfo.environment
        variables["LC_ALL"] = "C.UTF-8"
        variables["PATH", default: ""] += ":/usr/sbin:/sbin"
        // Each command of a test has PINs and passwords of its own, and leaves no process behind.
        variables["TOKENKIT_HOST"] = "private"
        return variables.merging(additions) { $1 }
    }
}

/// Strings as C has them, ended by a null pointer.
private final class CStrings {
    let pointers: [UnsafeMutablePointer<CChar>?]

    init(_ strings: [String]) {
        pointers = strings.map { strdup($0) } + [nil]
    }

    deinit {
        for pointer in pointers { free(pointer) }
    }
}
