package import CCryptoki
internal import HostAPI

// Slots and tokens: PKCS #11 §5.5.
extension Cryptoki {
    package func slotList(withToken: Bool, refreshing: Bool) -> [CK_SLOT_ID] {
        let slots = slots.all(refreshing: refreshing)
        guard withToken || !events.haveBegun else { return slots.map(\.id) }
        let occupied = slots.map { ($0.id, $0.occupancy) }
        // An event is a difference from the list that the program has been given.
        events.begin(with: occupied)
        return occupied.filter { !withToken || $0.1.hasToken }.map(\.0)
    }

    package func slotInfo(_ slot: CK_SLOT_ID) throws(CryptokiError) -> SlotInfo { try slots.slot(slot).info }

    package func tokenInfo(_ slot: CK_SLOT_ID) throws(CryptokiError) -> TokenInfo {
        let slot = try slots.slot(slot)
        let information = try slot.tokenInfo()
        return slots.mayWantLogin(slot) ? information : information.without(CKF_LOGIN_REQUIRED)
    }

    package func mechanisms(_ slot: CK_SLOT_ID) throws(CryptokiError) -> [Mechanism] {
        let slot = try slots.slot(slot)
        try slot.requireToken()
        return slot.mechanisms
    }

    package func mechanism(
        _ type: CK_MECHANISM_TYPE, of slot: CK_SLOT_ID
    ) throws(CryptokiError) -> Mechanism {
        guard let mechanism = try mechanisms(slot).first(where: { $0.type == type }) else {
            throw CryptokiError(CKR_MECHANISM_INVALID)
        }
        return mechanism
    }

    /// Waits for a card to be inserted or taken out.
    ///
    /// - Throws: `CKR_NO_EVENT` without an event where `blocking` is false, `CKR_CRYPTOKI_NOT_INITIALIZED` when the module ends.
    package func waitForSlotEvent(blocking: Bool) throws(CryptokiError) -> CK_SLOT_ID {
        try events.next(blocking: blocking)
    }
}
