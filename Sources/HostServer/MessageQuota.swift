internal import Glibc
internal import Synchronization
internal import Wire

/// Bounds the memory for long messages of one client over all its connections, since each message may announce the length of the
/// longest item.
final class MessageQuota: Sendable {
    private let count = Mutex(0)

    /// Long messages at a time; further ones wait. Most programs send none.
    private static let maximumCount = 4
    private static let longLength = (1 << 20) + (64 << 10)

    private static func isLong(_ header: FrameHeader) -> Bool { header.fieldCount + header.secretCount > longLength }

    /// - Returns: false where a long message would be one too many until the deadline.
    func take(for header: FrameHeader, _ deadline: ContinuousClock.Instant) -> Bool {
        guard MessageQuota.isLong(header) else { return true }
        while true {
            let isTaken = count.withLock { count in
                guard count < MessageQuota.maximumCount else { return false }
                count += 1
                return true
            }
            if isTaken { return true }
            guard ContinuousClock.now < deadline else { return false }
            usleep(5_000)
        }
    }

    /// Notes that a message was answered.
    func release(for header: FrameHeader) {
        if MessageQuota.isLong(header) { count.withLock { $0 -= 1 } }
    }
}
