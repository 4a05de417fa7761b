internal import ArgumentParser
internal import HostAPI
internal import KeychainModel
internal import Localization
internal import SecureBytes
internal import Synchronization
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
        let source = try managementKeySource.map { source in
            try SecretSource(source, alternative: prompter.alternative, isOpen: InheritedDescriptors.contains)
        }
        return try AdministeredCard(
            session,
            AdministratorAnswers(
                prompter, managementKeySource: source, asksForManagementKey: authentication.pinSource == nil,
                alternative: String(
                    localized:
                        "give the PIN with --pin-source and a management key with --management-key-source, or run where a prompt can be shown"
                )),
            source == nil ? .found : .asked,
            authentication.request(to: "administer the card"))
    }
}

/// Answers the questions for the secrets of a card: with what was given before, from the source of the management key, or by a person.
final class AdministratorAnswers: Prompter {
    private struct State {
        var pin: SharedSecret?
        var unblockingKey: SharedSecret?
        var managementKey: SharedSecret?
    }

    private let person: any Prompter
    private let managementKeySource: SecretSource?
    private let asksForManagementKey: Bool
    let alternative: String
    private let state = Mutex(State())

    /// - Parameters:
    ///   - asksForManagementKey: whether the person is asked for the management key. A source of PINs has none.
    ///   - alternative: the other ways to give the secrets; by default those of the person's prompter.
    init(
        _ person: any Prompter, managementKeySource: SecretSource? = nil, asksForManagementKey: Bool = true,
        alternative: String? = nil
    ) {
        self.alternative = alternative ?? person.alternative
        self.person = person
        self.managementKeySource = managementKeySource
        self.asksForManagementKey = asksForManagementKey
    }

    /// Expects the values that cards are delivered with. SP 800-73 leaves them to makers: these are Yubico's, which others have too.
    func expect(pin: Bool, unblockingKey: Bool) {
        state.withLock { state in
            if pin { state.pin = SharedSecret(Secret(copying: Array("123456".utf8).span)) }
            if unblockingKey { state.unblockingKey = SharedSecret(Secret(copying: Array("12345678".utf8).span)) }
            // No answer stands for the factory's.
            state.managementKey = SharedSecret(Secret(capacity: 0) { _ in })
        }
    }

    var canAsk: Bool { person.canAsk || managementKeySource != nil || state.withLock { $0.managementKey != nil } }
    var canAskAgain: Bool { person.canAskAgain }
    var canConfirm: Bool { person.canConfirm }

    func ask(_ request: PromptRequest) throws(KeychainError) -> Secret {
        if request.failure == nil, let known = known(request.purpose) { return known }
        if request.purpose == .managementKey, let managementKeySource {
            // The source holds one key, which all steps of a command use.
            guard request.failure == nil else {
                throw KeychainError(
                    .param, CardManagementKey.form, remedy: "give it as the tool that set it shows it")
            }
            return keep(try managementKeySource.ask(request), as: .managementKey)
        }
        guard asksForManagementKey || request.purpose != .managementKey else {
            throw KeychainError(
                .interactionNotAllowed,
                "the management key of '\(request.subject)' is needed, which the card does not keep under its PIN",
                remedy: "give it with --management-key-source")
        }
        // Where a setup was interrupted after the new PIN, a source has that in the line before the new PUK.
        if request.purpose == .newUnblockingKey, known(.pin) == nil {
            _ = try ask(PromptRequest(.pin, subject: request.subject, use: String(localized: "set up the card")))
        }
        return keep(try person.ask(request), as: request.purpose)
    }

    /// Keeps an answer for later steps of the command.
    private func keep(_ answer: consuming Secret, as purpose: PromptRequest.Purpose) -> Secret {
        let answer = SharedSecret(answer)
        state.withLock { state in
            switch purpose {
            case .pin, .newPIN: state.pin = answer
            case .managementKey: state.managementKey = answer
            default: break
            }
        }
        return answer.secret.clone()
    }

