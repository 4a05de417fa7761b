internal import Glibc

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
        unsafe strerror(number).map { unsafe String(cString: $0).lowercased() } ?? "error \(number)"
    }

    public var description: String { reason }
}
