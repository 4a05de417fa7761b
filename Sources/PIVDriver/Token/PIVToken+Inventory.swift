public import TokenKit

// What is on the card, read as far as it is asked for.
extension PIVToken {
    public mutating func inventory(
        _ selection: TokenSelection, _ card: inout CardTransaction
    ) throws(TokenError) -> TokenInventory {
        var inventory = TokenInventory()
        switch selection {
        case .object(let id):
            if let slot = PIVSlot(id) { try add(slot, to: &inventory, &card) }
        case .all:
            for slot in PIVSlot.primary { try add(slot, to: &inventory, &card) }
            for slot in try retiredSlots(&inventory, &card) { try add(slot, to: &inventory, &card) }
            if knowledge.attests { try add(.attestation, to: &inventory, &card) }
        }
        return inventory
    }

    private mutating func add(
        _ slot: PIVSlot, to inventory: inout TokenInventory, _ card: inout CardTransaction
    ) throws(TokenError) {
        let reading = try object(in: slot, &card)
        if let object = reading.object { inventory.objects.append(object) }
        if let failure = reading.failure { inventory.failures[slot.objectID] = failure }
    }

    /// The retired slots that are in use: those of the Key History, those that metadata tells of, or those remembered.
    private mutating func retiredSlots(
        _ inventory: inout TokenInventory, _ card: inout CardTransaction
    ) throws(TokenError) -> [PIVSlot] {
        var slots: Set<PIVSlot> = []
        do {
            if let history = try keyHistory(&card) {
                slots.formUnion(history.slots)
                // Only YubiKeys, which do not keep the object up to date themselves, have more than it says.
                guard quirks.has(.retiredKeysWithoutHistory) else { return PIVSlot.retired.filter(slots.contains) }
            }
        } catch {
            if error.preventsAnswers { throw error }
            inventory.failures[TokenObjectID(PIVContainer.keyHistory.name)] = error
        }
        if knowledge.tellsMetadata {
            slots.formUnion(try slotsByMetadata(&card))
        } else if quirks.has(.retiredKeysWithoutHistory) {
            slots.formUnion(try slotsByMemory(&card))
        }
        return PIVSlot.retired.filter(slots.contains)
    }

    private mutating func slotsByMetadata(_ card: inout CardTransaction) throws(TokenError) -> [PIVSlot] {
        var found: [PIVSlot] = []
        for slot in PIVSlot.retired where knowledge.tellsMetadata {
            // Metadata that cannot be read tells at least that there is a key.
            let metadata = try readable { (token) throws(TokenError) in try token.metadata(of: slot, &card) }
            if metadata != .some(nil) { found.append(slot) }
        }
        return found
    }

    /// The slots that were found in use when all of them were read, once for a card.
    private mutating func slotsByMemory(_ card: inout CardTransaction) throws(TokenError) -> [PIVSlot] {
        guard let memory else { return [] }
        let id = try tokenID(&card)
        if let slots = memory.recall(id).flatMap({ RetiredSlotMemory.slots(in: $0) }) { return slots }
        var found: [PIVSlot] = []
        for slot in PIVSlot.retired {
            let reading = try object(in: slot, &card)
            if reading.object != nil || reading.failure != nil { found.append(slot) }
        }
        memory.remember(RetiredSlotMemory.encode(found), for: id)
        return found
    }
}

/// The slots in use, as they are remembered of a card: a version and one byte a slot.
enum RetiredSlotMemory {
    private static let version: UInt8 = 1

    static func encode(_ slots: [PIVSlot]) -> [UInt8] {
        [version] + slots.map(\.rawValue)
    }

    /// Nil for what no version of this driver has written.
    static func slots(in bytes: [UInt8]) -> [PIVSlot]? {
        guard bytes.first == version else { return nil }
        let slots = bytes.dropFirst().map { PIVSlot(rawValue: $0) }
        let known = slots.compactMap { $0 }
        return known.count == slots.count && known.allSatisfy { $0.retiredNumber != nil } ? known : nil
    }
}
