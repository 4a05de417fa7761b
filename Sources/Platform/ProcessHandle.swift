internal import CLinux
internal import Glibc

/// A process by its number, with a descriptor that shows its end, so that another process with the number is not taken for it.
///
/// A fact that was read under `/proc` is one of this process if ``hasEnded`` is false afterwards. Wraps `pidfd_open`.
///
/// A process that has sent a request can execute another program, under whose name the request would then be judged. The handle of a
/// connection is therefore made as soon as the connection is there, and ``run`` is compared later.
package final class ProcessHandle: Sendable {
    package let process: Int32
    /// Readable once the process has ended.
    package let descriptor: Int32
    /// The program that the process ran when the handle was made.
    package let run: ProgramRun?

    /// - Returns: nil where there is no such process.
    package convenience init?(_ process: Int32) {
        guard process > 0 else { return nil }
        self.init(process, clinux_process(process))
    }

    /// The process that connected the other end of a socket, or made the pair.
    ///
    /// Before Linux 6.5, a process that ends before this call can have left its number to another one.
    ///
    /// - Returns: nil where it has ended, or is in a PID namespace whose processes have no number here.
    package convenience init?(peerOf socket: Int32) {
        var (process, user): (Int32, UInt32) = (0, 0)
        guard unsafe clinux_peer(socket, &process, &user) == 0, process > 0 else { return nil }
        let descriptor = clinux_peer_process(socket)
        self.init(process, descriptor == -ENOPROTOOPT ? clinux_process(process) : descriptor)
    }

    /// - Parameter descriptor: negative where none could be made.
    private init?(_ process: Int32, _ descriptor: Int32) {
        guard descriptor >= 0 else { return nil }
        (self.process, self.descriptor) = (process, descriptor)
        run = ProgramRun(of: process)
        // Newer systems have descriptors of processes that have ended.
        if hasEnded { return nil }
    }

    deinit { close(descriptor) }

    /// Whether the process has not ended, and has executed no other file. One that has hidden its file since may have executed another.
    var runsSameProgram: Bool {
        guard let run, let now = ProgramRun(of: process), now.startTime == run.startTime else { return false }
        return now.file == run.file && !hasEnded
    }

    package var hasEnded: Bool {
        var watched = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return unsafe poll(&watched, 1, 0) != 0
    }
}
