internal import SecureBytes
internal import SystemCrypto
internal import TokenKit

/// The result of reading a slot. It may have both an object and a failure, since certificate or key may be readable without the
/// other.
struct SlotReading {
    var object: TokenObject?
    var failure: TokenError?
}

// One slot: its certificate, and the card's metadata of its key.
extension PIVToken {
    /// Reads a slot that is not known yet.
    ///
    /// - Parameter isListing: whether the whole card is read, so that asking for metadata pays off.
    /// - Throws: errors of the connection. Any other error becomes the reading's failure.
    mutating func object(
        in slot: PIVSlot, isListing: Bool = false, _ card: inout CardTransaction
    ) throws(TokenError) -> SlotReading {
        if let known = knowledge.slots[slot] { return SlotReading(object: known) }
        var failure: TokenError?
        func attempt<Value>(
            _ body: (inout PIVToken, inout CardTransaction) throws(TokenError) -> Value?
        ) throws(TokenError) -> Value? {
            do {
                return try body(&self, &card)
            } catch {
                if error.preventsAnswers { throw error }
                failure = error
                return nil
            }
        }
        var certificate = try attempt { (token, card) throws(TokenError) in try token.certificate(in: slot, &card) }
        // A slot without a certificate may have metadata.
        if certificate == nil || isListing {
            _ = try attempt { (token, card) throws(TokenError) in try token.learnMetadataSupport(&card) }
        }
        let metadata = try attempt { (token, card) throws(TokenError) in try token.metadata(of: slot, &card) }
        if let key = metadata?.subjectPublicKeyInfo, let believed = certificate, believed.spki != key,
            forgetRemembered(slot)
        {
            // The certificate is for another key, or the remembered one has been replaced.
            certificate = try attempt { (token, card) throws(TokenError) in try token.certificate(in: slot, &card) }
        }
        var key: TokenKey?
        if let metadata {
            key = SlotKey.key(metadata, certificate: certificate, in: slot)
        } else if !knowledge.tellsMetadata || knowledge.untold.contains(slot) || failure != nil {
            // A card without metadata is assumed to have a key for each certificate.
            key = certificate.flatMap { SlotKey.key(certificate: $0, in: slot) }
            if certificate == nil, !knowledge.tellsMetadata, let made = remembered?.metadata[slot] {
                key = remembered?.key(in: slot)
                knowledge.keyAnswers[slot] = made
            }
            if key == nil, certificate == nil, failure == nil {
                key = try attempt { (token, card) throws(TokenError) in try token.attestedKey(in: slot, &card) }
            }
        }
        let object = SlotKey.object(slot, certificate: certificate?.der, key: key)
        if failure == nil { knowledge.slots.updateValue(object, forKey: slot) }
        return SlotReading(object: object, failure: failure)
    }

    /// The key of a slot by metadata, without reading the certificate; nil where metadata do not suffice.
    mutating func keyAlone(in slot: PIVSlot, _ card: inout CardTransaction) throws(TokenError) -> TokenKey? {
        if let known = knowledge.slots[slot] { return known?.key }
        if let known = knowledge.bareKeys[slot] { return known }
        let metadata = try readable { (token) throws(TokenError) in try token.metadata(of: slot, &card) } ?? nil
        guard let metadata else { return nil }
        let key = SlotKey.key(metadata, certificate: nil, in: slot)
        guard !key.publicKey.isEmpty else { return nil }
        knowledge.bareKeys[slot] = key
        return key
    }

    /// A key, and whether it is only remembered from the card's last reading.
    struct KeyToUse {
        let key: TokenKey
        let isRemembered: Bool
    }

    /// The key of a slot as remembered from the card's last reading, which costs no command; else by metadata.
    mutating func keyToSignWith(
        in slot: PIVSlot, _ card: inout CardTransaction
    ) throws(TokenError) -> KeyToUse? {
        if knowledge.slots[slot] == nil, knowledge.bareKeys[slot] == nil, let key = rememberedKey(in: slot) {
            return KeyToUse(key: key, isRemembered: true)
        }
        return try keyAlone(in: slot, &card).map { KeyToUse(key: $0, isRemembered: false) }
    }

