internal import SecureBytes
internal import SystemCrypto
internal import TokenKit

// Making, importing, moving and removing keys. SP 800-73-5 part 2 §3.3.1, and Yubico's extension.
extension PIVToken {
    func number(of kind: KeyKind) throws(TokenError) -> PIVAlgorithm {
        switch kind {
        case .rsa(1024): return .rsa1024
        case .rsa(2048): return .rsa2048
        case .rsa(3072): return .rsa3072
        case .rsa(4096): return .rsa4096
        case .ecP256: return .p256
        case .ecP384: return .p384
        case .ed25519: return quirks.has(.ed25519As22) ? .soloEd25519 : .ed25519
        case .x25519: return .x25519
        case .rsa, .ecP521, .other: throw TokenError(.unsupported, "PIV has no keys of the kind \(kind)")
        }
    }

    /// Checks that a key which the card makes is not a weak one, or may be one.
    mutating func requireStrong(
        _ algorithm: PIVAlgorithm, allowsWeak: Bool, _ card: inout CardTransaction
    ) throws(TokenError) {
        for advisory in try advisories(&card)
        where advisory.algorithms.contains(algorithm) && !(allowsWeak && advisory.canBeAllowed) {
            throw TokenError(.unsupported, advisory.refusal)
        }
    }

    /// Checks that a key which the card is given is not a weak one, or may be one.
    func requireStrong(_ key: PublicKey, allowsWeak: Bool) throws(TokenError) {
        guard key.isROCA, !allowsWeak else { return }
        throw TokenError(
            .unsupported,
            "everybody can compute this RSA key from its public half, CVE-2017-15361 (ROCA) (make another key; 'card import' and 'card put-certificate' take it all the same with --allow-weak-key)"
        )
    }

    /// The advisories that hold for the card.
    mutating func advisories(_ card: inout CardTransaction) throws(TokenError) -> [Advisory] {
        guard quirks.has(.keysByVersion), let firmware = try firmware(&card) else { return [] }
        return Advisory.all(for: firmware)
    }

    func privateKey(_ key: SharedSecret) throws(TokenError) -> PrivateKey {
        do { return try PrivateKey(encoded: key.secret) } catch {
            throw TokenError(.invalidArgument, "the private key cannot be read: \(error)")
        }
    }

    /// Checks that a slot may get another key.
    ///
    /// - Returns: its content; nil where it is empty, or holds a key of which the card tells nothing.
    mutating func requireReplaceable(
        _ slot: PIVSlot, _ replacing: KeyReplacement, _ card: inout CardTransaction
    ) throws(TokenError) -> TokenObject? {
        let consent: KeyReplacement = slot == .attestation ? .attestation : .any
        let reading = try object(in: slot, isListing: true, &card)
        if let failure = reading.failure, replacing != consent { throw failure }
        guard let object = reading.object, replacing != consent else { return reading.object }
        guard slot != .attestation else {
            throw TokenError(
                .invalidArgument,
                "slot \(slot.objectID) has the key with which the card attests to keys that it has made: the maker's would be lost for ever, and no reset brings it back (pass --replace-attestation-key to give it up)"
            )
        }
        let usage = object.certificate.flatMap { try? Certificate(der: $0) }?.keyUsage ?? []
        guard usage.isDisjoint(with: [.keyEncipherment, .dataEncipherment, .keyAgreement]) else {
            throw TokenError(
                .invalidArgument,
                "the certificate in slot \(slot.objectID) says that its key decrypts: what was encrypted for it would be lost (move the key to a retired slot, or pass --replace-decryption-key)"
            )
        }
        guard replacing == .ordinary else {
            throw TokenError(.invalidArgument, "slot \(slot.objectID) is in use (pass --replace to give up its key)")
        }
        return object
    }

    /// Checks that a change of a certificate is not the loss of the maker's, which certifies the attestation key.
    mutating func requireReplaceableCertificate(
        of slot: PIVSlot, by certificate: [UInt8]?, _ card: inout CardTransaction
    ) throws(TokenError) {
        guard slot == .attestation, let former = try object(in: slot, isListing: true, &card).object?.certificate,
            former != certificate
        else { return }
        throw TokenError(
            .invalidArgument,
            "slot \(slot.objectID) has the certificate of the card's attestation key, without which its attestations show nothing: the maker's would be lost for ever, and no reset brings it back (it goes with its key alone, by 'card import' or 'card delete' with --replace-attestation-key)"
        )
    }

    // The former certificate goes before its key: none must stand beside a key that it does not certify.
    mutating func removeCertificate(
        _ former: TokenObject?, of slot: PIVSlot, _ card: inout CardTransaction
    ) throws(TokenError) {
        if former?.certificate != nil {
            try setCertificate(nil, of: slot, &card)
        } else if try isMarked(slot, &card) {
            try put(nil, slot.container, &card)
        }
        forgetContent(of: slot)
    }

    /// - Parameter mark: the renewal that the key is made for, which the card keeps in place of the former certificate.
    mutating func generate(
        _ algorithm: PIVAlgorithm, _ policies: KeyPolicies, in slot: PIVSlot, inPlaceOf former: TokenObject?,
        for mark: RenewalMark? = nil, _ card: inout CardTransaction
    ) throws(TokenError) -> [UInt8] {
        if let mark, try keeps(mark, in: slot, &card) {
            forgetContent(of: slot)
        } else {
            try removeCertificate(former, of: slot, &card)
        }
        let response = try send(PIVCommand.generate(algorithm, policies, in: slot), &card)
        guard response.status.isSuccess else {
            throw restoring(
                former, of: slot, after: refusal(response.status, "make the key", algorithm, policies), &card)
        }
        let template = try PIVFormat.parsing("new public key") { () throws(TLVError) in
            try TLVReader.only(0x7F49, in: response.data).value
        }
        guard let publicKey = algorithm.subjectPublicKeyInfo(template) else {
            throw PIVFormat.malformed("new public key", "it is no \(algorithm) key")
        }
        remember(keyPutInto: slot, KeyMetadata.encoded(algorithm, policies, isImported: false, template), &card)
        return publicKey
    }

