internal import Glibc
internal import Platform
internal import Synchronization
internal import TokenKit

/// The trace of commands and answers in a file. The caller has masked their confidential parts.
final class TraceFile: CardTrace {
    /// Held while a pair of lines is written, so that threads do not mix theirs.
    private let descriptor: Mutex<Int32>

    init(path: String) throws {
        // A named pipe that is not read would hold the command for ever.
        let descriptor = unsafe open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0o600)
        guard descriptor >= 0 else {
            let error = SystemError()
            let reason = error.number == ENXIO ? "no program reads this pipe" : error.reason
            throw CommandError("cannot write the trace to '\(path)'", reason)
        }
        _ = fcntl(descriptor, F_SETFL, O_APPEND)
        self.descriptor = Mutex(descriptor)
    }

    func exchanged(command: String, response: String) {
        // A write that fails, as on a full disk, must not interrupt a card's operation.
        descriptor.withLock { try? Descriptor.write("> \(command)\n< \(response)\n", to: $0) }
    }
}
