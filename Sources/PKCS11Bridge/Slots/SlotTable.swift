internal import CryptokiNames
internal import KeychainModel
internal import CCryptoki
internal import KeychainHost
internal import Synchronization
internal import TokenKit

/// The slots: one for each reader, in the readers' order, then one for each keychain of the search list.
///
/// A slot's id follows from its name, so that configuration files can refer to it: readers have ids below 0x10000, keychains from
/// there on. A reader that is plugged in again gets its former slot.
final class SlotTable: Sendable {
    private let process: ProcessKeychains
    private let filter: TokenFilter
    private let promptPolicy: PromptPolicy
    private let knownCards: KnownCards?
    private let log: Log
    private let state = Mutex(State())

    private struct State {
        var slots: [CK_SLOT_ID: any Slot] = [:]
        /// The slots of the list that programs are given, in its order.
        var present: [CK_SLOT_ID] = []
        /// Whether the table has the readers that the card service knows.
        var hasReaders = false
    }

    init(
        _ process: ProcessKeychains, _ filter: TokenFilter, _ promptPolicy: PromptPolicy, _ knownCards: KnownCards?,
        _ log: Log
    ) {
        self.process = process
        self.filter = filter
        self.promptPolicy = promptPolicy
        self.knownCards = knownCards
        self.log = log
    }

    /// The present slots.
    ///
    /// - Parameter refreshing: whether to look for slots again. The standard lets the list lose slots only then.
    func all(refreshing: Bool) -> [any Slot] {
        if refreshing || !state.withLock({ $0.hasReaders }) { refresh(keepingAll: !refreshing) }
        return list
    }

    /// The slots of the list, and new ones. A reader that is gone, as all are without the card service, stays a slot without a
    /// token until the program asks for the list again.
    func known() -> [any Slot] {
        refresh(keepingAll: true)
        return list
    }

    /// Whether a slot's token may say that it wants a login.
    func mayWantLogin(_ slot: any Slot) -> Bool {
        !promptPolicy.logsInOnce || all(refreshing: false).first { $0.hasToken }.map { $0.id == slot.id } ?? true
    }

    private var list: [any Slot] { state.withLock { state in state.present.compactMap { state.slots[$0] } } }

    /// - Throws: `CKR_SLOT_ID_INVALID`.
    func slot(_ id: CK_SLOT_ID) throws(CryptokiError) -> any Slot {
        if let slot = state.withLock({ $0.slots[id] }) { return slot }
        // Programs keep ids in configuration files, and use them without asking for the list.
        refresh(keepingAll: true)
        guard let slot = state.withLock({ $0.slots[id] }) else { throw CryptokiError(CKR_SLOT_ID_INVALID) }
        return slot
    }

    /// Releases all cards and keychains.
    func letGo() {
        let slots = state.withLock { state in
            let slots = Array(state.slots.values)
            state = State()
            return slots
        }
        for slot in slots { slot.endWaits() }
        for slot in slots { slot.letGo() }
        process.letGo()
    }

    private func refresh(keepingAll: Bool) {
        let found = present()
        let tokens = filter.wantsCards ? found?.tokens.map(\.slot) ?? [] : []
        let hasReaders = found.map { !$0.missing.contains { $0.place == .allCards } } ?? false
        let keychains = (found?.locals ?? []).filter { filter.wants(keychain: $0.name) }
        state.withLock { state in
            var present: [CK_SLOT_ID] = []
            for token in tokens {
                let id = SlotTable.id(of: token.name, in: CryptokiSlotName.readers, among: state.slots)
                present.append(id)
                if state.slots[id] == nil {
                    state.slots[id] = CardSlot(id, token, filter, promptPolicy, knownCards, log)
                }
            }
            for keychain in keychains {
                let id = SlotTable.id(of: keychain.path, in: CryptokiSlotName.keychains, among: state.slots)
                present.append(id)
                let known = state.slots[id] as? KeychainSlot
                // Another file in the same place, such as a restored backup, is another token.
                if let known, known.keychain === keychain { continue }
                state.slots[id] = KeychainSlot(id, keychain, promptPolicy, after: known)
            }
            if keepingAll { present = state.present + present.filter { !state.present.contains($0) } }
            (state.present, state.hasReaders) = (present, hasReaders || keepingAll && state.hasReaders)
        }
    }

    /// The present keychains. Cards can be used also with unreadable settings.
    private func present() -> PresentKeychains? {
        do throws(KeychainError) {
            let present = try process.present()
            for gap in present.missing { log.write("\(gap.keychain): \(gap.error)") }
            return present
        } catch {
            log.write("no keychain is shown: \(error)")
            return try? process.present(locals: false)
        }
    }

    /// The id of a name: the number that follows from it, or the next one that no other name has.
    private static func id(
        of name: String, in range: Range<CK_SLOT_ID>, among slots: [CK_SLOT_ID: any Slot]
    ) -> CK_SLOT_ID {
        let count = CK_SLOT_ID(range.count)
        var offset = CryptokiSlotName.number(of: name, in: range) - range.lowerBound
        while let other = slots[range.lowerBound + offset], other.name != name { offset = (offset + 1) % count }
        return range.lowerBound + offset
    }
}