    private mutating func rememberedKey(in slot: PIVSlot) -> TokenKey? {
        if let known = knowledge.rememberedKeys[slot] { return known }
        guard let key = remembered?.key(in: slot), !key.publicKey.isEmpty else { return nil }
        knowledge.rememberedKeys[slot] = key
        return key
    }

    private mutating func certificate(
        in slot: PIVSlot, _ card: inout CardTransaction
    ) throws(TokenError) -> Certificate? {
        guard let answer = try certificateAnswer(in: slot, &card),
            let content = try PIVFormat.content(of: answer, in: slot.container),
            let object = try CertificateObject.parse(content)
        else { return nil }
        do {
            return try Certificate(der: object.certificate)
        } catch {
            throw PIVFormat.malformed(slot.container.title, "\(error)")
        }
    }

    /// The key of a slot without a certificate, on cards that attest to keys but have no metadata.
    private mutating func attestedKey(in slot: PIVSlot, _ card: inout CardTransaction) throws(TokenError) -> TokenKey? {
        guard knowledge.attests, slot != .attestation else { return nil }
        let response = try send(PIVCommand.attest(slot), limit: slot.container.sizeLimit, &card)
        switch response.status {
        case .success: return SlotKey.key(try Attestation(parsing: response.data), in: slot)
        case .instructionNotSupported:
            knowledge.attests = false
            return nil
        // An empty slot, or a key that was not generated on the card.
        default: return nil
        }
    }
}

/// Makes objects and keys from the bytes that were read. Sends no command.
enum SlotKey {
    static func object(_ slot: PIVSlot, certificate: [UInt8]?, key: TokenKey?) -> TokenObject? {
        guard certificate != nil || key != nil else { return nil }
        return TokenObject(slot, certificate: certificate, key: key)
    }

    /// The key of a certificate.
    static func key(certificate: Certificate, in slot: PIVSlot) -> TokenKey {
        key(spki: certificate.spki, in: slot)
    }

    static func key(_ attestation: Attestation, in slot: PIVSlot) -> TokenKey {
        key(
            spki: attestation.publicKey, number: nil, pinPolicy: attestation.pinPolicy,
            touchPolicy: attestation.touchPolicy, in: slot)
    }

    /// The key that metadata describe. A key with an unnamed algorithm is listed by the algorithm's number.
    static func key(_ metadata: KeyMetadata, certificate: Certificate?, in slot: PIVSlot) -> TokenKey {
        key(
            spki: metadata.subjectPublicKeyInfo ?? certificate?.spki ?? [], number: metadata.algorithm,
            pinPolicy: metadata.pinPolicy, touchPolicy: metadata.touchPolicy, in: slot)
    }

    /// A key of which only the public half is known.
    static func key(spki: [UInt8], in slot: PIVSlot) -> TokenKey {
        key(spki: spki, number: nil, pinPolicy: nil, touchPolicy: .unknown, in: slot)
    }

    private static func key(
        spki: [UInt8], number: PIVAlgorithm?, pinPolicy: PINPolicy?, touchPolicy: TouchPolicy, in slot: PIVSlot
    ) -> TokenKey {
        let kind = (try? PublicKey(spki: spki).kind) ?? .other(number?.description ?? "")
        return TokenKey(
            kind: kind, publicKey: spki, usage: usage(of: kind, in: slot), purpose: slot.purpose,
            pinPolicy: pinPolicy ?? slot.standardPINPolicy, touchPolicy: touchPolicy)
    }

    /// The uses of a key on the card, by its kind; none for the attestation key, which only serves ATTEST.
    private static func usage(of kind: KeyKind, in slot: PIVSlot) -> TokenKey.Usage {
        guard slot != .attestation else { return [] }
        return switch kind {
        case .rsa: [.sign, .decrypt]
        case .ecP256, .ecP384: [.sign, .agree]
        case .ed25519: .sign
        case .x25519: .agree
        case .ecP521, .other: []
        }
    }
}
