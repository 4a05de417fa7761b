internal import CLinux
internal import Glibc

/// The executable file that a process runs, opened through the process: a path could lead elsewhere since, or in another mount namespace.
package struct OpenExecutable: ~Copyable {
    private let descriptor: Int32
    package let state: FileState

    /// Whether the file is a regular one, with the content of a program or another.
    let isRegular: Bool

    /// - Returns: nil where the kernel does not show the file: the process has ended, or protects itself (`PR_SET_DUMPABLE`).
    init?(of process: Int32) { self.init(clinux_open_executable(process)) }

    /// The file at a path without symbolic links, whether or not a process runs it.
    ///
    /// - Returns: nil where it cannot be opened, with the reason in `errno`.
    init?(at path: String) { self.init(unsafe clinux_open_part(AT_FDCWD, path)) }

    private init?(_ descriptor: Int32) {
        guard descriptor >= 0 else { return nil }
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else {
            close(descriptor)
            return nil
        }
        self.descriptor = descriptor
        isRegular = status.st_mode & S_IFMT == S_IFREG
        state = FileState(status, birth: clinux_birth_of(descriptor))
    }

    deinit { close(descriptor) }

    /// Calls `body` with a descriptor of the file's content; nil where the user may not read it.
    package func withContent<Result>(_ body: (Int32) -> Result?) -> Result? {
        let content = unsafe open("/proc/self/fd/\(descriptor)", O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard content >= 0 else { return nil }
        defer { close(content) }
        return body(content)
    }

    /// Whether an interpreter runs the file: execve(2). False where the user may not read it.
    var isScript: Bool {
        withContent { content in
            var start: (UInt8, UInt8) = (0, 0)
            return unsafe pread(content, &start, 2, 0) == 2 && start == (UInt8(ascii: "#"), UInt8(ascii: "!"))
        } ?? false
    }

    /// Whether a program in user space provides the file system, which can show any owner and any content.
    var isInUserSpace: Bool { clinux_is_in_user_space(descriptor) != 0 }

    /// Whether the path leads to this file in this process's mount namespace, and no one but root can change or replace it there.
    ///
    /// - Parameter user: the user who must not be able to.
    func isRoots(_ path: String, against user: UInt32) -> Bool {
        guard user != 0, !isInUserSpace, let followed = FollowedPath(path, for: 0), followed.isOwn,
            FileMark(followed.status, birth: state.mark.birth) == state.mark
        else { return false }
        // Access control lists may allow more than owners and modes show.
        return user != geteuid() || !OpenExecutable.canReplace(followed.path)
    }

    /// Whether this process may write a part of the path.
    private static func canReplace(_ path: String) -> Bool {
        var part = path[...]
        while true {
            if unsafe faccessat(AT_FDCWD, part.isEmpty ? "/" : String(part), W_OK, AT_EACCESS) == 0 { return true }
            guard let end = part.lastIndex(of: "/") else { return false }
            part = part[..<end]
        }
    }
}

/// A file, distinct from each other file that exists or existed.
package struct FileMark: Hashable, Sendable {
    let device: UInt64
    let inode: UInt64
    /// The time at which the file was made, since a number of an inode is used again; negative where it is unknown.
    let birth: Int64

    init(_ status: stat, birth: Int64) {
        (device, inode, self.birth) = (UInt64(status.st_dev), UInt64(status.st_ino), birth)
    }
}

/// A file with the times at which its content changed.
package struct FileState: Hashable, Sendable {
    let mark: FileMark
    let size: Int64
    /// In nanoseconds.
    let modified: Int64
    /// In nanoseconds. A program cannot set this time.
    let changed: Int64

    init(_ status: stat, birth: Int64) {
        mark = FileMark(status, birth: birth)
        size = Int64(status.st_size)
        modified = FileState.nanoseconds(status.st_mtim)
        changed = FileState.nanoseconds(status.st_ctim)
    }

    private static func nanoseconds(_ time: timespec) -> Int64 {
        Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
    }
}
