internal import CCryptoki
internal import CryptokiNames
internal import HostAPI
internal import KeychainModel
internal import Synchronization

/// The slots: one for each reader, in the readers' order, then one for each keychain of the search list.
///
/// A slot's id follows from its name, so that configuration files can refer to it: readers have ids below 0x10000, keychains from
/// there on. A reader that is plugged in again gets its former slot.
final class SlotTable: Sendable {
    private let service: any InProcessHost
    private let filter: TokenFilter
    private let promptPolicy: PromptPolicy
    private let log: Log
    private let state = Mutex(State())

    private struct State {
        var slots: [CK_SLOT_ID: Slot] = [:]
        /// The slots of the list that programs are given, in its order.
        var present: [CK_SLOT_ID] = []
        /// Whether the table has the readers that the card service knows.
        var hasReaders = false
    }

    init(_ service: any InProcessHost, _ filter: TokenFilter, _ promptPolicy: PromptPolicy, _ log: Log) {
        self.service = service
        self.filter = filter
        self.promptPolicy = promptPolicy
        self.log = log
    }

    /// The present slots.
    ///
    /// - Parameter refreshing: whether to look for slots again. The standard lets the list lose slots only then.
    func all(refreshing: Bool) -> [Slot] {
        if refreshing || !state.withLock({ $0.hasReaders }) { refresh(keepingAll: !refreshing) }
        return list
    }

    /// The slots of the list, and new ones, and the places that are present. A reader that is gone, as all are without the card service,
    /// stays a slot without a token until the program asks for the list again.
    func known() -> (slots: [Slot], places: [TokenPlace]) {
        let places = refresh(keepingAll: true)
        return (list, places)
    }

    /// Whether a slot's token may say that it wants a login.
    func mayWantLogin(_ slot: Slot) -> Bool {
        !promptPolicy.logsInOnce || all(refreshing: false).first { $0.hasToken }.map { $0.id == slot.id } ?? true
    }

    private var list: [Slot] { state.withLock { state in state.present.compactMap { state.slots[$0] } } }

    /// - Throws: `CKR_SLOT_ID_INVALID`.
    func slot(_ id: CK_SLOT_ID) throws(CryptokiError) -> Slot {
        if let slot = state.withLock({ $0.slots[id] }) { return slot }
        // Programs keep ids in configuration files, and use them without asking for the list.
        refresh(keepingAll: true)
        guard let slot = state.withLock({ $0.slots[id] }) else { throw CryptokiError(CKR_SLOT_ID_INVALID) }
        return slot
    }

    /// Releases all cards and keychains.
    func letGo() {
        state.withLock { $0 = State() }
        service.end()
    }

    @discardableResult
    private func refresh(keepingAll: Bool) -> [TokenPlace] {
        let found = (try? service.places(RequestContext(questions: .never))) ?? Outcome([])
        for gap in found.missing { log.write("\(gap.keychain): \(gap.error)") }
        let hasReaders = !found.missing.contains { $0.place == .allCards }
        let shown = found.found.filter { $0.kind == .card ? filter.wantsCards : filter.wants(keychain: $0.name) }
        state.withLock { state in
            var present: [CK_SLOT_ID] = []
            for place in shown {
                let range = place.kind == .card ? CryptokiSlotName.readers : CryptokiSlotName.keychains
                let id = SlotTable.id(of: place.location, in: range, among: state.slots)
                if state.slots[id] == nil, let itsState = try? service.state(of: place.location) {
                    state.slots[id] = Slot(id, place, itsState, service, filter, promptPolicy)
                }
                if state.slots[id] != nil { present.append(id) }
            }
            if keepingAll { present = state.present + present.filter { !state.present.contains($0) } }
            (state.present, state.hasReaders) = (present, hasReaders || keepingAll && state.hasReaders)
        }
        return found.found
    }

    /// The id of a name: the number that follows from it, or the next one that no other name has.
    private static func id(
        of name: String, in range: Range<CK_SLOT_ID>, among slots: [CK_SLOT_ID: Slot]
    ) -> CK_SLOT_ID {
        let count = CK_SLOT_ID(range.count)
        var offset = CryptokiSlotName.number(of: name, in: range) - range.lowerBound
        while let other = slots[range.lowerBound + offset], other.name != name { offset = (offset + 1) % count }
        return range.lowerBound + offset
    }
}
