internal import KeychainModel
package import SecureBytes
internal import SystemCrypto
package import Wire

extension CardAdministration: WireValue {}
extension KeychainDescription.Kind: WireValue {}
extension KeychainStatus: WireValue {}
extension PresenceProof: WireValue {}

extension KeychainDescription.Kinds: WireValue {
    init(from message: inout MessageReader) throws(WireError) {
        self.init(rawValue: try message.value())
        guard isSubset(of: [.all, .knownCards]) else { throw .malformed }
    }
}

extension KeychainDescription.Token: WireRecord {
    static let fields = Fields(
        {
            KeychainDescription.Token(
                manufacturer: $0, model: $1, serialNumber: $2, version: $3, slotName: $5, module: $4)
        },
        \.manufacturer, \.model, \.serialNumber, \.version, \.module, \.slotName)
}

extension KeychainDescription: WireRecord {
    static let fields = Fields(
        KeychainDescription.init(_:_:name:location:status:isDefault:token:damage:),
        \.identifier, \.kind, \.name, \.location, \.status, \.isDefault, \.token, \.damage)
}

extension KeychainDetails: WireRecord {
    static let fields = Fields(
        KeychainDetails.init(_:triesLeft:otherLocations:settings:unlocking:),
        \.keychain, \.triesLeft, \.otherLocations, \.settings, \.unlocking)
}

extension KeychainSettings: WireRecord {
    static let fields = Fields(KeychainSettings.init(locksOnSleep:lockInterval:), \.locksOnSleep, \.lockInterval)
}

extension KeychainChoice: WireRecord {
    static let fields = Fields(
        KeychainChoice.init(searchList:defaultKeychain:loginKeychain:),
        \.searchList, \.defaultKeychain, \.loginKeychain)
}

extension ChangeResult: WireRecord {
    static let fields = Fields(
        ChangeResult.init, setting: \.added, \.identities, \.updatedCount, \.deletedCount)
}

extension EventPage: WireRecord {
    static let fields = Fields(EventPage.init(_:next:isIncomplete:), \.events, \.next, \.isIncomplete)
}

/// The content of an answer that tells nothing.
private struct Nothing: WireValue {
    func write(to message: inout MessageWriter) {}
    init() {}
    init(from message: inout MessageReader) {}
}

extension HostAnswer: WireValue {
    /// The number of the answer's kind, and its value.
    private var content: (kind: UInt8, value: any WireValue) {
        switch self {
        case .done: (1, Nothing())
        case .failed(let error): (2, error)
        case .keychains(let outcome): (3, outcome)
        case .items(let outcome): (4, outcome)
        case .identities(let outcome): (5, outcome)
        case .secret(let secret): (6, secret)
        case .changed(let outcome): (7, outcome)
        case .locked(let missing): (8, missing)
        case .events(let page): (9, page)
        case .keychain(let details): (10, details)
        case .explanation(let explanation): (11, explanation)
        case .path(let path): (12, path)
        case .choice(let choice): (13, choice)
        case .presenceProof(let proof): (14, proof)
        case .supported(let isSupported): (15, isSupported)
        case .credentials(let kinds): (16, kinds)
        case .certificates(let certificates): (17, certificates)
        case .verdict(let outcome): (18, outcome)
        case .imported(let content): (19, content)
        case .passwordChange(let change): (20, change)
        case .boundCards(let cards): (21, cards)
        case .backup(let count): (22, count)
        case .places(let outcome): (23, outcome)
        case .token(let description): (24, description)
        case .keys(let outcome): (25, outcome)
        case .vouching(let vouching): (26, vouching)
        case .drivers(let drivers): (27, drivers)
        case .cardSettings(let settings): (28, settings)
        case .card(let overview): (29, overview)
        case .dataObject(let content): (30, content)
        case .modules(let modules): (31, modules)
        case .damage(let missing): (32, missing)
        case .hostStatus(let status): (33, status)
        case .journal(let page): (34, page)
        case .searched(let outcome): (35, outcome)
        case .accessDecisions(let outcome): (36, outcome)
        case .accessChange(let count): (37, count)
        case .access(let access): (38, access)
        case .cardChange(let outcome): (39, outcome)
        case .managementKey(let status): (40, status)
        case .attestation(let certificate): (41, certificate)
        case .verifiedAttestation(let attestation): (42, attestation)
        }
    }

    func write(to message: inout MessageWriter) {
        let (kind, value) = content
        message.write(case: kind)
        value.write(to: &message)
    }

    init(from message: inout MessageReader) throws(WireError) {
        switch try message.value(UInt8.self) {
        case 1: self = .done
        case 2: self = try message.read(Self.failed)
        case 3: self = try message.read(Self.keychains)
        case 4: self = try message.read(Self.items)
        case 5: self = try message.read(Self.identities)
        case 6: self = try message.read(Self.secret)
        case 7: self = try message.read(Self.changed)
        case 8: self = try message.read(Self.locked)
        case 9: self = try message.read(Self.events)
        case 10: self = try message.read(Self.keychain)
        case 11: self = try message.read(Self.explanation)
        case 12: self = try message.read(Self.path)
        case 13: self = try message.read(Self.choice)
        case 14: self = try message.read(Self.presenceProof)
        case 15: self = try message.read(Self.supported)
        case 16: self = try message.read(Self.credentials)
        case 17: self = try message.read(Self.certificates)
        case 18: self = try message.read(Self.verdict)
        case 19: self = try message.read(Self.imported)
        case 20: self = try message.read(Self.passwordChange)
        case 21: self = try message.read(Self.boundCards)
        case 22: self = try message.read(Self.backup)
        case 23: self = try message.read(Self.places)
        case 24: self = try message.read(Self.token)
        case 25: self = try message.read(Self.keys)
        case 26: self = try message.read(Self.vouching)
        case 27: self = try message.read(Self.drivers)
        case 28: self = try message.read(Self.cardSettings)
        case 29: self = try message.read(Self.card)
        case 30: self = try message.read(Self.dataObject)
        case 31: self = try message.read(Self.modules)
        case 32: self = try message.read(Self.damage)
        case 33: self = try message.read(Self.hostStatus)
        case 34: self = try message.read(Self.journal)
        case 35: self = try message.read(Self.searched)
        case 36: self = try message.read(Self.accessDecisions)
        case 37: self = try message.read(Self.accessChange)
        case 38: self = try message.read(Self.access)
        case 39: self = try message.read(Self.cardChange)
        case 40: self = try message.read(Self.managementKey)
        case 41: self = try message.read(Self.attestation)
        case 42: self = try message.read(Self.verifiedAttestation)
        default: throw .malformed
        }
    }
}

extension HostAnswer {
    /// The value of an answer of one kind; nil for an answer of another kind.
    func value<Value: WireValue>(of kind: (Value) -> HostAnswer) -> Value? {
        guard let value = content.value as? Value, kind(value).content.kind == content.kind else { return nil }
        return value
    }

    /// The answer of a message.
    ///
    /// - Throws: `WireError` for anything that ``message()`` does not write.
    package init(parsing fields: [UInt8], lane: consuming Secret) throws(WireError) {
        self = try .read(fields, lane: lane)
    }

    /// The message of the answer.
    package func message() -> MessageWriter { wholeMessage }
}
