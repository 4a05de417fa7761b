package import KeychainModel
internal import Glibc
internal import Localization
internal import Platform
internal import SecureBytes

/// The log of calls that were refused. The variable `TOKENKIT_DEBUG` turns it on.
///
/// The variable is the path of a file to append to, with a slash in it; any other value except `0` means standard error, as for
/// the PKCS#11 module. A line has the function, the reason, and the key of the query that caused it. Secrets are never logged.
package enum RefusalLog {
    /// - Parameter function: the function as the program calls it; its parentheses are left out.
    package static func note(_ function: StaticString, _ error: KeychainError) {
        let name = "\(function)".prefix { $0 != "(" }
        note("\(name): \(error)" + (error.key.map { ", key \($0)" } ?? ""))
    }

    /// Notes the gaps of an answer, of which SecItem does not tell the program.
    package static func note(_ missing: [Missing]) {
        for gap in missing { note("missing in '\(gap.keychain)': \(gap.error)") }
    }

    private static func note(_ text: String) {
        guard let place = Environment.variable("TOKENKIT_DEBUG"), !place.isEmpty, place != "0" else { return }
        write(line(text), to: place)
    }

    /// The line of the log. Characters that would move a terminal's cursor or change the text's direction are replaced.
    private static func line(_ text: String) -> [UInt8] {
        var now = timespec()
        unsafe clock_gettime(CLOCK_REALTIME, &now)
        let milliseconds = String(now.tv_nsec / 1_000_000 + 1000).dropFirst()
        let line = DisplayText.line("tokenkit[\(getpid())] \(now.tv_sec).\(milliseconds) \(text)")
        return Array("\(line)\n".utf8)
    }

    /// Appends in one call, so that lines of several threads and processes stay whole. A line that cannot be written is lost.
    private static func write(_ line: [UInt8], to place: String) {
        guard place.contains("/") else {
            _ = unsafe Glibc.write(STDERR_FILENO, line, line.count)
            return
        }
        // Opening a pipe without a reader would block the program.
        let descriptor = unsafe open(
            place, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0o600)
        guard descriptor >= 0 else { return }
        _ = unsafe Glibc.write(descriptor, line, line.count)
        close(descriptor)
    }
}
