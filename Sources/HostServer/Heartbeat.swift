internal import Glibc
internal import Synchronization
internal import TokenKit

/// Tells clients that wait for an answer that the host is alive: it may wait for a person, a card or an event as long as those like.
final class Heartbeat: Sendable {
    private let waiting = Mutex<[ObjectIdentifier: FrameSocket]>([:])

    /// A client believes that its host hangs after five of them.
    private static let interval: UInt32 = 5

    func start() {
        BlockingThread.start { [self] in
            while true {
                sleep(Heartbeat.interval)
                for connection in waiting.withLock({ Array($0.values) }) { connection.sendWorking() }
            }
        }
    }

    func begin(_ connection: FrameSocket, _ number: UInt32) {
        connection.begin(number: number)
        waiting.withLock { $0[ObjectIdentifier(connection)] = connection }
    }

    func end(_ connection: FrameSocket) {
        _ = waiting.withLock { $0.removeValue(forKey: ObjectIdentifier(connection)) }
    }
}
