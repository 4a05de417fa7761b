internal import CLinux
internal import Glibc

/// A descriptor that is readable from a signal until it is taken. Wraps `eventfd`.
final class Signal: Sendable {
    /// To be polled; negative where the system has no more descriptors.
    let descriptor: Int32

    init() {
        descriptor = clinux_event()
    }

    deinit {
        if descriptor >= 0 { close(descriptor) }
    }

    func send() {
        var one: UInt64 = 1
        _ = unsafe write(descriptor, &one, 8)
    }

    /// Waits for the signal, or for one of the other descriptors to be readable, and takes the signal.
    ///
    /// - Parameter limit: how long at the most, in milliseconds; negative for no limit.
    /// - Returns: false where waiting is not possible.
    func wait(orFor others: [Int32], atMost limit: Int32 = -1) -> Bool {
        var waiting = ([descriptor] + others).map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
        guard descriptor >= 0 else { return false }
        while unsafe poll(&waiting, nfds_t(waiting.count), limit) < 0 {
            guard errno == EINTR else { return false }
        }
        var count: UInt64 = 0
        if waiting[0].revents != 0 { _ = unsafe read(descriptor, &count, 8) }
        return true
    }
}