    /// Asks a person for the management key, which is not the factory's.
    func askForManagementKey(of reader: String) throws(KeychainError) {
        _ = try ask(
            PromptRequest(
                .managementKey, subject: reader, use: String(localized: "administer it"),
                failure: String(localized: "it is not the factory's any more")))
    }

    private func known(_ purpose: PromptRequest.Purpose) -> Secret? {
        state.withLock { state in
            switch purpose {
            case .pin: return state.pin?.secret.clone()
            case .unblockingKey: return state.unblockingKey?.secret.clone()
            case .managementKey: return state.managementKey?.secret.clone()
            default: return nil
            }
        }
    }

    func confirm(_ question: String) throws(KeychainError) -> Bool { try person.confirm(question) }
    func tell(_ message: String) { person.tell(message) }
    func show(_ message: String) -> (@Sendable () -> Void)? { person.show(message) }
}

/// A card whose content a command changes.
struct AdministeredCard {
    let session: CommandKeychains
    private(set) var description: KeychainDescription
    let host: any KeychainService
    private let prompter: any Prompter
    private let authority: CardAuthority
    private let context: RequestContext

    init(
        _ session: CommandKeychains, _ prompter: any Prompter, _ authority: CardAuthority, _ context: RequestContext
    ) throws {
        self.session = session
        description = try session.onlyCard()
        host = session.access.host(asking: prompter)
        (self.prompter, self.authority, self.context) = (prompter, authority, context)
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

    private func hasIdentifier() throws(KeychainError) -> Bool {
        do throws(KeychainError) {
            _ = try host.dataObject("chuid", of: identifier, .silent)
            return true
        } catch {
            guard error.code == .itemNotFound else { throw error }
            return false
        }
    }

    /// Whether a person is there to agree to a change.
    var canConfirm: Bool { prompter.canConfirm }

    func confirm(_ question: LocalizedText) throws(KeychainError) -> Bool {
        try prompter.confirm(String(localized: question))
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
    private func requireSlot(_ slot: String) throws {
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

/// The conditions on which a new key of a card is used, and the key whose place it takes.
struct NewKeyOptions: ParsableArguments {
    enum PINChoice: String, ExpressibleByArgument, CaseIterable {
        case never, once, always

        var policy: PINPolicy {
            switch self {
            case .never: .never
            case .once: .once
            case .always: .always
            }
        }
    }

    enum TouchChoice: String, ExpressibleByArgument, CaseIterable {
        case never, always, cached

        var policy: TouchPolicy {
            switch self {
            case .never: .never
            case .always: .always
            case .cached: .cached
            }
        }
    }

    @Option(help: ArgumentHelp("When the key wants the PIN, instead of the slot's own rule.", valueName: "policy"))
    var pinPolicy: PINChoice?

    @Option(help: ArgumentHelp("When the key wants a touch.", valueName: "policy"))
    var touchPolicy: TouchChoice?

    @OptionGroup var replacement: ReplacementOptions

    var policies: KeyPolicies { KeyPolicies(pin: pinPolicy?.policy, touch: touchPolicy?.policy) }
}

/// The consent to lose a key.
struct ReplacementOptions: ParsableArguments {
    @Flag(help: "Give up the key that the slot has.")
    var replace = false

    @Flag(help: "Give it up also where its certificate says that it decrypts: what was encrypted for it is lost.")
    var replaceDecryptionKey = false

    @Flag(help: "Give up the key with which the card attests to its keys: no reset brings the maker's back.")
    var replaceAttestationKey = false

    var replacing: KeyReplacement {
        replaceAttestationKey ? .attestation : replaceDecryptionKey ? .any : replace ? .ordinary : .none
    }
}

/// The consent to a weak key that is not made by the card.
struct WeakRSAKeyOptions: ParsableArguments {
    @Flag(help: "Take an RSA key also where everybody can compute it from its public half (CVE-2017-15361, ROCA).")
    var allowWeakKey = false
}

/// The consent to a weak key.
struct WeakKeyOptions: ParsableArguments {
    @Flag(
        help:
            "Make an EC key also where who holds the card for long can find it out (YubiKeys from 5.0 to 5.6, EUCLEAK)."
    )
    var allowWeakKey = false
}
