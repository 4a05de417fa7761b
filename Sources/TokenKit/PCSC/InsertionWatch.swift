internal import Glibc
internal import Platform
internal import Synchronization

/// Tells whether a reader still has the same card as before, without a connection to the card.
///
/// The service counts insertions and removals since its own start and since the reader was plugged in. By the count alone, one
/// USB token could not be told from the next. A monitor notices restarts of the service and removals of readers. It runs until
/// nothing was asked for ``patience``.
package final class InsertionWatch: Sendable {
    private struct State {
        var monitor: ReaderMonitor?
        /// The number of events so far.
        var eventCount = 0
        /// The number of the event with which each reader's card was inserted.
        var arrivals: [String: Int] = [:]
        var lastAsked = ContinuousClock.now
    }

    private let state = Mutex(State())

    /// The time that the monitor runs after the last question.
    private static let patience = Duration.seconds(10)

    package init() {}

    /// The insertion of the card in a reader; nil without a card, or where it is unknown.
    package func insertion(in reader: String) -> CardInsertion? {
        // A restarted service shows by another context.
        guard let (service, status) = StatusContext.shared.numberedStatus(of: reader), status.presence != .absent,
            let arrival = arrival(in: reader)
        else { return nil }
        return CardInsertion(service: service, arrival: arrival, changeCount: Int(status.changeCount))
    }

    /// The number of the event with which a reader's card was inserted. A monitor that has just started reports it after a
    /// moment.
    private func arrival(in reader: String) -> Int? {
        let isStarted = state.withLock { state in
            state.lastAsked = .now
            if state.monitor == nil { start(&state) }
            return state.monitor != nil
        }
        guard isStarted else { return nil }
        for _ in 0..<50 {
            if let arrival = state.withLock({ $0.arrivals[reader] }) { return arrival }
            usleep(1_000)
        }
        return nil
    }

    // MARK: The monitor

    private func start(_ state: inout State) {
        let monitor = ReaderMonitor()
        let isStarted = BlockingThread.start { [self] in
            monitor.run { note($0) }
        }
        guard isStarted else { return }
        state.monitor = monitor
        let isEnded = BlockingThread.start { [self] in
            while let rest = restOfPatience() { usleep(useconds_t(rest / .microseconds(1))) }
            monitor.cancel()
        }
        if !isEnded {
            monitor.cancel()
            state.monitor = nil
        }
    }

    private func note(_ event: ReaderEvent) {
        state.withLock { state in
            state.eventCount += 1
            switch event {
            case .cardInserted(let reader, _), .cardMute(let reader): state.arrivals[reader] = state.eventCount
            case .cardRemoved(let reader), .readerRemoved(let reader): state.arrivals[reader] = nil
            case .serviceUnavailable: state.arrivals = [:]
            case .readerAdded, .serviceAvailable: break
            }
        }
    }

    /// The time for which the monitor still runs; nil once it is over.
    private func restOfPatience() -> Duration? {
        state.withLock { state in
            let rest = InsertionWatch.patience - state.lastAsked.duration(to: .now)
            if rest > .zero { return rest }
            (state.monitor, state.arrivals) = (nil, [:])
            return nil
        }
    }
}

/// Identifies one insertion of a card in any reader, among all insertions while a process runs.
package struct CardInsertion: Hashable, Sendable {
    private let service: Int
    private let arrival: Int
    private let changeCount: Int

    package init(service: Int = 0, arrival: Int = 0, changeCount: Int) {
        (self.service, self.arrival, self.changeCount) = (service, arrival, changeCount)
    }
}
