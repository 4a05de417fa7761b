internal import CCryptoki
internal import Glibc
internal import HostAPI
internal import KeychainModel
internal import Synchronization

/// The slots into which a card was inserted, or from which one was removed, since the program last asked. PKCS #11 §5.5.4.
final class SlotEvents: Sendable {
    private let slots: SlotTable
    private let service: any InProcessHost
    private let state = Mutex(State())

    private struct State {
        /// The state of the slots at the last look; nil before the first look.
        var seen: [CK_SLOT_ID: TokenPlace.Occupancy]?
        var pending: [CK_SLOT_ID] = []
        var lastWait: UInt64 = 0
        /// The requests that wait for a change.
        var waits: Set<RequestNumber> = []
        var hasEnded = false
    }

    init(_ slots: SlotTable, _ service: any InProcessHost) {
        self.slots = slots
        self.service = service
    }

    /// - Throws: `CKR_NO_EVENT`, `CKR_CRYPTOKI_NOT_INITIALIZED`.
    func next(blocking: Bool) throws(CryptokiError) -> CK_SLOT_ID {
        while true {
            let places = look()
            if let slot = take() { return slot }
            guard blocking else { throw CryptokiError(CKR_NO_EVENT) }
            guard let wait = beginWait() else { throw CryptokiError(CKR_CRYPTOKI_NOT_INITIALIZED) }
            defer { _ = state.withLock { $0.waits.remove(wait) } }
            do throws(KeychainError) {
                _ = try service.awaitPlaces(otherThan: places, RequestContext(number: wait, questions: .never))
            } catch {
                throw CryptokiError(CKR_CRYPTOKI_NOT_INITIALIZED)
            }
        }
    }

    private func beginWait() -> RequestNumber? {
        state.withLock { state in
            guard !state.hasEnded else { return nil }
            state.lastWait += 1
            let number = RequestNumber(rawValue: state.lastWait)
            state.waits.insert(number)
            return number
        }
    }

    /// Ends every wait. A request that is about to begin is not cancelled yet, so that this is repeated until no wait is left.
    func cancel() {
        state.withLock { $0.hasEnded = true }
        while true {
            let waits = state.withLock { $0.waits }
            guard !waits.isEmpty else { return }
            for wait in waits { service.cancel(wait) }
            usleep(1_000)
        }
    }

    var haveBegun: Bool { state.withLock { $0.seen != nil } }

    /// Sets the state before any event to that of the first list which the program was given.
    func begin(with slots: [(CK_SLOT_ID, TokenPlace.Occupancy)]) {
        state.withLock { state in
            if state.seen == nil { state.seen = Dictionary(slots) { $1 } }
        }
    }

    /// - Returns: the places that were looked at.
    private func look() -> [TokenPlace] {
        let (slots, places) = slots.known()
        let now = slots.map { ($0.id, $0.occupancy) }
        state.withLock { state in
            let earlier = state.seen
            // A reader that was unplugged has no card.
            var current =
                earlier?.mapValues { TokenPlace.Occupancy(hasToken: false, changeCount: $0.changeCount) } ?? [:]
            for (id, occupancy) in now { current[id] = occupancy }
            if let earlier {
                let changed = current.filter { id, occupancy in
                    let before = earlier[id] ?? TokenPlace.Occupancy(hasToken: false)
                    // A restarted service counts from the beginning.
                    return before.hasToken != occupancy.hasToken
                        || occupancy.hasToken && occupancy.changeCount > before.changeCount
                }
                state.pending += changed.keys.sorted().filter { !state.pending.contains($0) }
            }
            state.seen = current
        }
        return places
    }

    private func take() -> CK_SLOT_ID? {
        state.withLock { $0.pending.isEmpty ? nil : $0.pending.removeFirst() }
    }
}
