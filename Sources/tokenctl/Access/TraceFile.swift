internal import Glibc
internal import Localization
internal import Platform

/// The file of a trace.
enum TraceFile {
    /// Opens the file, at whose end the trace is written.
    ///
    /// - Returns: its descriptor.
    static func open(_ path: String) throws -> Int32 {
        // A named pipe that is not read would hold the command for ever.
        let descriptor = unsafe Glibc.open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0o600)
        guard descriptor >= 0 else {
            let error = SystemError()
            let reason: LocalizedText = error.number == ENXIO ? "no program reads this pipe" : "\(error.reason)"
            throw CommandError("cannot write the trace to '\(path)'", reason)
        }
        return descriptor
    }
}
