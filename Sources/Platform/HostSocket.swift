internal import CLinux
internal import Glibc

/// The sockets of the session's host in `$XDG_RUNTIME_DIR/tokenkit`.
package enum HostSocket {
    private static let folder = "tokenkit"

    package enum Name: String {
        /// For programs that know this host.
        case host
        /// For programs that know an SSH agent.
        case agent = "ssh.sock"
        /// For modules on other machines, to which ssh forwards it.
        case remote
    }

    /// - Parameter runtime: the session's folder.
    package static func path(in runtime: String, _ name: Name = .host) -> String {
        "\(runtime)/\(folder)/\(name.rawValue)"
    }

    package enum Failure: Error {
        /// The session has no folder, or it belongs to another user.
        case noFolder(String)
        /// Another host serves the session.
        case isServed
        case system(String, Int32)

        /// The reason that a host cannot listen, as part of a sentence.
        package var reason: String {
            switch self {
            case .noFolder(let folder): "\(folder) is not a folder that belongs to this user alone"
            case .isServed: "another host serves the session"
            case .system(let what, let code): "\(what): \(SystemError(code).reason)"
            }
        }
    }

    /// Makes the socket, and removes one that a dead host has left.
    ///
    /// - Parameter runtime: the session's folder.
    package static func listen(in runtime: String, _ name: Name = .host) throws(Failure) -> Int32 {
        guard !OwnFile.isAnothers(runtime) else { throw .noFolder(runtime) }
        let folder = "\(runtime)/\(folder)"
        if unsafe mkdir(folder, 0o700) != 0, errno != EEXIST { throw .system("cannot make \(folder)", errno) }
        let lock = unsafe open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        guard lock >= 0 else { throw .noFolder(folder) }
        defer { close(lock) }
        var status = stat()
        guard unsafe fstat(lock, &status) == 0, status.st_uid == geteuid(), status.st_mode & 0o077 == 0 else {
            throw .noFolder(folder)
        }
        // Of two hosts that start at once, the second waits here, and finds the first one listening.
        guard flock(lock, LOCK_EX) == 0 else { throw .system("cannot lock \(folder)", errno) }
        let path = path(in: runtime, name)
        var address = sockaddr_un()
        guard fill(&address, path) else { throw .system("\(path) is too long", ENAMETOOLONG) }
        guard listener(&address) == .none else { throw .isServed }
        unsafe unlink(path)
        let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw .system("no socket", errno) }
        // The file gets the mode that the socket has before, unix(7). The process's umask, which other threads use, stays as it is.
        guard fchmod(descriptor, 0o600) == 0, unsafe withAddress(&address, { unsafe bind(descriptor, $0, $1) }) == 0,
            Glibc.listen(descriptor, backlog) == 0
        else {
            let code = errno
            close(descriptor)
            throw .system("cannot listen at \(path)", code)
        }
        return descriptor
    }

    /// Programs that wait to be accepted. A program that finds them all waiting starts a host of its own.
    private static let backlog: Int32 = 128

    /// Makes this process the one that listens at a socket which another process made for it: ``listener(in:)`` tells the last process that
    /// called listen(2).
    package static func takeOver(_ listener: Int32) { _ = Glibc.listen(listener, backlog) }

    /// The file of a socket, which differs from that of another socket at the same path.
    package struct File: Equatable, Sendable {
        private let device: UInt
        private let inode: UInt
        /// Set when the socket is bound, and by nothing else. The next file may have the same inode.
        private let made: (seconds: Int, nanoseconds: Int)

        package static func == (one: File, other: File) -> Bool {
            one.device == other.device && one.inode == other.inode && one.made == other.made
        }

        fileprivate init(_ status: stat) {
            (device, inode) = (UInt(status.st_dev), UInt(status.st_ino))
            made = (status.st_mtim.tv_sec, status.st_mtim.tv_nsec)
        }
    }

    /// The file of a session's socket; nil without one.
    package static func file(in runtime: String) -> File? {
        var status = stat()
        return unsafe lstat(path(in: runtime), &status) == 0 ? File(status) : nil
    }

    /// Removes the socket, unless another host listens at it.
    package static func remove(in runtime: String, _ name: Name = .host) {
        let lock = unsafe open("\(runtime)/\(folder)", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        guard lock >= 0 else { return }
        defer { close(lock) }
        guard flock(lock, LOCK_EX) == 0, listener(in: runtime, name) == .none else { return }
        unsafe unlink(path(in: runtime, name))
    }

    /// The listener at a session's socket.
    package enum Listener: Equatable {
        case none
        /// The process that has made the socket: the host, or a service manager that starts it on demand.
        case process(Int32)
        /// A host that does not answer: as many programs wait for it as the system lets wait.
        case overloaded
    }

    package static func listener(in runtime: String, _ name: Name = .host) -> Listener {
        var address = sockaddr_un()
        return fill(&address, path(in: runtime, name)) ? listener(&address) : .none
    }

    /// Connects to the host of a session.
    ///
    /// - Returns: nil where no host of this user serves there, or it is overloaded.
    package static func connect(in runtime: String, _ name: Name = .host) -> Int32? {
        var address = sockaddr_un()
        guard !OwnFile.isAnothers(runtime), !OwnFile.isAnothers("\(runtime)/\(folder)"),
            fill(&address, path(in: runtime, name)),
            let connected = connected(&address)
        else { return nil }
        // The programs' side blocks, and waits by poll.
        _ = fcntl(connected.descriptor, F_SETFL, 0)
        return connected.descriptor
    }

    private static func listener(_ address: inout sockaddr_un) -> Listener {
        guard let connected = connected(&address) else {
            // Without a descriptor nothing is known of the socket, which must not be removed then.
            return [EAGAIN, EMFILE, ENFILE, ENOMEM].contains(errno) ? .overloaded : .none
        }
        close(connected.descriptor)
        return .process(connected.process)
    }

    /// - Returns: nil, with `errno`, where no process of this user listens.
    private static func connected(_ address: inout sockaddr_un) -> (descriptor: Int32, process: Int32)? {
        // A host that is stopped would be waited for without end.
        let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue) | Int32(SOCK_NONBLOCK.rawValue)
        let descriptor = socket(AF_UNIX, kind, 0)
        guard descriptor >= 0 else { return nil }
        var (process, user): (Int32, UInt32) = (0, 0)
        var code: Int32 = EPERM
        if unsafe withAddress(&address, { unsafe Glibc.connect(descriptor, $0, $1) }) != 0 {
            code = errno
        } else if unsafe clinux_peer(descriptor, &process, &user) == 0, user == geteuid() {
            return (descriptor, process)
        }
        close(descriptor)
        errno = code
        return nil
    }

    private static func fill(_ address: inout sockaddr_un, _ path: String) -> Bool {
        address.sun_family = sa_family_t(AF_UNIX)
        let bytes = Array(path.utf8)
        return unsafe withUnsafeMutableBytes(of: &address.sun_path) { field in
            guard bytes.count < field.count else { return false }
            unsafe field.copyBytes(from: bytes)
            return true
        }
    }

    private static func withAddress(
        _ address: inout sockaddr_un, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) -> Int32 {
        unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe body($0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
    }
}
