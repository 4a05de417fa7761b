internal import SecureBytes
internal import SystemCrypto
internal import TokenKit

// PUT DATA. SP 800-73-5 part 2 §3.3.2.
extension PIVToken {
    /// - Parameter content: nil to remove the object.
    mutating func put(
        _ content: [UInt8]?, _ container: PIVContainer, _ card: inout CardTransaction
    ) throws(TokenError) {
        let response = try send(PIVCommand.putData(content, container), &card)
        knowledge.present.remove(container)
        guard response.status.isSuccess else {
            if let content, response.status == .wrongLength {
                throw TokenError(
                    .tooLarge,
                    "the \(container.title) is too large: the card does not take \(content.count) bytes (write less)",
                    status: response.status)
            }
            throw TokenError(response.status, "write the \(container.title)")
        }
    }

    /// Checks that an object is not one of the two by which the card keeps its management key. Without both, the key would be lost.
    mutating func requireFree(_ container: PIVContainer, _ card: inout CardTransaction) throws(TokenError) {
        guard container == .printedInformation || container == .administrativeData else { return }
        let data = try readable { (token) throws(TokenError) in try token.administrativeData(&card) }
        guard data?.keepsManagementKey == true else { return }
        throw TokenError(
            .invalidArgument,
            "the card keeps its management key by its \(container.title): the key would be lost, and nothing could be written to the card any more (take the key off the card first, by 'card set-management-key --output FILE')"
        )
    }

    /// Writes an object that holds a secret.
    private mutating func put(
        secret content: borrowing Secret, _ container: PIVContainer, _ card: inout CardTransaction
    ) throws(TokenError) {
        let list = TLV(0x5C, container.tag.octets).encoded() + [0x53, UInt8(truncatingIfNeeded: content.count)]
        let response = try send(
            PIVCommand.putDataHeader, secret: Secret(joining: list.span, content.bytes), &card)
        guard response.status.isSuccess else { throw TokenError(response.status, "write the \(container.title)") }
    }

    // MARK: Certificates

    /// Checks that a certificate is for the key in a slot, as far as the card tells the key, and that the key is not a weak one.
    mutating func requireMatch(
        of certificate: [UInt8], _ slot: PIVSlot, allowsWeak: Bool, _ card: inout CardTransaction
    ) throws(TokenError) {
        let publicKey: [UInt8]
        do { publicKey = try Certificate(der: certificate).spki } catch {
            throw TokenError(.invalidArgument, "the certificate cannot be read: \(error)")
        }
        if let key = try? PublicKey(spki: publicKey) { try requireStrong(key, allowsWeak: allowsWeak) }
        try learnMetadataSupport(&card)
        let known = try metadata(of: slot, &card)?.subjectPublicKeyInfo
        if knowledge.tellsMetadata, !knowledge.untold.contains(slot), known == nil {
            throw TokenError(.notFound, "slot \(slot.objectID) has no key (make one with 'card generate')")
        }
        guard known == nil || known == publicKey else {
            throw TokenError(.invalidArgument, "the certificate is for another key than that of slot \(slot.objectID)")
        }
        guard known != nil || [nil, publicKey].contains(keyMade(in: slot)) else {
            throw TokenError(
                .invalidArgument,
                "the certificate is for another key than that which was last put into slot \(slot.objectID) here (if another program has put a key there since, pass --rescan)"
            )
        }
    }

    /// The public half of a key that was made here, where the card does not tell it; nil once it has a certificate.
    private mutating func keyMade(in slot: PIVSlot) -> [UInt8]? {
        guard !knowledge.tellsMetadata, remembered?.metadata[slot] != nil else { return nil }
        return remembered?.key(in: slot)?.publicKey
    }

    /// The metadata of a key that only its certificate tells of.
    mutating func keyByCertificate(
        in slot: PIVSlot, _ card: inout CardTransaction
    ) throws(TokenError) -> [UInt8]? {
        try learnMetadataSupport(&card)
        guard !knowledge.tellsMetadata,
            let certificate = try object(in: slot, isListing: true, &card).object?.certificate,
            let key = try? PublicKey(spki: Certificate(der: certificate).spki), let number = try? number(of: key.kind)
        else { return nil }
        return KeyMetadata.encoded(number, KeyPolicies(), isImported: false, PIVAlgorithm.template(of: key))
    }

