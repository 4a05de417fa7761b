internal import Glibc
internal import Synchronization
public import TokenKit

/// The trace of commands and answers in a file. The caller has masked their confidential parts.
///
/// The lines are written while a card's transaction is held. A pipe whose reader has stopped ends the trace, not the card's operation.
public final class TraceFile: CardTrace {
    /// The file; nil for none. Held while a pair of lines is written, so that threads do not mix theirs.
    private let descriptor: Mutex<Int32?>

    /// The time for which a pair of lines waits for a reader, in milliseconds.
    private static let patience: Int32 = 1_000

    /// Makes a trace that writes nothing yet.
    public init() { descriptor = Mutex(nil) }

    deinit {
        if let descriptor = descriptor.withLock(\.self) { close(descriptor) }
    }

    /// Writes the lines to a file from now on.
    ///
    /// - Parameter file: its descriptor, which the trace takes over, and whose blocking mode it changes.
    public func write(to file: Int32) {
        _ = fcntl(file, F_SETFL, fcntl(file, F_GETFL) | O_NONBLOCK)
        let former = descriptor.withLock { descriptor in
            defer { descriptor = file }
            return descriptor
        }
        if let former { close(former) }
    }

    public func exchanged(command: String, response: String) {
        descriptor.withLock { descriptor in
            guard let file = descriptor else { return }
            guard TraceFile.write(Array("> \(command)\n< \(response)\n".utf8), to: file) else {
                close(file)
                descriptor = nil
                return
            }
        }
    }

    /// - Returns: false where a reader did not take the bytes in time. A write that fails otherwise, as on a full disk, is left out.
    private static func write(_ bytes: [UInt8], to file: Int32) -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = unsafe rest.withUnsafeBytes { unsafe Glibc.write(file, $0.baseAddress, $0.count) }
            if count >= 0 {
                rest = rest.dropFirst(count)
            } else if errno == EAGAIN {
                var awaited = pollfd(fd: file, events: Int16(POLLOUT), revents: 0)
                guard unsafe poll(&awaited, 1, patience) != 0 else { return false }
            } else if errno != EINTR {
                return true
            }
        }
        return true
    }
}
