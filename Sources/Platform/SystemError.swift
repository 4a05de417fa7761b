internal import Glibc
internal import Localization

/// The error of a system call: an error number, errno(3).
public struct SystemError: Error, Hashable, Sendable, CustomStringConvertible {
    public let number: Int32

    public init(_ number: Int32) {
        self.number = number
    }

    /// The error of the last call.
    public init() {
        self.init(errno)
    }

    /// The system's text of the error, in lower case for the middle of a sentence.
    public var reason: String {
        guard let text = unsafe strerror(number) else { return "error \(number)" }
        return String(localized: LocalizedText(key: unsafe String(cString: text).lowercased()))
    }

    /// The texts that the catalogue has. The C library's own translations are for the language of the whole process, and need its locale.
    static let known: [LocalizedKey] = [
        "operation not permitted", "no such file or directory", "interrupted system call", "input/output error",
        "no such device or address", "argument list too long", "exec format error", "bad file descriptor",
        "no child processes", "resource temporarily unavailable", "cannot allocate memory", "permission denied",
        "device or resource busy", "file exists", "invalid cross-device link", "no such device", "not a directory",
        "is a directory", "invalid argument", "too many open files in system", "too many open files",
        "inappropriate ioctl for device", "text file busy", "file too large", "no space left on device",
        "illegal seek", "read-only file system", "too many links", "broken pipe", "resource deadlock avoided",
        "file name too long", "no locks available", "directory not empty",
        "too many levels of symbolic links", "value too large for defined data type", "operation not supported",
        "protocol not supported", "address already in use", "connection reset by peer", "connection timed out",
        "connection refused", "disk quota exceeded", "stale file handle", "operation canceled",
    ]

    public var description: String { reason }
}
