internal import ArgumentParser
internal import HostAPI
internal import KeychainModel
internal import Localization
internal import Platform
internal import SecureBytes
internal import SystemCrypto

extension Card {
    struct Setup: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "setup", abstract: "Make a new card ready: PIN, PUK, keys, certificates and management key.",
            discussion: """
                What is to be done is shown first. Keys that the card has stay as they are: a setup that was interrupted is gone on \
                with by running it again. A card that still has the factory's PIN and PUK gets new ones, which are asked for, or \
                taken from --pin-source, a line each.
                """)

        @Option(
            name: .letter("c"),
            help: ArgumentHelp("The name in the certificates. (default: your user name)", valueName: "name"))
        var commonName: String?

        @Option(
            name: .shortAndLong,
            help: ArgumentHelp(
                "The kind of the keys. (default: p256; rsa2048 on a card whose EC keys are weak)", valueName: "kind"))
        var algorithm: CardKeyKind?

        @OptionGroup var weakness: WeakKeyOptions

        @Option(help: ArgumentHelp("When the keys want a touch.", valueName: "policy"))
        var touchPolicy: NewKeyOptions.TouchChoice?

        @Flag(help: "Also make the key that authenticates the card itself (9E), which is used without the PIN.")
        var cardAuthentication = false

        @Flag(help: "Show what would be done, and do nothing.")
        var dryRun = false

        @Flag(name: .shortAndLong, help: "Do it without asking.")
        var yes = false

        @OptionGroup var cards: CardOptions
        @OptionGroup var output: OutputOptions
        @OptionGroup var authentication: AuthenticationOptions

        private struct StepRow: Encodable {
            let slot: String?
            let step: LocalizedText
        }

        func validate() throws {
            guard (1...64).contains(name.unicodeScalars.count) else {
                throw ValidationError(localized: "a common name has 1 to 64 characters")
            }
        }

        private var name: String { commonName ?? Environment.variable("USER") ?? "PIV card" }

        func run() throws {
            let session = try CommandKeychains(cards, files: false)
            let person = try authentication.prompter(for: [cards.reader].compactMap { $0 }, session.access)
            let answers = AdministratorAnswers(person)
            let steps = try steps(for: card(answers), answers)
            if output.json {
                try Listing.showJSON(steps.map { StepRow(slot: $0.slot, step: $0.sentence(name)) })
            }
            guard !steps.isEmpty else {
                return output.json ? () : StandardOutput.line(localized: "The card is ready: there is nothing to do.")
            }
            if !output.json { steps.forEach { StandardOutput.line(localized: $0.sentence(name)) } }
            guard !dryRun else { return }
            if !yes, person.canConfirm, try !person.confirm(String(localized: "Do this with the card?")) {
                throw KeychainError(.userCanceled, "nothing was changed")
            }
            for step in steps {
                do {
                    try perform(step, answers)
                } catch let error as KeychainError where error.code == .authFailed && step.needsManagementKey {
                    try answers.askForManagementKey(of: card(answers).description.location)
                    try perform(step, answers)
                }
            }
            if !output.json {
                StandardOutput.line(
                    localized: "The card is ready. 'card info' shows it, and 'ssh keys' its keys for ssh and git.")
            }
        }

        /// The card, under the identifier that it has now.
        private func card(_ answers: AdministratorAnswers) throws -> AdministeredCard {
            try AdministeredCard(
                CommandKeychains(cards, files: false), answers, .found, authentication.request(to: "set up the card"))
        }

        private func steps(for card: AdministeredCard, _ answers: AdministratorAnswers) throws -> [SetupStep] {
            let overview = try card.host.card(card.identifier, telling: [.slots, .pin, .unblockingKey], .silent)
            if let failure = overview.failures.first { throw failure }
            let key = try card.host.managementKey(of: card.identifier, .silent)
            let isNew = overview.slots.allSatisfy { slot in !key.keyPlaces.contains { $0.slot == slot.name } }
            var steps: [SetupStep] = []
            // A card that does not tell is taken for a new one where it has no key.
            let pinIsDefault = try overview.pin?.get().isDefault
            let unblockingKeyIsDefault = (try? overview.unblockingKey?.get())?.isDefault ?? pinIsDefault
            answers.expect(pin: pinIsDefault ?? isNew, unblockingKey: unblockingKeyIsDefault ?? isNew)
            if pinIsDefault ?? isNew { steps.append(.changePIN) }
            if unblockingKeyIsDefault ?? isNew { steps.append(.changeUnblockingKey) }
            if try !hasIdentifier(card) { steps.append(.identify) }
            for place in key.keyPlaces
            where place.use != .retirement && (place.use != .presence || cardAuthentication) {
                let known = overview.slots.first { $0.name == place.slot }
                if known == nil { steps.append(try makingKey(in: place.slot, weak: key.weakKeys)) }
                if known?.certificate == nil { steps.append(.certify(place.slot)) }
            }
            if key.isDefault ?? (isNew && !key.isKeptOnCard) { steps.append(.setManagementKey) }
            return steps
        }

        /// The step that makes a key, of a kind that is not weak on this card unless that was allowed.
        private func makingKey(in slot: String, weak: [KeyKind]) throws -> SetupStep {
            let wanted = algorithm?.kind ?? .ecP256
            guard weak.contains(wanted), !weakness.allowWeakKey else { return .makeKey(slot, wanted, avoiding: nil) }
            guard algorithm == nil else {
                throw KeychainError(
                    .invalidAlgorithm, "\(wanted) keys that this card makes are weak, as 'card info' says",
                    remedy: "leave out --algorithm, or pass --allow-weak-key")
            }
            return .makeKey(slot, .rsa(bits: 2048), avoiding: wanted)
        }

        private func hasIdentifier(_ card: AdministeredCard) throws -> Bool {
            do throws(KeychainError) {
                _ = try card.host.dataObject("chuid", of: card.identifier, .silent)
                return true
            } catch  where error.code == .itemNotFound {
                return false
            }
        }

        private func perform(_ step: SetupStep, _ answers: AdministratorAnswers) throws {
            let card = try card(answers)
            switch step {
            case .changePIN: try card.host.administer(card.identifier, .changePIN, authentication.request)
            case .changeUnblockingKey:
                try card.host.administer(card.identifier, .changeUnblockingKey, authentication.request)
            case .identify: try card.change(.identify)
            case .makeKey(let slot, let kind, _):
                let policies = KeyPolicies(touch: touchPolicy?.policy)
                try card.change(
                    .generateKey(
                        slot: slot, kind, policies, replacing: .none, allowsWeak: weakness.allowWeakKey))
            case .certify(let slot): try card.selfSign(slot, commonName: name, days: 3650)
            case .setManagementKey:
                do {
                    try card.change(
                        .setManagementKey(CardManagementKey(nil, nil, touch: .never, isKeptOnCard: true)))
                } catch  where [.itemNotFound, .invalidAlgorithm].contains(error.code) {
                    Warnings.show(
                        "the card cannot keep a management key of its own, so that it still has the factory's")
                }
            }
        }
    }
}

