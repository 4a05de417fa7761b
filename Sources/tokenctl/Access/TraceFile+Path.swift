internal import Glibc
internal import KeychainHost
internal import Platform

extension TraceFile {
    /// Opens the file of a trace, at whose end it is written.
    convenience init(path: String) throws {
        // A named pipe that is not read would hold the command for ever.
        let descriptor = unsafe open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0o600)
        guard descriptor >= 0 else {
            let error = SystemError()
            let reason = error.number == ENXIO ? "no program reads this pipe" : error.reason
            throw CommandError("cannot write the trace to '\(path)'", reason)
        }
        self.init()
        write(to: descriptor)
    }
}
