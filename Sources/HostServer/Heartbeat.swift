internal import Glibc
internal import Platform
internal import Synchronization
internal import WireTransport

/// Sends signs of life to clients that wait for an answer, which may depend on a person, a card or an event for any time.
final class Heartbeat: Sendable {
    private let waiting = Mutex<[ObjectIdentifier: FrameSocket]>([:])

    /// In seconds. A client gives its host up after five intervals of silence.
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
