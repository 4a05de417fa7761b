internal import TokenKit

// The memory of a card from its last insertion: of a certificate, only the beginning is read again; a key is believed
// until it signs.
extension PIVToken {
    /// Bytes of an answer's beginning that must be the same for the rest to be believed: enough for the lengths of the
    /// object and of the certificate in it, its serial number and its issuer.
    static let significantLength = 200

    /// The answer to GET DATA for a slot's certificate; nil for an absent one.
    ///
    /// The first part of an answer is one command, and so is an absent object. What was remembered is asked for only where
    /// it is known already which card this is.
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
            guard let certificates, let id = knowledge.identity, !isBlank else { return nil }
            let card = certificates.recall(id).flatMap { RememberedCard(parsing: $0) }
            let own = card?.identity.id == id ? card : nil
            knowledge.remembered = .known(own)
            if let told = own?.tellsMetadata, knowledge.metadataSupport == .unknown {
                knowledge.metadataSupport = .believed(told)
            }
            return own
        }
    }

    /// The label of the one card that was remembered with the certificates that were read now. Good enough for a prompt, no
    /// proof of which card it is.
    var rememberedLabel: String? {
        guard let certificates, !knowledge.answers.isEmpty else { return nil }
        let cards = certificates.all().compactMap { RememberedCard(parsing: $0) }.filter { card in
            knowledge.answers.allSatisfy { card.objects[$0.key] == $0.value }
        }
        return cards.count == 1 ? cards.first?.identity.label : nil
    }

    /// Remembers the certificates and keys that were read, where they are not those of last time.
    ///
    /// - Parameter unread: slots that could not be read, whose keys may still be what they were.
    mutating func rememberContents(besides unread: [PIVSlot]) {
        guard let certificates, let identity = knownIdentity, !isBlank else { return }
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
            // Another card under the same name must not take the place of the first.
            proofKey: remembered?.proofKey ?? listedProofKey)
        guard card != remembered, !card.isEmpty || remembered != nil else { return }
        certificates.remember(card.encoded(), for: identity.id)
        knowledge.remembered = .known(card)
    }

    /// Has a slot read as a whole the next time.
    ///
    /// - Returns: whether its certificate was remembered.
    @discardableResult
    mutating func forgetRemembered(_ slot: PIVSlot) -> Bool {
        knowledge.answers.removeValue(forKey: slot)
        knowledge.keyAnswers.removeValue(forKey: slot)
        guard let certificates, var card = remembered else { return false }
        let hadCertificate = card.objects.removeValue(forKey: slot) != nil
        let hadKey = card.metadata.removeValue(forKey: slot) != nil
        guard hadCertificate || hadKey else { return false }
        certificates.remember(card.encoded(), for: card.identity.id)
        knowledge.remembered = .known(card)
        return hadCertificate
    }

    /// Whether no fact tells this card from another.
    var isBlank: Bool { knowledge.identity?.instance.hasPrefix(PIVToken.blankPrefix) ?? true }
}
