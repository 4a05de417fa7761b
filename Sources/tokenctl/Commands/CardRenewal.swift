internal import HostAPI
internal import KeychainModel
internal import Localization
internal import SecureBytes
internal import SystemCrypto

/// A new key for a slot, made in steps. After an interruption at any of them, another run finishes the renewal.
///
/// The card keeps a mark with the slot and the name, beside the certificate of the new key and before there is one. Where keys can be moved,
/// the mark is in the retired slot of the new key until that is in its place; elsewhere in the slot itself until it has a certificate.
struct CardRenewal {
    let card: AdministeredCard
    let facts: CardManagementKeyStatus
    let slot: String
    /// Nil for that of the old key.
    let kind: KeyKind?
    let days: UInt16
    /// The conditions of the new key, where they are not those of the old one.
    let policies: KeyPolicies
    let allowsWeak: Bool
    let replacing: KeyReplacement

    // MARK: On cards that move keys

    /// Makes the new key in a retired slot, and moves it to the place of the old one.
    ///
    /// - Returns: the retired slot of an old key that decrypts; nil where no key is kept.
    func besideOldKey() throws -> String? {
        // A mark without a key is listed nowhere. It is in the slot that was the first free one.
        for place in try card.slots().map(\.name).filter(isRetired) + freeSlots().prefix(1) {
            guard let begun = try card.renewal(in: place), begun.renewal.slot == slot else { continue }
            let (new, old) = (try card.slot(place), try card.slot(slot))
            if let key = new?.key {
                tellInterruption()
                if new?.certificate == nil { try certify(key.pinPolicy, place, begun.renewal) }
                try tellOtherKind(than: key)
                return try exchange(place) ?? retainedSlot()
            }
            // The key has been moved, and its certificate is in both slots.
            if let present = old?.parsedCertificate, try begun.isFor(present), old?.key != nil {
                tellInterruption()
                try card.change(.moveKey(slot: place, to: slot))
                return try retainedSlot()
            }
            try card.change(.setCertificate(slot: place, nil))
        }
        let old = try oldKey()
        let free = try freeSlots()
        guard let place = free.first else {
            throw KeychainError(.noSuchKeychain, "the card has no free retired slot", remedy: "delete an old key")
        }
        guard free.count > 1 || !decrypts(old.certificate) else {
            throw KeychainError(
                .noSuchKeychain, "the card has no two free retired slots", remedy: "delete an old key")
        }
        let renewal = KeyRenewal(of: slot, for: old.name)
        try card.checkPIN(for: old.key.pinPolicy)
        let kind = try kind ?? PublicKey(spki: old.key.publicKey).kind
        try card.change(
            .renewKey(renewal, in: place, kind, policies(after: old.key), replacing: .none, allowsWeak: allowsWeak))
        try certify(.never, place, renewal)
        return try exchange(place)
    }

    private func certify(_ policy: PINPolicy, _ place: String, _ renewal: KeyRenewal) throws {
        try card.checkPIN(for: policy)
        try card.selfSign(place, for: use, commonName: renewal.name, days: days, renewal: renewal)
    }

    /// Removes the old key, or keeps one that decrypts in a retired slot, and moves the new key into its place. The old key may be gone or
    /// on its way already.
    ///
    /// - Returns: the slot of an old key that was moved.
    private func exchange(_ place: String) throws -> String? {
        let slots = try card.slots()
        let new = slots.first { $0.name == place }?.certificate
        let old = slots.first { $0.name == slot }
        var kept: String?
        if let certificate = old?.certificate, certificate != new {
            // An interrupted move leaves the certificate in both slots.
            let copy = slots.first { isRetired($0.name) && $0.name != place && $0.certificate == certificate }
            if old?.key == nil, copy?.key == nil {
                try card.change(.setCertificate(slot: slot, nil))
            } else if try copy != nil || decrypts(Certificate(der: certificate)) {
                guard let target = try copy?.name ?? freeSlots().first else {
                    throw KeychainError(
                        .noSuchKeychain, "the card has no free retired slot", remedy: "delete an old key")
                }
                try card.change(.moveKey(slot: slot, to: target))
                kept = target
            } else {
                try card.change(.deleteKey(slot: slot, replacing: .any))
            }
        } else if old?.key != nil {
            try card.change(.deleteKey(slot: slot, replacing: .any))
        }
        try card.change(.moveKey(slot: place, to: slot))
        return kept
    }

    /// The retired slots without a key.
    private func freeSlots() throws(KeychainError) -> [String] {
        let used = try card.slots().map(\.name)
        return facts.keyPlaces.map(\.slot).filter { isRetired($0) && !used.contains($0) }
    }

    /// The slot of the key that an interrupted renewal has replaced, where that decrypts.
    private func retainedSlot() throws(KeychainError) -> String? {
        let slots = try card.slots()
        guard let present = slots.first(where: { $0.name == slot })?.parsedCertificate, decrypts(present) else {
            return nil
        }
        let retained = slots.filter { known in
            guard isRetired(known.name), known.key != nil, let certificate = known.parsedCertificate else {
                return false
            }
            return certificate.commonName == present.commonName && decrypts(certificate)
        }
        return retained.max { $0.validFrom < $1.validFrom }?.name
    }

    // MARK: On other cards

