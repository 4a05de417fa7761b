public import TokenKit

// Reading data objects, and Yubico's functions for facts about the card.
extension PIVToken {
    /// The content of a data object, without its outer tag; nil where the card has none.
    ///
    /// - Throws: ``TokenError`` `.pinRequired` for an object that needs the PIN first.
    public mutating func read(
        _ container: PIVContainer, _ card: inout CardTransaction
    ) throws(TokenError) -> [UInt8]? {
        guard let data = try answer(container, &card) else { return nil }
        return try PIVFormat.content(of: data, in: container)
    }

    /// The whole answer to GET DATA; nil where the card has no such object.
    mutating func answer(
        _ container: PIVContainer, _ card: inout CardTransaction
    ) throws(TokenError) -> [UInt8]? {
        // Tag and length of the outer object add up to 8 bytes.
        let response = try send(PIVCommand.getData(container), limit: container.sizeLimit + 8, &card)
        return try found(response, in: container)
    }

    /// The data of an answer to GET DATA; nil where the card has no such object.
    mutating func found(
        _ response: ResponseAPDU, in container: PIVContainer
    ) throws(TokenError) -> [UInt8]? {
        switch response.status {
        case _ where response.status.isSuccess:
            if PIVFormat.finding(in: response.data, of: container) != .absent { knowledge.present.insert(container) }
            return response.data
        case .objectNotFound, .referenceNotFound: return nil
        // Cards with both CAC and PIV answer so without a Discovery Object.
        case .incorrectData where container == .discovery: return nil
        case .securityStatusNotSatisfied where container.readRule == .always:
            throw TokenError(
                .conditionsNotSatisfied, "the card does not give this to a contactless reader (use its contacts)",
                status: response.status)
        default: throw TokenError(response.status, "read the \(container.title)")
        }
    }

    /// The identifiers of the card. Only the beginning of the object is read, since they precede the signature.
    mutating func chuid(_ card: inout CardTransaction) throws(TokenError) -> CardholderIdentifier? {
        if case .known(let chuid) = knowledge.chuid { return chuid }
        let response = try sendForFirstPart(PIVCommand.getData(.chuid), &card)
        let data = try found(response, in: .chuid) ?? []
        let chuid: CardholderIdentifier? = try CardholderIdentifier.contentPrefix(of: data).map {
            (content) throws(TokenError) in
            try CardholderIdentifier(parsing: content)
        }
        knowledge.chuid = .known(chuid)
        return chuid
    }

    mutating func keyHistory(_ card: inout CardTransaction) throws(TokenError) -> KeyHistory? {
        if case .known(let history) = knowledge.keyHistory { return history }
        let history: KeyHistory? = try read(.keyHistory, &card).map { (content) throws(TokenError) in
            try KeyHistory(parsing: content)
        }
        knowledge.keyHistory = .known(history)
        return history
    }

    /// The version of Yubico's application, on cards that have one.
    mutating func firmware(_ card: inout CardTransaction) throws(TokenError) -> Firmware? {
        if case .known(let firmware) = knowledge.firmware { return firmware }
        var firmware: Firmware?
        if quirks.has(.tellsVersion) {
            let response = try send(PIVCommand.version, &card)
            if response.status.isSuccess { firmware = try Firmware(parsing: response.data) }
        }
        knowledge.firmware = .known(firmware)
        return firmware
    }

    /// The number printed on the device; nil where the card does not tell it.
    mutating func serialNumber(_ card: inout CardTransaction) throws(TokenError) -> UInt32? {
        if case .known(let number) = knowledge.serialNumber { return number }
        var number: UInt32?
        if quirks.has(.tellsSerialNumber) {
            let response = try send(PIVCommand.serialNumber, &card)
            if response.status.isSuccess { number = try SerialNumber.parse(response.data) }
        }
        knowledge.serialNumber = .known(number)
        return number
    }

    /// The card's metadata of a slot's key; nil where the slot has none, or the card has no metadata.
    mutating func metadata(of slot: PIVSlot, _ card: inout CardTransaction) throws(TokenError) -> KeyMetadata? {
        if let metadata = knowledge.metadata[slot] { return metadata }
        guard knowledge.tellsMetadata else { return nil }
        guard let data = try metadata(slot.rawValue, &card) else {
            if knowledge.tellsMetadata { knowledge.untold.insert(slot) }
            return nil
        }
        let metadata = data.isEmpty ? nil : try KeyMetadata(parsing: data)
        if certificates != nil { knowledge.keyAnswers[slot] = metadata == nil ? nil : data }
        knowledge.metadata.updateValue(metadata, forKey: slot)
        return metadata
    }

    /// The card's metadata of its management key; nil where the card has none.
    mutating func managementKeyMetadata(
        _ card: inout CardTransaction
    ) throws(TokenError) -> ManagementKeyMetadata? {
        try learnMetadataSupport(&card)
        guard knowledge.tellsMetadata, let data = try metadata(ManagementKey.reference, &card), !data.isEmpty else {
            return nil
        }
        return try ManagementKeyMetadata(parsing: data)
    }

    /// The card's metadata of a PIN; nil where the card has none.
    ///
    /// The PIN's tries can be asked for by VERIFY without data too, those of the unblocking key only here.
    mutating func metadata(of pin: PINReference, _ card: inout CardTransaction) throws(TokenError) -> PINMetadata? {
        guard pin == .unblocking || (pin == .application && knowledge.tellsMetadata) else { return nil }
        return try askMetadata(of: pin, &card)
    }

    /// Finds out whether the card has metadata, by those of its PIN, which do not depend on its keys.
    mutating func learnMetadataSupport(_ card: inout CardTransaction) throws(TokenError) {
        guard knowledge.metadataSupport == .unknown else { return }
        _ = try readable { (token) throws(TokenError) in try token.askMetadata(of: .application, &card) }
    }

    private mutating func askMetadata(
        of pin: PINReference, _ card: inout CardTransaction
    ) throws(TokenError) -> PINMetadata? {
        let isExpected = knowledge.tellsMetadata
        let data = try metadata(pin.rawValue, &card) ?? []
        let metadata = data.isEmpty ? nil : try PINMetadata(parsing: data)
        // Every card with metadata tells the tries of both PINs, so that a card that does not has no metadata.
        if metadata?.triesLeft != nil { knowledge.metadataSupport = .seen(true) }
        if metadata?.triesLeft == nil, !isExpected { knowledge.metadataSupport = .seen(false) }
        if pin != .unblocking { cardholderPIN.metadata = metadata }
        return metadata
    }

    /// - Returns: nil where the card does not tell; empty where it has nothing under this reference.
    private mutating func metadata(_ reference: UInt8, _ card: inout CardTransaction) throws(TokenError) -> [UInt8]? {
        guard knowledge.metadataSupport != .seen(false) else { return nil }
        let response = try send(PIVCommand.metadata(reference), &card)
        let isYubico = quirks.has(.mayTellMetadata)
        switch response.status {
        case .success: return response.data
        case .instructionNotSupported, .classNotSupported:
            knowledge.metadataSupport = .seen(false)
            return nil
        case .referenceNotFound, .objectNotFound: return []
        case .noPreciseDiagnosis where isYubico: throw TokenError(response.status, "read the metadata of a key")
        default: return isYubico ? [] : nil
        }
    }
}
