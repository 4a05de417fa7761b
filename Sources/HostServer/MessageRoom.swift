internal import Glibc
internal import Synchronization
internal import Wire

/// Bounds the memory that long messages of one client take, however many connections it sends them over: each may promise as much
/// as the longest item has.
final class MessageRoom: Sendable {
    private let count = Mutex(0)

    /// Messages that are longer than what most programs send at once; further ones wait.
    private static let maximumCount = 4
    private static let longLength = (1 << 20) + (64 << 10)

    private static func isLong(_ header: FrameHeader) -> Bool { header.fieldCount + header.secretCount > longLength }

    /// - Returns: false where there is none in time.
    func take(for header: FrameHeader, _ deadline: ContinuousClock.Instant) -> Bool {
        guard MessageRoom.isLong(header) else { return true }
        while true {
            let isTaken = count.withLock { count in
                guard count < MessageRoom.maximumCount else { return false }
                count += 1
                return true
            }
            if isTaken { return true }
            guard ContinuousClock.now < deadline else { return false }
            usleep(5_000)
        }
    }

    /// Once the message is answered.
    func giveBack(for header: FrameHeader) {
        if MessageRoom.isLong(header) { count.withLock { $0 -= 1 } }
    }
}