    /// - Parameters:
    ///   - certificate: in DER; nil to remove it.
    ///   - mark: the renewal that the certificate is made for, where its key is not in its place yet.
    mutating func setCertificate(
        _ certificate: [UInt8]?, of slot: PIVSlot, for mark: RenewalMark? = nil, _ card: inout CardTransaction
    ) throws(TokenError) {
        defer { forgetContent(of: slot, keepingKey: true) }
        guard let certificate else {
            // The certificate is last: where it is gone, nothing is left to be done after an interruption.
            try noteRetired(slot, isThere: false, &card)
            return try put(nil, slot.container, &card)
        }
        do throws(TokenError) {
            try put(CertificateObject.encoded(certificate, isCompressed: false, mark), slot.container, &card)
        } catch {
            // Cards refuse the length of the command or of the object.
            guard error.code == .storage || error.code == .tooLarge else { throw error }
            let packed = try Deflate.pack(certificate)
            try put(CertificateObject.encoded(packed, isCompressed: true, mark), slot.container, &card)
        }
        try noteRetired(slot, isThere: true, &card)
    }

    /// Keeps the Key History true. It counts the retired slots with certificates, which fill the slots from the first one up.
    private mutating func noteRetired(
        _ slot: PIVSlot, isThere: Bool, _ card: inout CardTransaction
    ) throws(TokenError) {
        guard let number = slot.retiredNumber else { return }
        let history = try readable { (token) throws(TokenError) in try token.keyHistory(&card) } ?? nil
        var count = history?.onCard ?? 0
        if isThere {
            count = max(count, number)
        } else if number == count {
            count -= 1
            while count > 0, try isEmpty(PIVContainer.retiredCertificate(count), &card) { count -= 1 }
        }
        guard count != history?.onCard ?? 0 else { return }
        do throws(TokenError) {
            try put(KeyHistory.encoded(onCard: count, besides: history), .keyHistory, &card)
            knowledge.keyHistory = .unknown
        } catch {
            // Some cards have no such object, and list their retired keys without it.
            guard error.code == .notFound else { throw error }
        }
    }

    private mutating func isEmpty(
        _ container: PIVContainer, _ card: inout CardTransaction
    ) throws(TokenError) -> Bool {
        let response = try sendForFirstPart(PIVCommand.getData(container), &card)
        return try found(response, in: container).map { PIVFormat.finding(in: $0, of: container) == .absent } ?? true
    }

    // MARK: Renewals

    /// Writes the mark of a renewal in place of a slot's certificate.
    ///
    /// - Returns: false for a card that refuses such an object.
    mutating func keeps(
        _ mark: RenewalMark, in slot: PIVSlot, _ card: inout CardTransaction
    ) throws(TokenError) -> Bool {
        let object = CertificateObject.encoded([], isCompressed: false, mark)
        let response = try send(PIVCommand.putData(object, slot.container), &card)
        knowledge.present.remove(slot.container)
        return response.status.isSuccess
    }

    /// Whether a slot has the mark of a renewal.
    mutating func isMarked(_ slot: PIVSlot, _ card: inout CardTransaction) throws(TokenError) -> Bool {
        let content = try readable { (token) throws(TokenError) in try token.read(slot.container, &card) } ?? nil
        return content.flatMap { RenewalMark(content: $0) } != nil
    }

    // MARK: Identification

