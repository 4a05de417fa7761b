internal import SecureBytes
internal import SystemCrypto
public import TokenKit

// The inventory of the card, read as far as it is asked for.
extension PIVToken {
    public mutating func inventory(
        _ selection: TokenSelection, _ card: inout CardTransaction
    ) throws(TokenError) -> TokenInventory {
        var inventory = TokenInventory()
        switch selection {
        case .object(let id):
            if let slot = PIVSlot(id) { try add(slot, to: &inventory, &card) }
        case .key(let id):
            if let slot = PIVSlot(id) { try add(keyAlone(in: slot, &card), in: slot, to: &inventory, &card) }
        case .privateKey(let id):
            guard let slot = PIVSlot(id) else { break }
            try add(keyToSignWith(in: slot, &card)?.key, in: slot, to: &inventory, &card)
        case .all:
            for slot in PIVSlot.primary { try add(slot, to: &inventory, isListing: true, &card) }
            try addRetiredKeys(to: &inventory, &card)
            if knowledge.attests { try add(.attestation, to: &inventory, &card) }
            try learnVersion(&card)
            try learnPINReference(&card)
            rememberContents(besides: inventory.failures.keys.compactMap { PIVSlot($0) })
        }
        return inventory
    }

    /// Keeps the version in the memory of the card, so that later identifications need no command for it.
    private mutating func learnVersion(_ card: inout CardTransaction) throws(TokenError) {
        guard certificates != nil, knownIdentity?.version == nil else { return }
        _ = try readable { (token) throws(TokenError) in try token.firmware(&card) }
    }

    /// Reads the reference of the cardholder's PIN, which saves a command in a later signature.
    private mutating func learnPINReference(_ card: inout CardTransaction) throws(TokenError) {
        guard certificates != nil, !quirks.has(.onlyApplicationPIN) else { return }
        guard knowledge.tellsMetadata || remembered?.pinReference == nil else {
            // The remembered reference was read from the Discovery Object.
            knowledge.present.insert(.discovery)
            return
        }
        _ = try readable { (token) throws(TokenError) in try token.pinReference(&card) }
    }

    private mutating func add(
        _ key: TokenKey?, in slot: PIVSlot, to inventory: inout TokenInventory, _ card: inout CardTransaction
    ) throws(TokenError) {
        guard let key else { return try add(slot, to: &inventory, &card) }
        inventory.objects.append(TokenObject(slot, key: key))
    }

    private mutating func add(
        _ slot: PIVSlot, to inventory: inout TokenInventory, isListing: Bool = false, _ card: inout CardTransaction
    ) throws(TokenError) {
        let reading = try object(in: slot, isListing: isListing, &card)
        if let object = reading.object { inventory.objects.append(object) }
        if let failure = reading.failure { inventory.failures[slot.objectID] = failure }
    }

    /// Adds the retired keys: those of the Key History, and where it is absent or not kept up to date, those that metadata tells of or
    /// that are remembered.
    private mutating func addRetiredKeys(
        to inventory: inout TokenInventory, _ card: inout CardTransaction
    ) throws(TokenError) {
        var known: [PIVSlot] = []
        var isComplete = false
        do {
            if let history = try keyHistory(&card) {
                known = history.slots
                // Makers' tools for cards with metadata do not keep the Key History up to date.
                isComplete = !knowledge.tellsMetadata && !quirks.has(.retiredKeysWithoutHistory)
            }
        } catch {
            if error.preventsAnswers { throw error }
            inventory.failures[TokenObjectID(PIVContainer.keyHistory.name)] = error
            // A contactless reader gets no retired key either, so that twenty reads would fail alike.
            if error.code == .conditionsNotSatisfied { return }
        }
        for slot in known { try add(slot, to: &inventory, &card) }
        // The history is a number of slots, taken from the first one on. A key was put in elsewhere where one of them is empty.
        let isFilled = known.allSatisfy { slot in
            inventory.failures[slot.objectID] != nil || inventory.objects.contains { $0.id == slot.objectID }
        }
        guard !isComplete || !isFilled else { return }
        let others = Set(try rememberedSlots(&card)).subtracting(known)
        for slot in PIVSlot.retired where others.contains(slot) { try add(slot, to: &inventory, &card) }
    }

    /// The retired slots in use at the last look through the card, which costs a command for each of the twenty slots and is not
    /// repeated at each start. A new key in a primary slot is a reason to look again, since the old key may have been retired.
    private mutating func rememberedSlots(_ card: inout CardTransaction) throws(TokenError) -> [PIVSlot] {
        guard let memory else {
            // Without metadata, each listing would cost twenty blind reads.
            return knowledge.tellsMetadata ? try slotsByMetadata(&card) : []
        }
        let id = try tokenID(&card)
        let primary = RetiredSlotMemory.fingerprint(PIVSlot.primary.map { knowledge.slots[$0] ?? nil })
        if let slots = memory.recall(id).flatMap({ RetiredSlotMemory.slots(in: $0, besides: primary) }) { return slots }
        let found = knowledge.tellsMetadata ? try slotsByMetadata(&card) : try slotsByReading(&card)
        memory.remember(RetiredSlotMemory.encode(found, besides: primary), for: id)
        return found
    }

    private mutating func slotsByMetadata(_ card: inout CardTransaction) throws(TokenError) -> [PIVSlot] {
        var found: [PIVSlot] = []
        for slot in PIVSlot.retired where knowledge.tellsMetadata {
            // Unreadable metadata shows at least that there is a key.
            let metadata = try readable { (token) throws(TokenError) in try token.metadata(of: slot, &card) }
            if metadata != .some(nil) { found.append(slot) }
        }
        return found
    }

    private mutating func slotsByReading(_ card: inout CardTransaction) throws(TokenError) -> [PIVSlot] {
        var found: [PIVSlot] = []
        for slot in PIVSlot.retired {
            let reading = try object(in: slot, &card)
            if reading.object != nil || reading.failure != nil { found.append(slot) }
        }
        return found
    }
}

/// The encoded memory of the retired slots in use: a version, a fingerprint of the primary slots, one byte for each slot.
enum RetiredSlotMemory {
    private static let version: UInt8 = 2

    static func encode(_ slots: [PIVSlot], besides primary: [UInt8]) -> [UInt8] {
        [version] + primary + slots.map(\.rawValue)
    }

    /// No memory of the slots, which are looked for again. It has a byte, since memories keep nothing that is empty.
    static let unknown: [UInt8] = [0]

    /// The remembered slots; nil for bytes of another version, and where the primary slots have changed since.
    static func slots(in bytes: [UInt8], besides primary: [UInt8]) -> [PIVSlot]? {
        guard bytes.starts(with: [version] + primary) else { return nil }
        let slots = bytes.dropFirst(1 + primary.count).map { PIVSlot(rawValue: $0) }
        let known = slots.compactMap { $0 }
        return known.count == slots.count && known.allSatisfy { $0.retiredNumber != nil } ? known : nil
    }

    /// A hash of the primary slots' keys, which changes with any of them.
    static func fingerprint(_ primary: [TokenObject?]) -> [UInt8] {
        let keys = primary.map { TLV(0x04, $0?.key?.publicKey ?? $0?.certificate ?? []).encoded() }
        return (try? Digest.hash(keys.flatMap { $0 }, using: .sha256)) ?? []
    }
}
