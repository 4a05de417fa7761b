internal import ArgumentParser
internal import HostAPI
internal import KeychainModel
internal import Localization
internal import SecureBytes
internal import SystemCrypto

/// The way to a card's management key, for commands that change its content.
struct AdministrationOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Take the management key, in hexadecimal digits, from fd:N, file:PATH or env:NAME, instead of asking.",
            valueName: "source"))
    var managementKeySource: String?

    @OptionGroup var cards: CardOptions
    @OptionGroup var authentication: AuthenticationOptions

    /// Hides the source from modules, which may be started before anything is asked for.
    func validate() {
        if let managementKeySource { SecretSource.withhold(managementKeySource) }
    }

    /// The only card, and the host that changes it.
    func card() throws -> AdministeredCard {
        let session = try CommandKeychains(cards, files: false)
        let prompter = try authentication.prompter(for: [cards.reader].compactMap { $0 }, session.access)
        return try AdministeredCard(
            session, answers(prompter), managementKeySource == nil ? .found : .asked,
            authentication.request(to: "administer the card"))
    }

    /// The answers to the questions for a card's secrets.
    func answers(_ person: any Prompter) throws -> AdministratorAnswers {
        let source = try managementKeySource.map { source in
            try SecretSource(source, alternative: person.alternative, isOpen: InheritedDescriptors.contains)
        }
        return AdministratorAnswers(
            person, managementKeySource: source, asksForManagementKey: authentication.pinSource == nil,
            alternative: String(
                localized:
                    "give the PIN with --pin-source and a management key with --management-key-source, or run where a prompt can be shown"
            ))
    }
}

/// A card whose content a command changes.
struct AdministeredCard {
    let session: CommandKeychains
    private(set) var description: KeychainDescription
    let host: any KeychainService
    private let answers: AdministratorAnswers
    private let authority: CardAuthority
    private let context: RequestContext

    init(
        _ session: CommandKeychains, _ answers: AdministratorAnswers, _ authority: CardAuthority,
        _ context: RequestContext
    ) throws {
        self.session = session
        description = try session.onlyCard()
        host = session.access.host(asking: answers)
        (self.answers, self.authority, self.context) = (answers, authority, context)
    }

    var identifier: KeychainIdentifier { description.identifier }

    /// The card under an identifier that stays the same while several steps change its keys and certificates.
    ///
    /// A card without a serial number and an identifier is known by a certificate, or not told from others of its kind: it gets an identifier
    /// first, where it can hold one.
    func identified() throws -> AdministeredCard {
        guard description.kind == .card, description.token?.serialNumber == nil, try !hasIdentifier() else {
            return self
        }
        do throws(KeychainError) {
            try change(.identify)
        } catch {
            guard [.itemNotFound, .invalidAlgorithm].contains(error.code) else { throw error }
            return self
        }
        var card = self
        card.description = try session.onlyCard()
        return card
    }

    /// Whether the card has an identifier of its own, which stays when its keys change.
    func hasIdentifier() throws(KeychainError) -> Bool {
        do throws(KeychainError) {
            _ = try host.dataObject("chuid", of: identifier, .silent)
            return true
        } catch {
            guard error.code == .itemNotFound else { throw error }
            return false
        }
    }

    /// Whether a person is there to agree to a change.
    var canConfirm: Bool { answers.canConfirm }

    func confirm(_ question: LocalizedText) throws(KeychainError) -> Bool {
        try answers.confirm(String(localized: question))
    }

    @discardableResult
    func change(_ change: CardChange) throws(KeychainError) -> CardChangeOutcome {
        try host.administer(identifier, change, by: authority, context)
    }

    /// Makes a key or imports one.
    ///
    /// - Returns: its public half.
    func newKey(_ change: CardChange) throws -> PublicKey {
        guard case .publicKey(let spki) = try self.change(change) else {
            throw KeychainError(.internalComponent, "the host did not tell the new key")
        }
        return try PublicKey(spki: spki)
    }

    /// The key of a slot, as it is now.
    func key(in slot: String) throws -> KeyDescription {
        let query = KeyQuery(.name(slot), in: .keychains([identifier]))
        guard let key = try host.keys(matching: query, .silent).found.first else {
            try requireSlot(slot)
            throw KeychainError(
                .itemNotFound, "the card tells of no key in slot \(slot)", remedy: "make one with 'card generate'")
        }
        return key
    }

    /// Checks that the card has such a slot at all.
    func requireSlot(_ slot: String) throws {
        let places = try host.managementKey(of: identifier, .silent).keyPlaces
        guard !places.isEmpty, !places.contains(where: { $0.slot == slot }) else { return }
        let usual = places.filter { $0.use != .retirement }.map(\.slot).joined(separator: ", ")
        throw KeychainError(
            .param, "the card has no slot \(slot) for keys of programs",
            remedy: "name one of \(usual), or a retired one")
    }

    /// Has the card check the PIN before a change that a key needs it for later.
    ///
    /// - Parameter policy: that of the key.
    func checkPIN(for policy: PINPolicy) throws(KeychainError) {
        switch policy {
        case .never: break
        case .always: try host.confirmPresence(for: identifier, context)
        case .once, .other: try host.unlock(identifier, context)
        }
    }

    func sign(
        _ message: [UInt8], _ algorithm: SignatureAlgorithm, with key: KeyDescription
    ) throws(KeychainError) -> [UInt8] {
        try KeyUse(host, context).perform(.sign(message), .messageSignature(algorithm), with: key.item).secret.copied()
    }

    /// The content of a slot; nil for an empty one.
    func slot(_ name: String) throws(KeychainError) -> CardSlot? {
        try host.card(identifier, telling: .slots, .silent).slots.first { $0.name == name }
    }
}

extension AdministeredCard {
    private struct Outcome: Encodable {
        /// Nil for a change of the card as a whole.
        let slot: String?
        let token: String
    }

    /// Reports a change, of a slot where one is given.
    func report(_ sentence: LocalizedText, of slot: SlotArgument? = nil, _ output: OutputOptions) throws {
        guard output.json else { return StandardOutput.line(localized: sentence) }
        try Listing.showJSON(Outcome(slot: slot?.name, token: identifier.rawValue))
    }
}

/// A slot of a card: `9A`, `9C`, `9D`, `9E`, `82` to `95`, and `F9` for attestation.
struct SlotArgument: ExpressibleByArgument {
    let name: String

    init?(argument: String) {
        guard argument.count == 2, let octets = Hex.decode(argument), octets.count == 1 else { return nil }
        name = Hex.encode(octets)
    }
}

/// The kind of a card's key.
enum CardKeyKind: String, ExpressibleByArgument, CaseIterable {
    case rsa1024, rsa2048, rsa3072, rsa4096, p256, p384, ed25519, x25519

    var kind: KeyKind {
        switch self {
        case .rsa1024: .rsa(bits: 1024)
        case .rsa2048: .rsa(bits: 2048)
        case .rsa3072: .rsa(bits: 3072)
        case .rsa4096: .rsa(bits: 4096)
        case .p256: .ecP256
        case .p384: .ecP384
        case .ed25519: .ed25519
        case .x25519: .x25519
        }
    }
}
