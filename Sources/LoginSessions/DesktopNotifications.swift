internal import CSystemd
internal import Glibc
internal import Platform
internal import Synchronization

/// Shows notifications on the desktop, one for each topic at a time, by the notification server on the session's bus.
///
/// No call waits: one thread talks to the bus, with the last wish for each topic. Without libsystemd, a bus or a server nothing is shown.
package final class DesktopNotifications: Sendable {
    /// A topic, and its bubble.
    private struct Topic {
        /// The number of the last wish.
        var number: UInt64
        /// The wanted notification; nil to have the bubble closed.
        var wanted: DesktopNotification?
        var bubble: NotificationServer.Bubble?
    }

    private struct State {
        var last: UInt64 = 0
        var topics: [String: Topic] = [:]
        /// The topics whose wish was not carried out yet.
        var queue: [String] = []
        var hasThread = false

        /// - Returns: false where all known topics wait for the bus.
        mutating func makeRoom() -> Bool {
            guard topics.count >= DesktopNotifications.maximumCount else { return true }
            let oldest = topics.filter { !queue.contains($0.key) }.min { $0.value.number < $1.value.number }
            guard let oldest else { return false }
            topics[oldest.key] = nil
            return true
        }

        mutating func enqueue(_ topic: String) {
            if !queue.contains(topic) { queue.append(topic) }
        }

        /// Takes the first topic of the queue.
        mutating func next() -> (name: String, topic: Topic)? {
            while !queue.isEmpty {
                let name = queue.removeFirst()
                if let topic = topics[name] { return (name, topic) }
            }
            return nil
        }
    }

    /// The most topics that are known. A further one takes the place of the oldest whose wish was carried out.
    static let maximumCount = 32
    /// The time for which the thread and its connection stay without a wish. Some desktops take bubbles away with their program's connection.
    private static let idleTime = Duration.seconds(600)

    private let address: String
    private let pause: Duration
    private let state = Mutex(State())
    private let change = CountingSemaphore()

    /// - Parameters:
    ///   - address: the address of the bus, as ``SessionBus`` finds it.
    ///   - pause: the time after a failure of the bus in which nothing is shown.
    package init(bus address: String, pause: Duration = .seconds(30)) {
        (self.address, self.pause) = (address, pause)
    }

    /// Shows a notification in place of the topic's former one. Does not wait.
    ///
    /// - Returns: the number by which to close it.
    package func show(_ notification: DesktopNotification, about topic: String) -> UInt64 {
        wish { state in
            if state.topics[topic] == nil, !state.makeRoom() { return }
            state.topics[topic, default: Topic(number: 0)].number = state.last
            state.topics[topic]?.wanted = notification
            state.enqueue(topic)
        }
    }

    /// Takes a notification away, unless another one has replaced it. Does not wait.
    package func close(_ number: UInt64) {
        _ = wish { state in
            guard let (topic, entry) = state.topics.first(where: { $0.value.number == number }), entry.wanted != nil
            else { return }
            state.topics[topic]?.wanted = nil
            state.enqueue(topic)
        }
    }

    /// - Returns: the number of the wish.
    private func wish(_ change: (inout State) -> Void) -> UInt64 {
        let (number, isFirst) = state.withLock { state in
            state.last += 1
            change(&state)
            let isFirst = !state.hasThread && !state.queue.isEmpty
            if isFirst { state.hasThread = true }
            return (state.last, isFirst)
        }
        // A system without a thread to spare shows nothing.
        if isFirst, !BlockingThread.start({ [self] in serve() }) { state.withLock { $0 = State(last: $0.last) } }
        self.change.signal()
        return number
    }

    // MARK: The thread

    private func serve() {
        guard let systemd = unsafe csystemd_load() else { return forgetAll() }
        var server: NotificationServer?
        var nextAttempt = ContinuousClock.now
        while true {
            while let (name, topic) = state.withLock({ $0.next() }) {
                guard ContinuousClock.now >= nextAttempt else {
                    note(nil, of: name)
                    continue
                }
                do throws(BusError) {
                    note(try unsafe carryOut(topic, &server, systemd), of: name)
                } catch {
                    nextAttempt = .now + pause
                    note(nil, of: name)
                }
            }
            if change.wait(for: DesktopNotifications.idleTime) { continue }
            let isOver = state.withLock { state in
                if state.queue.isEmpty { state.hasThread = false }
                return !state.hasThread
            }
            if isOver { return }
        }
    }

    /// Carries out the wish for a topic. A connection that has ended since its last use is replaced.
    private func carryOut(
        _ topic: Topic, _ server: inout NotificationServer?, _ systemd: UnsafePointer<csystemd>
    ) throws(BusError) -> NotificationServer.Bubble? {
        guard topic.wanted != nil || topic.bubble != nil else { return nil }
        while true {
            let isReused = server != nil
            do throws(BusError) {
                if server == nil { server = try unsafe NotificationServer(bus: address, systemd) }
                if let wanted = topic.wanted { return try server?.show(wanted, replacing: topic.bubble) }
                if let bubble = topic.bubble { try server?.close(bubble) }
                return nil
            } catch {
                server = nil
                guard isReused, [ECONNRESET, ENOTCONN, EPIPE].contains(error.code) else { throw error }
            }
        }
    }

    /// Notes the bubble of a topic, and forgets a topic that has none and wants none.
    private func note(_ bubble: NotificationServer.Bubble?, of name: String) {
        state.withLock { state in
            state.topics[name]?.bubble = bubble
            if bubble == nil, !state.queue.contains(name) { state.topics[name] = nil }
        }
    }

    /// Without libsystemd nothing is ever shown: the thread is not started again.
    private func forgetAll() { state.withLock { $0 = State(last: $0.last, hasThread: true) } }
}
