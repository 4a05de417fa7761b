internal import CCryptoki
internal import Synchronization
internal import TokenKit

/// The slots into which a card was inserted, or from which one was removed, since the program last asked. PKCS #11 §5.5.4.
final class SlotEvents: Sendable {
    private let slots: SlotTable
    private let state = Mutex(State())

    private struct State {
        /// The state of the slots at the last look; nil before the first look.
        var seen: [CK_SLOT_ID: ReaderOccupancy]?
        var pending: [CK_SLOT_ID] = []
        var monitors: [ReaderMonitor] = []
        var hasEnded = false
    }

    init(_ slots: SlotTable) {
        self.slots = slots
    }

    /// - Parameter watch: reports events of readers until its monitor is cancelled, on the program's own thread.
    /// - Throws: `CKR_NO_EVENT`, `CKR_CRYPTOKI_NOT_INITIALIZED`.
    func next(
        blocking: Bool, watch: (ReaderMonitor, (ReaderEvent) -> Void) -> Void = { $0.run($1) }
    ) throws(CryptokiError) -> CK_SLOT_ID {
        look()
        if let slot = take() { return slot }
        guard blocking else { throw CryptokiError(CKR_NO_EVENT) }
        let monitor = ReaderMonitor()
        let mayWait = state.withLock { state in
            if !state.hasEnded { state.monitors.append(monitor) }
            return !state.hasEnded
        }
        defer { state.withLock { $0.monitors.removeAll { $0 === monitor } } }
        var found: CK_SLOT_ID?
        if mayWait {
            watch(monitor) { _ in
                // Simultaneous events come one by one, even after the monitor was cancelled. The remaining slots wait for the
                // next call.
                guard found == nil else { return }
                look()
                found = take()
                if found != nil { monitor.cancel() }
            }
        }
        guard let found else { throw CryptokiError(CKR_CRYPTOKI_NOT_INITIALIZED) }
        return found
    }

    /// Ends every wait.
    func cancel() {
        let monitors = state.withLock { state in
            state.hasEnded = true
            return state.monitors
        }
        for monitor in monitors { monitor.cancel() }
    }

    var haveBegun: Bool { state.withLock { $0.seen != nil } }

    /// Sets the state before any event to that of the first list which the program was given.
    func begin(with slots: [(CK_SLOT_ID, ReaderOccupancy)]) {
        state.withLock { state in
            if state.seen == nil { state.seen = Dictionary(slots) { $1 } }
        }
    }

    private func look() {
        let now = slots.known().map { ($0.id, $0.occupancy) }
        state.withLock { state in
            let earlier = state.seen
            // A reader that was unplugged has no card.
            var current = earlier?.mapValues { ReaderOccupancy(hasCard: false, changeCount: $0.changeCount) } ?? [:]
            for (id, occupancy) in now { current[id] = occupancy }
            if let earlier {
                let changed = current.filter { id, occupancy in
                    let before = earlier[id] ?? ReaderOccupancy(hasCard: false)
                    // A restarted service counts from the beginning.
                    return before.hasCard != occupancy.hasCard
                        || occupancy.hasCard && occupancy.changeCount > before.changeCount
                }
                state.pending += changed.keys.sorted().filter { !state.pending.contains($0) }
            }
            state.seen = current
        }
    }

    private func take() -> CK_SLOT_ID? {
        state.withLock { $0.pending.isEmpty ? nil : $0.pending.removeFirst() }
    }
}
