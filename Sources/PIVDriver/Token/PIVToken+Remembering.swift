internal import TokenKit

// The memory of a card from its last insertion. Of a remembered certificate, only the beginning is read again. A remembered key
// is used until a signature refutes it.
extension PIVToken {
    /// Bytes at the beginning of an answer that must be unchanged for the remembered rest to be used. They hold the lengths of
    /// the object and of its certificate, the certificate's serial number and its issuer.
    static let significantLength = 200

    /// The answer to GET DATA for a slot's certificate; nil for an absent one.
    ///
    /// The first part of an answer costs one command, as an absent object does. The memory is used only where it is already known
    /// which card this is.
    mutating func certificateAnswer(
        in slot: PIVSlot, _ card: inout CardTransaction
    ) throws(TokenError) -> [UInt8]? {
        if let known = remembered?.objects[slot] {
            let response = try sendForFirstPart(PIVCommand.getData(slot.container), &card)
            if response.status.isSuccess, PIVToken.confirms(known, response.data) {
                knowledge.answers[slot] = known
                return known
            }
        }
        let answer = try answer(slot.container, &card)
        if certificates != nil { knowledge.answers[slot] = answer }
        return answer
    }

    static func confirms(_ known: [UInt8], _ beginning: [UInt8]) -> Bool {
        beginning.count >= min(known.count, significantLength) && known.starts(with: beginning)
    }

    var remembered: RememberedCard? {
        mutating get {
            if case .known(let card) = knowledge.remembered { return card }
            guard let id = knowledge.identity, !isBlank else { return nil }
            let own = recalled(id)
            knowledge.remembered = .known(own)
            if let told = own?.tellsMetadata, knowledge.metadataSupport == .unknown {
                knowledge.metadataSupport = .believed(told)
            }
            return own
        }
    }

    /// The label of the only card that is remembered with the certificates that were read now. It suffices for a prompt, but does
    /// not prove which card this is.
    var rememberedLabel: String? {
        guard let certificates, !knowledge.answers.isEmpty else { return nil }
        let cards = certificates.all().compactMap { RememberedCard(parsing: $0) }.filter { card in
            knowledge.answers.allSatisfy { card.objects[$0.key] == $0.value }
        }
        return cards.count == 1 ? cards.first?.identity.label : nil
    }

    /// Remembers the certificates and keys that were read, where they differ from the remembered ones.
    ///
    /// - Parameter unread: slots that could not be read, whose former content stays remembered.
    mutating func rememberContents(besides unread: [PIVSlot]) {
        guard certificates != nil, let identity = knownIdentity, !isBlank else { return }
        let support: Bool? = knowledge.metadataSupport == .unknown ? nil : knowledge.tellsMetadata
        var (objects, metadata) = (knowledge.answers, knowledge.keyAnswers)
        for slot in unread {
            objects[slot] = objects[slot] ?? remembered?.objects[slot]
            metadata[slot] = metadata[slot] ?? remembered?.metadata[slot]
        }
        let card = RememberedCard(
            identity: identity, objects: objects, metadata: metadata, tellsMetadata: support,
            pinReference: (support == true || knowledge.present.contains(.discovery) ? cardholderPIN.reference : nil)
                ?? remembered?.pinReference,
            // Another card under the same name must not take the place of the first. While 9E was not looked at, it may have the
            // better key.
            proofKey: remembered?.proofKey
                ?? (knowledge.slots[.cardAuthentication] == nil ? nil : listedProofKey))
        let former = remembered
        guard card != former, !card.isEmpty || former != nil else { return }
        remember(identity) { $0.merge(card, readAfter: former) }
    }

    private func recalled(_ id: TokenID) -> RememberedCard? {
        let card = certificates?.recall(id).flatMap { RememberedCard(parsing: $0) }
        return card?.identity.id == id ? card : nil
    }

    /// Changes the memory of the card as it is now: another program with the same memory may have made a key since this one read it.
    mutating func remember(_ identity: TokenIdentity, _ change: (inout RememberedCard) -> Void) {
        guard let certificates else { return }
        let former = recalled(identity.id)
        var card = former ?? RememberedCard(identity: identity, objects: [:])
        change(&card)
        if card != former { certificates.remember(card.encoded(), for: identity.id) }
        knowledge.remembered = .known(card)
    }

    /// Remembers the key of a signature that was right, so that a program which only signs does not read it from the card each time.
    ///
    /// A later signature, and so none on a card that is used once, costs a command where it is unknown whether the card has metadata.
    /// The answer saves the Discovery Object in each signature after it.
    mutating func rememberKey(in slot: PIVSlot, _ card: inout CardTransaction) {
        guard certificates != nil, knownIdentity != nil, !isBlank else { return }
        if remembered?.key(in: slot) != nil {
            guard knowledge.metadataSupport == .unknown else { return }
            // The signature was made. An error of the connection shows itself with the next command.
            try? learnMetadataSupport(&card)
        }
        rememberContents(besides: PIVSlot.allCases)
    }

    /// Remembers a key that was just made or imported. A card without metadata tells of none until it has a certificate for it.
    ///
    /// - Parameter metadata: as GET METADATA would tell them.
    mutating func remember(keyPutInto slot: PIVSlot, _ metadata: [UInt8], _ card: inout CardTransaction) {
        guard certificates != nil, !knowledge.tellsMetadata, let identity = try? identity(&card), !isBlank else {
            return
        }
        remember(identity) { $0.metadata[slot] = metadata }
    }

    /// Drops the memory of a slot, so that it is read completely the next time.
    ///
    /// - Parameter keepingKey: whether its key stays remembered.
    /// - Returns: whether its certificate was remembered.
    @discardableResult
    mutating func forgetRemembered(_ slot: PIVSlot, keepingKey: Bool = false) -> Bool {
        knowledge.answers.removeValue(forKey: slot)
        knowledge.keyAnswers.removeValue(forKey: slot)
        guard let identity = remembered?.identity else { return false }
        var hadCertificate = false
        remember(identity) { card in
            hadCertificate = card.objects.removeValue(forKey: slot) != nil
            if !keepingKey { card.metadata.removeValue(forKey: slot) }
        }
        return hadCertificate
    }

    /// Whether the card has no fact that tells it from others, or its identifier is unknown.
    var isBlank: Bool { knowledge.identity.map { PIVToken.isBlank($0) } ?? true }
}