/// A step of a setup.
private enum SetupStep {
    case changePIN, changeUnblockingKey, identify
    /// - Parameter avoiding: the usual kind, where that is weak on this card.
    case makeKey(String, KeyKind, avoiding: KeyKind?)
    case certify(String)
    case setManagementKey

    var slot: String? {
        switch self {
        case .makeKey(let slot, _, _), .certify(let slot): slot
        default: nil
        }
    }

    /// Whether the management key was what the card refused: these steps are the first that need it.
    var needsManagementKey: Bool {
        switch self {
        case .identify, .makeKey: true
        default: false
        }
    }

    func sentence(_ name: String) -> LocalizedText {
        switch self {
        case .changePIN: "Set a new PIN in place of the factory's."
        case .changeUnblockingKey: "Set a new PUK in place of the factory's."
        case .identify: "Write the card's identifier."
        case .makeKey(let slot, let kind, nil): "Make a key \(kind) in slot \(slot)."
        case .makeKey(let slot, let kind, let weak?):
            "Make a key \(kind) in slot \(slot), since \(weak) keys of this card are weak ('card info' says why)."
        case .certify(let slot): "Make a certificate for '\(name)' with the key in slot \(slot)."
        case .setManagementKey: "Set a random management key, which the card gives to whoever has the PIN."
        }
    }
}