    /// Makes the new key in place of the old one, which is given up.
    ///
    /// - Returns: nil, since no key is kept.
    func inPlaceOfOldKey() throws -> String? {
        let known = try card.slot(slot)
        if known?.certificate == nil, let begun = try card.renewal(in: slot), begun.renewal.slot == slot {
            tellInterruption()
            let former = known?.key.flatMap { try? PublicKey(spki: $0.publicKey).kind }
            let usual = facts.weakKeys.contains(.ecP256) ? KeyKind.rsa(bits: 2048) : .ecP256
            // The old key was given up when its certificate was.
            try replace(begun.renewal, kind ?? former ?? usual, .ordinary, known?.key)
            return nil
        }
        let old = try oldKey()
        guard replacing != .none else {
            throw KeychainError(.param, "slot \(slot) is in use (pass --replace to give up its key)")
        }
        try replace(
            KeyRenewal(of: slot, for: old.name), kind ?? PublicKey(spki: old.key.publicKey).kind, replacing, old.key)
        return nil
    }

    private func replace(
        _ renewal: KeyRenewal, _ kind: KeyKind, _ replacing: KeyReplacement, _ old: CardSlot.Key?
    ) throws {
        try card.checkPIN(for: use == .presence ? .never : old?.pinPolicy ?? .once)
        // The card may be known by the certificate that goes.
        let card = try card.identified()
        try card.change(
            .renewKey(
                renewal, in: slot, kind, policies(after: old), replacing: replacing, allowsWeak: allowsWeak))
        try card.selfSign(slot, for: use, commonName: renewal.name, days: days, allowsWeak: allowsWeak)
    }

    // MARK: The old key

    private struct OldKey {
        let key: CardSlot.Key
        let certificate: Certificate
        let name: String
    }

    private func oldKey() throws -> OldKey {
        let known = try card.slot(slot)
        guard let key = known?.key, let certificate = try known?.certificate.map({ try Certificate(der: $0) }),
            let name = certificate.commonName
        else {
            throw KeychainError(
                .itemNotFound, "slot \(slot) has no key with a certificate for a name", remedy: try remedy())
        }
        return OldKey(key: key, certificate: certificate, name: name)
    }

    /// The advice where a slot has no key to be renewed: other tools leave no mark of a renewal.
    private func remedy() throws(KeychainError) -> LocalizedText {
        let moved = try card.slots().filter { known in
            guard isRetired(known.name), known.key != nil, let usage = known.parsedCertificate?.keyUsage else {
                return false
            }
            return usage.isDisjoint(with: [.keyEncipherment, .dataEncipherment, .keyAgreement]) == (use != .decryption)
        }
        guard let newest = moved.max(by: { $0.validFrom < $1.validFrom }) else {
            return "use 'card generate' and 'card self-sign'"
        }
        return
            "if a renewal was interrupted, 'card move \(newest.name) \(slot)' puts the newest of the retired keys there"
    }

    private var use: KeyRole { facts.keyPlaces.first { $0.slot == slot }?.use ?? .retirement }

    private func isRetired(_ name: String) -> Bool {
        facts.keyPlaces.contains { $0.slot == name && $0.use == .retirement }
    }

    /// Whether something may be encrypted for a key: a certificate without the extension limits no use.
    private func decrypts(_ certificate: Certificate) -> Bool {
        guard let usage = certificate.keyUsage else { return use == .decryption || use == .retirement }
        return !usage.isDisjoint(with: [.keyEncipherment, .dataEncipherment, .keyAgreement])
    }

    /// The conditions of the new key: those of the old one, as far as the card tells them.
    private func policies(after old: CardSlot.Key?) -> KeyPolicies {
        // A card that tells neither may have no policies of its own.
        guard let old, old.touchPolicy != .unknown else { return policies }
        return KeyPolicies(pin: policies.pin ?? old.pinPolicy, touch: policies.touch ?? old.touchPolicy)
    }

    /// Says that the interrupted renewal made a key of another kind than what is wanted now.
    private func tellOtherKind(than key: CardSlot.Key) throws {
        let made = try PublicKey(spki: key.publicKey).kind
        guard let kind, kind != made else { return }
        Warnings.show("the new key is \(made), as the interrupted renewal made it; renew it again for \(kind)")
    }

    private func tellInterruption() {
        Warnings.show("the renewal of slot \(slot) was interrupted, and is finished now")
    }
}

extension AdministeredCard {
    fileprivate func slots() throws(KeychainError) -> [CardSlot] {
        try host.card(identifier, telling: .slots, .silent).slots
    }

    /// The renewal that a slot has a mark of; nil for none.
    fileprivate func renewal(in slot: String) throws(KeychainError) -> BegunRenewal? {
        let content: CardDataContent
        do throws(KeychainError) {
            content = try host.dataObject(slot, of: identifier, .silent)
        } catch {
            guard error.code == .itemNotFound else { throw error }
            return nil
        }
        let facts = (try? content.facts.get()) ?? []
        let parts = facts.reduce(into: [:]) { $0.merge($1.parts) { first, _ in first } }
        guard case .text(let renewed)? = parts["renewedSlot"], case .text(let name)? = parts["renewedName"] else {
            return nil
        }
        let fingerprint: String? = if case .text(let text)? = parts["sha256"] { text } else { nil }
        return BegunRenewal(renewal: KeyRenewal(of: renewed, for: name), fingerprint: fingerprint)
    }
}

/// A mark on a card, and the certificate in the same object.
private struct BegunRenewal {
    let renewal: KeyRenewal
    /// Nil where the object has a mark alone.
    let fingerprint: String?

    func isFor(_ certificate: Certificate) throws -> Bool {
        try fingerprint == Hex.encode(certificate.fingerprint(.sha256))
    }
}

extension CardSlot {
    fileprivate var parsedCertificate: Certificate? { certificate.flatMap { try? Certificate(der: $0) } }

    /// Start of the certificate's validity, in seconds since 1970.
    fileprivate var validFrom: Int64 { parsedCertificate?.notBefore ?? .min }
}
