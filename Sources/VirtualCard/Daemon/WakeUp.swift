internal import Glibc

/// A descriptor, the end of a pipe, that becomes readable when another thread signals.
final class WakeUp: Sendable {
    let descriptor: Int32
    private let signalling: Int32

    init() throws(VirtualCardError) {
        var ends: [Int32] = [-1, -1]
        guard unsafe pipe(&ends) == 0 else { throw FileSystem.failure(.unreachable, "cannot make a pipe") }
        (descriptor, signalling) = (ends[0], ends[1])
        for end in ends {
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
        }
    }

    deinit {
        close(descriptor)
        close(signalling)
    }

    func signal() {
        var byte: UInt8 = 0
        // A full pipe is readable already.
        _ = unsafe write(signalling, &byte, 1)
    }

    func clear() {
        var bytes = [UInt8](repeating: 0, count: 64)
        while unsafe read(descriptor, &bytes, bytes.count) > 0 {}
    }
}