    /// Writes the identifier of the card, and its capabilities, which some programs of Windows look for.
    mutating func identify(_ card: inout CardTransaction) throws(TokenError) {
        let (identifier, capability): ([UInt8], [UInt8])
        do throws(CryptoError) {
            (identifier, capability) = (try CardholderIdentifier.random(), try CardCapability.random())
        } catch {
            throw TokenError(.storage, "the card's identifier cannot be made: \(error)")
        }
        // The identifier is last: a card that has it needs no other run after an interruption.
        if try read(.cardCapability, &card) == nil { try put(capability, .cardCapability, &card) }
        if try read(.chuid, &card) == nil {
            try put(identifier, .chuid, &card)
            // It is another card to programs from now on.
            knowledge.chuid = .unknown
            (knowledge.identity, knowledge.rememberedIdentity, knowledge.remembered) = (nil, nil, .unknown)
        }
    }

    /// Writes the identifier of a card that cannot be told from others. Else it would be another card with each key, and what is remembered of
    /// a key without a certificate would be lost.
    mutating func identifyIfUnknown(_ card: inout CardTransaction) throws(TokenError) {
        if try identity(&card).isShared { try identify(&card) }
    }

    // MARK: The management key

    /// Sets another management key. A key that the card keeps is on the card before it counts, so that power may fail at any time.
    mutating func setManagementKey(
        _ new: NewManagementKey, hasPIN: Bool, _ card: inout CardTransaction
    ) throws(TokenError) -> TokenChangeOutcome {
        let key: Secret
        do throws(CryptoError) {
            if let value = new.value {
                key = value.secret.clone()
            } else {
                key = try RandomBytes.makeSecret(count: new.cipher.keyLength)
            }
        } catch {
            throw TokenError(.storage, "a management key cannot be made: \(error)")
        }
        guard key.count == new.cipher.keyLength else {
            throw TokenError(
                .invalidArgument,
                "a management key for \(ManagementKey.algorithm(new.cipher)) has \(new.cipher.keyLength) bytes, and this one \(key.count)"
            )
        }
        var data = try readable { (token) throws(TokenError) in try token.administrativeData(&card) }
        let wasKept = data?.keepsManagementKey ?? false
        guard hasPIN || !(wasKept || new.isKeptOnToken) else {
            throw TokenError(.pinRequired, "a management key that the card keeps needs the PIN as well")
        }
        if new.isKeptOnToken {
            try announce(key, wasKept: wasKept, &data, &card)
        } else if wasKept {
            try announce(key, &card)
        }
        let response = try send(
            PIVCommand.setManagementKey(touch: new.touch),
            secret: PIVCommand.managementKeyContent(key, new.cipher), &card)
        guard response.status.isSuccess else {
            throw TokenError(response.status, "set the management key")
        }
        if new.isKeptOnToken {
            try put(secret: KeptManagementKey.encoded(key, next: nil), .printedInformation, &card)
        } else if wasKept, var data {
            data.keepsManagementKey = false
            // The secrets go first: what says that they are there may stay, and shows that this is not finished.
            try put(nil, .printedInformation, &card)
            try put(data.encoded, .administrativeData, &card)
        }
        return new.isKeptOnToken || new.value != nil ? .done : .managementKey(key)
    }

    /// Has the card keep a key until it is set which is its owner's to keep, beside the one that it has kept so far.
    private mutating func announce(_ key: borrowing Secret, _ card: inout CardTransaction) throws(TokenError) {
        let kept = try keptManagementKey(&card)
        switch kept.key {
        case .some(let former):
            try put(secret: KeptManagementKey.encoded(former, next: key.clone()), .printedInformation, &card)
        case .none: break
        }
    }

    /// Has the card keep a key that is about to count.
    private mutating func announce(
        _ key: borrowing Secret, wasKept: Bool, _ data: inout AdministrativeData?, _ card: inout CardTransaction
    ) throws(TokenError) {
        let kept = try keptManagementKey(&card)
        switch kept.key {
        case .some(let former) where wasKept:
            try put(secret: KeptManagementKey.encoded(former, next: key.clone()), .printedInformation, &card)
        default:
            var changed: AdministrativeData
            if let data { changed = data } else { changed = try AdministrativeData(parsing: nil) }
            changed.keepsManagementKey = true
            try put(changed.encoded, .administrativeData, &card)
            try put(secret: KeptManagementKey.encoded(key, next: nil), .printedInformation, &card)
        }
    }
}