    mutating func load(
        _ key: PrivateKey, _ policies: KeyPolicies, into slot: PIVSlot, inPlaceOf former: TokenObject?,
        _ card: inout CardTransaction
    ) throws(TokenError) {
        let number = try number(of: key.kind)
        let content: Secret
        do { content = try PIVCommand.importContent(key, policies) } catch {
            throw TokenError(.invalidArgument, "the private key cannot be imported: \(error)")
        }
        try removeCertificate(former, of: slot, &card)
        let response = try send(PIVCommand.importKey(number, to: slot), secret: content, &card)
        guard response.status.isSuccess else {
            throw restoring(
                former, of: slot, after: refusal(response.status, "import the key", number, policies), &card)
        }
        let template = PIVAlgorithm.template(of: key.publicKey)
        remember(keyPutInto: slot, KeyMetadata.encoded(number, policies, isImported: true, template), &card)
    }

    /// Puts back the certificate of a key that the card has kept, since it refused the new one.
    private mutating func restoring(
        _ former: TokenObject?, of slot: PIVSlot, after refusal: TokenError, _ card: inout CardTransaction
    ) -> TokenError {
        // From 67 to 6E: the command was refused, and nothing was done. ISO/IEC 7816-4 §5.1.3.
        guard let certificate = former?.certificate, let status = refusal.status, (0x67...0x6E).contains(status.sw1)
        else { return refusal }
        do throws(TokenError) {
            try setCertificate(certificate, of: slot, &card)
            return refusal
        } catch {
            return TokenError(
                refusal.code,
                "\(refusal.reason), and the certificate of slot \(slot.objectID.rawValue) was lost: \(error.reason)",
                status: status)
        }
    }

    private func refusal(
        _ status: StatusWord, _ what: LocalizedText, _ algorithm: PIVAlgorithm, _ policies: KeyPolicies
    ) -> TokenError {
        switch status {
        case .incorrectData where policies != KeyPolicies():
            TokenError(
                .unsupported,
                "cannot \(what): the card takes no \(algorithm) key, or none with a PIN or touch policy of its own",
                status: status)
        case .incorrectData, .incorrectParameters:
            TokenError(.unsupported, "cannot \(what): the card takes no \(algorithm) key here", status: status)
        default: TokenError(status, what)
        }
    }

    // MARK: Moving

    static let firstThatMovesKeys = Firmware(5, 7, 0)

    /// Checks that the card can move and delete keys (Yubico, from firmware 5.7).
    mutating func requireMoving(_ card: inout CardTransaction) throws(TokenError) {
        guard let firmware = try firmware(&card), firmware >= PIVToken.firstThatMovesKeys else {
            throw TokenError(
                .unsupported,
                "this card cannot move or delete keys (a new key takes the place of one; 'card put-certificate --delete' removes a certificate)"
            )
        }
    }

    /// - Parameter target: nil to delete the key.
    mutating func move(
        _ source: PIVSlot, to target: PIVSlot?, _ card: inout CardTransaction
    ) throws(TokenError) {
        let response = try send(PIVCommand.moveKey(source, to: target), &card)
        forgetContent(of: source)
        if let target { forgetContent(of: target) }
        guard response.status.isSuccess else {
            throw TokenError(response.status, target == nil ? "delete the key" : "move the key")
        }
    }

    /// Checks that a key may move between two slots at all. The attestation key belongs to the device.
    func requireMovable(_ source: PIVSlot, to target: PIVSlot) throws(TokenError) {
        guard source != target else { throw TokenError(.invalidArgument, "the key is there already") }
        guard source != .attestation, target != .attestation else {
            throw TokenError(
                .invalidArgument,
                "slot \(PIVSlot.attestation.objectID) is for the attestation key alone, which cannot be moved")
        }
    }

    /// The certificate is at the target before the key, and is removed from the source last.
    mutating func move(
        _ source: PIVSlot, withCertificateTo target: PIVSlot, _ card: inout CardTransaction
    ) throws(TokenError) {
        let known = try object(in: source, isListing: true, &card).object
        let former = try object(in: target, isListing: true, &card).object
        let certificate = known?.certificate
        // An interruption leaves the certificate in both slots: the key is in the source before it moves, and in the target afterwards.
        let isBegun = certificate != nil && former?.certificate == certificate
        if isBegun, known?.key == nil, former?.key != nil { return try setCertificate(nil, of: source, &card) }
        guard former == nil || (isBegun && former?.key == nil) else {
            throw TokenError(.invalidArgument, "slot \(target.objectID) is in use")
        }
        if let certificate { try setCertificate(certificate, of: target, &card) }
        try move(source, to: target, &card)
        if certificate != nil { try setCertificate(nil, of: source, &card) }
    }

    /// Forgets what was read of a slot, and what is remembered of it.
    ///
    /// - Parameter keepingKey: whether its key stays remembered, which a card without metadata does not tell without a certificate.
    mutating func forgetContent(of slot: PIVSlot, keepingKey: Bool = false) {
        knowledge.forget(slot)
        forgetRemembered(slot, keepingKey: keepingKey)
        if slot.retiredNumber != nil, let memory, let id = knowledge.identity {
            memory.remember(RetiredSlotMemory.unknown, for: id)
        }
    }
}
