internal import Glibc
internal import Synchronization
package import Wire

/// Bounds the memory for long messages of one client over all its connections, since each message may announce the length of the
/// longest item.
package final class MessageQuota: Sendable {
    private let count = Mutex(0)

    /// Long messages at a time; further ones wait. Most programs send none.
    private static let maximumCount = 4
    private static let longLength = (1 << 20) + (64 << 10)

    package init() {}

    /// Whether a message with a frame like this counts.
    package static func isLong(_ header: FrameHeader) -> Bool {
        header.kind == .part || header.fieldCount + header.secretCount > longLength
    }

    /// - Returns: false where a long message would be one too many.
    package func take() -> Bool {
        count.withLock { count in
            guard count < MessageQuota.maximumCount else { return false }
            count += 1
            return true
        }
    }

    /// Waits until other messages are answered.
    ///
    /// - Returns: false where the wait was over first.
    func take(unless isOver: () -> Bool) -> Bool {
        while !take() {
            guard !isOver() else { return false }
            usleep(5_000)
        }
        return true
    }

    /// Notes that a long message was answered.
    package func release() { count.withLock { $0 -= 1 } }
}
