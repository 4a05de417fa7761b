internal import FoundationEssentials
internal import Glibc
internal import TokenKit

enum StandardInput {
    private static let maximumLineLength = 4096

    /// The first line of standard input, without its end; what follows is left alone.
    static func secretLine() throws -> Secret {
        Secret(capacity: maximumLineLength) { output in
            var byte: UInt8 = 0
            while output.freeCapacity > 0, unsafe read(STDIN_FILENO, &byte, 1) == 1, byte != UInt8(ascii: "\n") {
                output.append(byte)
            }
        }
    }
}

enum StandardOutput {
    /// Writes a secret without a copy of it.
    static func write(_ secret: borrowing Secret, newline: Bool = false, to descriptor: Int32 = STDOUT_FILENO) {
        // Whatever print has buffered comes first.
        fflush(nil)
        _ = Descriptor.write(secret.bytes, to: descriptor)
        if newline { _ = Descriptor.write("\n", to: descriptor) }
    }
}

enum Descriptor {
    /// - Returns: whether all of it was written.
    static func write(_ text: String, to descriptor: Int32) -> Bool {
        write(Array(text.utf8).span, to: descriptor)
    }

    /// - Returns: whether all of it was written.
    static func write(_ bytes: Span<UInt8>, to descriptor: Int32) -> Bool {
        unsafe bytes.withUnsafeBytes { buffer in
            var offset = 0
            while offset < buffer.count {
                let count = unsafe Glibc.write(
                    descriptor, buffer.baseAddress?.advanced(by: offset), buffer.count - offset)
                if count < 0 && errno == EINTR { continue }
                guard count > 0 else { return false }
                offset += count
            }
            return true
        }
    }
}

enum Clock {
    /// A time in UTC, as RFC 3339 writes it.
    static func text(_ seconds: Int64) -> String {
        Date(timeIntervalSince1970: TimeInterval(seconds)).formatted(.iso8601)
    }

    static var now: Int64 { Int64(Date().timeIntervalSince1970) }
}
