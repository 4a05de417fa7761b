internal import ArgumentParser
internal import HostAPI
internal import HostConnection
internal import KeychainModel
internal import Localization
internal import Platform

struct Status: ParsableCommand {
    static let name = "status"
    static let configuration = CommandConfiguration(
        commandName: name,
        abstract: "Show the cards, the keychains and the host of this session, and what to do next.",
        discussion: "So does tokenctl without a command.")

    @OptionGroup var output: OutputOptions

    func run() throws {
        let state = try SessionState(CommandKeychains(HostAccess()))
        guard !output.json else { return try Listing.showJSON(state) }
        Listing.show(state.facts)
    }
}

/// The cards, keychains and host of a session, and the commands that a person needs next.
private struct SessionState: Encodable {
    struct Card: Encodable {
        let name: String
        let reader: String
        /// Whether its PIN counts for the programs of the session; nil where the host does not tell.
        let isUnlocked: Bool?
        /// Whether its PIN has no try left; nil where the card does not tell.
        let isBlocked: Bool?
        /// Whether its PIN can be unblocked with the PUK, as far as the card tells.
        let isUnblockable: Bool
        /// The secrets that are still the factory's.
        let factorySecrets: [String]
        /// The number of its keys that have a certificate.
        let identities: Int
    }

    struct File: Encodable {
        let name: String
        let location: String
        let isUnlocked: Bool
        let isDefault: Bool
        /// The reason why it cannot be used.
        let reason: String?
    }

    /// A command, and what it is for.
    struct Step: Encodable {
        let command: String
        let purpose: LocalizedText

        var line: String { "\(command.padded(to: Step.width))  \(purpose)" }

        /// The length of the longest command.
        private static let width = 26
    }

    let cards: [Card]
    let keychains: [File]
    let host: Host.State
    /// Whether the programs of this shell use the host as their SSH agent.
    let isAgentChosen: Bool
    /// The readers, modules and keychains that could not be read, each with the reason.
    let missing: [String]
    private(set) var next: [Step] = []

    /// The number of cards, and of keychains, that have a line each. The last of these lines counts the rest.
    private static let shown = 2

    init(_ session: CommandKeychains) throws {
        let (tokens, files) = (try session.foundTokens(), try session.foundFiles())
        let process = try HostSession()
        let status = try? HostConnection.connect().hostStatus(.silent)
        host = Host.State(process, process.listener, status)
        // Where nothing can be searched, what is missing says why.
        let identities = (try? session.identities(matching: Query(.identity, limit: .all)).found) ?? []
        cards = tokens.found.map { card in
            let pins =
                card.token?.module == nil
                ? try? session.host.card(card.identifier, telling: [.pin, .unblockingKey], .silent) : nil
            return Card(
                name: card.name, reader: card.location,
                isUnlocked: status.map { $0.readersWithPIN.contains(card.location) },
                isBlocked: (try? pins?.pin?.get())?.isBlocked,
                isUnblockable: (try? pins?.unblockingKey?.get())?.isBlocked != true,
                factorySecrets: pins.map {
                    session.host.factorySecrets($0, try? session.host.managementKey(of: card.identifier, .silent)).names
                } ?? [],
                identities: identities.count { $0.key.keychain == card.identifier })
        }
        let choice = try session.host.keychainChoice(in: nil, .silent)
        keychains = files.found.map { file in
            File(
                name: file.name, location: file.location, isUnlocked: file.status.contains(.unlocked),
                isDefault: file.location == choice.defaultKeychain, reason: file.damage?.reason)
        }
        isAgentChosen = try SSH.isChosen
        let disabled = CardDrivers.disabled(in: session.host)
        missing =
            (tokens.missing + files.missing).map(\.text)
            + disabled.map { String(localized: "cards of the driver '\($0)', which is disabled") }
        next = steps
    }

    /// The state for people, in ten lines at most.
    var facts: [CardFact] {
        let cards = cards.map { card in
            let danger = card.factorySecrets.map(Word.shown).joined(separator: ", ")
            guard card.isBlocked != true else { return String(localized: "\(card.name), its PIN is blocked") }
            let text: LocalizedText =
                switch (card.isUnlocked == true, danger.isEmpty) {
                case (false, true): "\(card.name)"
                case (true, true): "\(card.name), its PIN counts for this session"
                case (false, false): "\(card.name), with the factory's \(danger)"
                case (true, false): "\(card.name), its PIN counts for this session, with the factory's \(danger)"
                }
            return String(localized: text)
        }
        let keychains = keychains.map { keychain in
            let state = keychain.reason ?? Word.shown(keychain.isUnlocked ? "unlocked" : "locked")
            return String(
                localized: keychain.isDefault
                    ? "\(keychain.name), \(state), gets new items" : "\(keychain.name), \(state)")
        }
        return SessionState.facts("Card", cards, missing.isEmpty ? "none is in a reader" : "none can be read")
            + SessionState.facts("Keychain", keychains, "none yet")
            + missing.prefix(SessionState.shown).map { CardFact("Missing", $0) }
            + [CardFact("Host", String(localized: hostState))] + next.map { CardFact("Next", $0.line) }
    }

    private static func facts(_ name: LocalizedKey, _ values: [String], _ absence: LocalizedText) -> [CardFact] {
        guard !values.isEmpty else { return [CardFact(name, String(localized: absence))] }
        let more = values.count - shown
        return values.prefix(shown).enumerated().map { index, value in
            CardFact(name, more > 0 && index == shown - 1 ? String(localized: "\(value), and \(more) more") : value)
        }
    }

    private var hostState: LocalizedText {
        guard host.isServed else { return "none yet: the first program that needs one starts it" }
        switch host.clients?.count {
        case nil: return "serves this session"
        case 0?: return "serves this session, and no other program uses it"
        case let count?:
            return .plural(
                count, one: "serves this session, and 1 other program uses it",
                other: "serves this session, and \(count) other programs use it")
        }
    }

    private var steps: [Step] {
        var steps: [Step] = []
        if !missing.isEmpty {
            steps.append(Step(command: "tokenctl doctor", purpose: "say what is missing, and how to mend it"))
        }
        if let card = cards.first(where: { $0.isBlocked == true }) {
            steps.append(
                card.isUnblockable
                    ? Step(command: "tokenctl card pin unblock", purpose: "set a new PIN with the PUK")
                    : Step(command: "tokenctl card reset", purpose: "empty the card: PIN and PUK are blocked"))
        }
        if cards.contains(where: { $0.identities == 0 && $0.isBlocked != true }) {
            steps.append(Step(command: "tokenctl card setup", purpose: "make keys and a PIN on the new card"))
        } else if !cards.isEmpty {
            steps.append(Step(command: "tokenctl find-identity -v", purpose: "see the certificates and their keys"))
        }
        if keychains.isEmpty {
            steps.append(Step(command: "tokenctl create-keychain", purpose: "make a keychain for passwords and keys"))
        }
        if cards.contains(where: { $0.identities > 0 }), !isAgentChosen, !SSH.isEnabled {
            steps.append(Step(command: "tokenctl ssh enable", purpose: "let ssh and git use the keys"))
        }
        return Array(steps.prefix(2)) + [Step(command: "tokenctl help", purpose: "see all commands")]
    }
}
