internal import Glibc
internal import KeychainHost

/// What the module did and why it refused, for somebody who looks for a fault.
///
/// `TOKENKIT_DEBUG` names a file to append to, with a slash in it; any other word stands for standard error. A PIN, a key or
/// decrypted data is never part of it.
package struct Log: Sendable {
    private let path: String?

    package init(variable: (String) -> String? = { Directories.environmentVariable($0) }) {
        path = variable("TOKENKIT_DEBUG").flatMap { $0.isEmpty || $0 == "0" ? nil : $0 }
    }

    package func write(_ text: @autoclosure () -> String) {
        guard let path else { return }
        let line = "tokenkit-pkcs11[\(getpid())] \(Log.time()) \(text())\n"
        guard path.contains("/") else { return Log.append(line, to: STDERR_FILENO) }
        let descriptor = unsafe open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { return }
        Log.append(line, to: descriptor)
        close(descriptor)
    }

    /// One call, so that lines of several threads and processes stay whole.
    private static func append(_ line: String, to descriptor: Int32) {
        let bytes = Array(line.utf8)
        _ = unsafe bytes.withUnsafeBytes { unsafe Glibc.write(descriptor, $0.baseAddress, $0.count) }
    }

    private static func time() -> String {
        var now = timespec()
        unsafe clock_gettime(CLOCK_REALTIME, &now)
        let milliseconds = String(now.tv_nsec / 1_000_000)
        return "\(now.tv_sec).\(String(repeating: "0", count: max(3 - milliseconds.count, 0)))\(milliseconds)"
    }
}
