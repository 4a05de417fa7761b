internal import ArgumentParser
internal import Glibc
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
                taken from --pin-source, a line each. Of a card that does not tell whether it has the factory's they are changed \
                where it is empty, or by --factory-pin.
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
        @OptionGroup var policy: KeyPolicyOptions

        @Flag(help: "Also make the key that authenticates the card itself (9E), which is used without the PIN.")
        var cardAuthentication = false

        @Option(
            help: ArgumentHelp(
                "Write requests for certificates to this folder, 9A.csr and others, instead of making certificates.",
                valueName: "folder"), completion: .directory)
        var requests: String?

        @Option(
            name: .customLong("management-key-in"),
            help: ArgumentHelp(
                "Keep the random management key in this keychain, as a password, instead of on the card.",
                valueName: "keychain"), completion: Completions.keychains)
        var managementKeyKeychain: String?

        @Flag(help: "PIN and PUK are still the factory's, which the card does not tell.")
        var factoryPIN = false

        @Flag(help: "Show what would be done, and do nothing.")
        var dryRun = false

        @Flag(name: .shortAndLong, help: "Do it without asking.")
        var yes = false

        @OptionGroup var output: OutputOptions
        @OptionGroup var administration: AdministrationOptions

        private struct StepRow: Encodable {
            let slot: String?
            let step: LocalizedText
        }

        func validate() throws {
            guard (1...64).contains(name.unicodeScalars.count) else {
                throw ValidationError(localized: "a common name has 1 to 64 characters")
            }
            guard algorithm?.kind != .x25519 else {
                throw ValidationError(localized: "x25519 keys sign no certificates: make them with 'card generate'")
            }
        }

        private var name: String { commonName ?? Environment.variable("USER") ?? User.effective.name ?? "PIV card" }
        private var isSilent: Bool { output.json }

        func run() throws {
            let session = try CommandKeychains(administration.cards, files: false)
            let person = try administration.authentication.prompter(
                for: [administration.cards.reader].compactMap { $0 }, session.access)
            let answers = try administration.answers(person)
            let plan = try plan(for: card(answers), answers)
            if isSilent {
                try Listing.showJSON(plan.steps.map { StepRow(slot: $0.slot, step: $0.sentence(name)) })
            }
            guard !plan.steps.isEmpty else { return isSilent ? () : showEnd(of: plan, nothing: true) }
            if !isSilent { plan.steps.map { $0.sentence(name) }.forEach { StandardOutput.line(localized: $0) } }
            if !isSilent { plan.remarks.forEach { StandardOutput.line(localized: $0) } }
            guard !dryRun else { return }
            if !yes, person.canConfirm, try !person.confirm(String(localized: "Do this with the card?")) {
                throw KeychainError(.userCanceled, "nothing was changed")
            }
            guard person.canAsk || !plan.steps.contains(where: \.wantsNewSecret) else {
                throw KeychainError(
                    .interactionNotAllowed, "a new PIN and a new PUK are needed",
                    remedy: "give them with --pin-source, a line each, or run where a prompt can be shown")
            }
            try prepareRequests(plan)
            if case .own = plan.managementKey, plan.steps.contains(where: \.needsManagementKey) {
                try card(answers).change(.authenticate)
            }
            var left = plan
            let keychain = try plan.steps.contains(where: \.wantsKeychain) ? managementKeyKeychain(person) : nil
            for (index, step) in plan.steps.enumerated() {
                do { try perform(step, keychain, &left, answers) } catch {
                    if index > 0 { Warnings.show("the card is set up in part: run 'card setup' again to go on") }
                    throw error
                }
            }
            guard !isSilent else { return }
            // The card may be taken out as soon as it is ready.
            do { try Info.show(CommandKeychains(administration.cards, files: false)) } catch {
                Warnings.show("the card cannot be shown: \(error)")
            }
            StandardOutput.line()
            showEnd(of: left, nothing: false)
        }

        /// The last sentence. A card with secrets that everybody knows is not ready.
        private func showEnd(of plan: SetupPlan, nothing: Bool) {
            if case .unchangeable = plan.managementKey {
                StandardOutput.line(
                    localized:
                        "The keys are made. The card has the factory's management key for good, which everybody knows: who has the card can replace keys, and use none."
                )
            } else if case .factory = plan.managementKey {
                StandardOutput.line(
                    localized:
                        "The card still has the factory's management key, which everybody knows: change it with 'card set-management-key -o FILE'."
                )
            } else if plan.maySecretsBeFactory {
                StandardOutput.line(localized: SetupPlan.untold)
            } else if let requests, plan.hasRequests {
                StandardOutput.line(
                    localized:
                        "The requests are in '\(requests)'. Next: 'card put-certificate' puts what an authority makes of them beside the keys."
                )
            } else if nothing {
                StandardOutput.line(localized: "The card is ready: there is nothing to do.")
            } else {
                StandardOutput.line(
                    localized:
                        "The card is ready. Next: 'ssh enable' for ssh and git; the guides tell of web sites and of login."
                )
            }
        }

        /// The card, under the identifier that it has now.
        private func card(
            _ answers: AdministratorAnswers, _ authority: CardAuthority = .found
        ) throws -> AdministeredCard {
            try AdministeredCard(
                CommandKeychains(administration.cards, files: false), answers, authority,
                administration.authentication.request(to: "set up the card"))
        }

        // MARK: The plan

        private func plan(for card: AdministeredCard, _ answers: AdministratorAnswers) throws -> SetupPlan {
            let overview = try card.host.card(card.identifier, telling: [.slots, .pin, .unblockingKey], .silent)
            if let failure = overview.failures.first { throw failure }
            let (pin, unblockingKey) = (try overview.pin?.get(), try? overview.unblockingKey?.get())
            try refuseBlocked(pin, unblockingKey)
            let key = try card.host.managementKey(of: card.identifier, .silent)
            let isIdentified = try card.hasIdentifier()
            let isEmpty =
                !isIdentified && overview.slots.allSatisfy { slot in !key.keyPlaces.contains { $0.slot == slot.name } }
            var plan = SetupPlan()
            plan.managementKey = try managementKey(key, answers)
            // A card with another management key was in other hands: its PIN is not guessed.
            let isNew = if case .factory = plan.managementKey { isEmpty } else { false }
            let pinIsFactory = pin?.isDefault ?? (isNew || factoryPIN)
            let unblockingKeyIsFactory =
                unblockingKey?.isBlocked != true && unblockingKey?.isDefault ?? pinIsFactory
            if pinIsFactory { plan.steps.append(.change(.pin, isAssumed: pin?.isDefault == nil)) }
            if unblockingKeyIsFactory {
                plan.steps.append(.change(.unblockingKey, isAssumed: unblockingKey?.isDefault == nil))
            }
            plan.maySecretsBeFactory = !pinIsFactory && pin?.isDefault == nil
            if !isIdentified { plan.steps.append(.identify) }
            for place in key.keyPlaces
            where place.use != .retirement && (place.use != .presence || cardAuthentication) {
                let known = overview.slots.first { $0.name == place.slot }
                if known == nil { plan.steps.append(try makingKey(in: place, weak: key.weakKeys)) }
                guard known?.certificate == nil else { continue }
                plan.hasRequests = requests != nil
                if let step = try certifying(place.slot, known?.key) { plan.steps.append(step) }
            }
            if case .factory = plan.managementKey {
                plan.steps.append(.setManagementKey(keychain: managementKeyKeychain))
            }
            return plan
        }

        private func refuseBlocked(_ pin: CardPIN?, _ unblockingKey: CardPIN?) throws {
            guard pin?.isBlocked == true else { return }
            throw KeychainError(
                .authFailed, "the card's PIN is blocked",
                remedy: unblockingKey?.isBlocked == true
                    ? "empty the card with 'card reset'" : "unblock it with 'card pin unblock'")
        }

        /// The management key that the card has. One that does not tell is asked with the factory's, which spends no try of the PIN.
        private func managementKey(
            _ status: CardManagementKeyStatus, _ answers: AdministratorAnswers
        ) throws -> SetupPlan.ManagementKey {
            if status.isDefault == true { return .factory(isTold: true) }
            if status.isDefault == nil {
                do {
                    try answers.givingFactoryManagementKey { try card(answers, .asked).change(.authenticate) }
                    return .factory(isTold: false)
                } catch let error as KeychainError where error.code == .authFailed {}
            }
            return status.isKeptOnCard ? .kept : .own
        }

        /// The step that makes a key, of a kind that is not weak on this card unless that was allowed.
        private func makingKey(in place: CardKeyPlace, weak: [KeyKind]) throws -> SetupStep {
            let slot = place.slot
            // The key that authenticates the card itself is used without the PIN.
            let policies =
                place.use == .presence ? KeyPolicies(touch: policy.policies.touch) : policy.policies
            let wanted = algorithm?.kind ?? .ecP256
            // RSA keys that are weak can be computed by anybody.
            guard weak.contains(wanted), !weakness.allowWeakKey || wanted.isRSA else {
                return .makeKey(slot, wanted, policies, avoiding: nil)
            }
            guard algorithm == nil else {
                throw KeychainError(
                    .invalidAlgorithm, "\(wanted) keys that this card makes are weak, as 'card info' says",
                    remedy: wanted.isRSA ? "leave out --algorithm" : "leave out --algorithm, or pass --allow-weak-key")
            }
            return .makeKey(slot, .rsa(bits: 2048), policies, avoiding: wanted)
        }

        /// The step that has a key certified; nil where the request for it is there.
        ///
        /// - Parameter key: nil for one that is not made yet.
        private func certifying(_ slot: String, _ key: CardSlot.Key?) throws -> SetupStep? {
            guard let requests else { return .certify(slot) }
            let file = "\(requests)/\(slot).csr"
            guard unsafe access(file, F_OK) == 0 else { return .request(slot, file: file) }
            guard try PublicKeyFile.read(file) == key?.publicKey else {
                throw CommandError(
                    "'\(file)' is there, and is for another key", advice: "name another folder with --requests")
            }
            return nil
        }

        /// Checks that requests can be written, before there is a key for them.
        private func prepareRequests(_ plan: SetupPlan) throws {
            let files = plan.steps.compactMap(\.requestFile)
            guard let requests, !files.isEmpty else { return }
            try Output.makeFolder(requests)
            for file in files { try Output(path: file).check() }
        }

        // MARK: The steps

        private func perform(
            _ step: SetupStep, _ keychain: KeychainChange?, _ left: inout SetupPlan, _ answers: AdministratorAnswers
        ) throws {
            guard case .factory(isTold: false) = left.managementKey, step.needsManagementKey else {
                return try perform(step, on: card(answers), keychain, &left, answers)
            }
            try answers.givingFactoryManagementKey {
                try perform(step, on: card(answers, .asked), keychain, &left, answers)
            }
        }

        private func perform(
            _ step: SetupStep, on card: AdministeredCard, _ keychain: KeychainChange?, _ left: inout SetupPlan,
            _ answers: AdministratorAnswers
        ) throws {
            switch step {
            case .change(let kind, let isAssumed): try change(kind, isAssumed: isAssumed, of: card, &left, answers)
            case .identify: try card.change(.identify)
            case .makeKey(let slot, let kind, let policies, _):
                try card.change(
                    .generateKey(
                        slot: slot, kind, policies, replacing: .none, allowsWeak: weakness.allowWeakKey))
            case .certify(let slot): try card.selfSign(slot, commonName: name, days: 3650)
            case .request(let slot, let file):
                let key = try card.key(in: slot)
                let request = try CertificationRequest(
                    subject: DistinguishedName(commonName: name), publicKey: PublicKey(spki: key.publicKey))
                try Output(path: file).write(
                    Array(request.pem { try card.sign($0, $1, with: key) }.utf8))
            case .setManagementKey:
                do {
                    try setManagementKey(of: card, keychain)
                    left.managementKey = .kept
                } catch let error as KeychainError where SetupPlan.isUnchangeable(error) {
                    left.managementKey = .unchangeable
                    Warnings.show("the card cannot keep a management key of its own")
                }
            }
        }

        /// Changes the factory's PIN or PUK.
        private func change(
            _ kind: FactorySecret, isAssumed: Bool, of card: AdministeredCard, _ left: inout SetupPlan,
            _ answers: AdministratorAnswers
        ) throws {
            // Another program may have changed it since the plan was made.
            if !isAssumed, try !isFactory(kind, card) { return }
            let change: CardAdministration = kind == .pin ? .changePIN : .changeUnblockingKey
            do {
                try answers.givingFactoryValue(of: kind) {
                    _ = try card.host.administer(card.identifier, change, administration.authentication.request)
                }
            } catch let error as KeychainError where isAssumed && error.code == .authFailed {
                // It was refused now, or before: by this card, or by another blank one, which cannot be told from it.
                left.maySecretsBeFactory = true
                Warnings.show(
                    kind == .pin
                        ? "the factory's PIN was refused, and the PIN stays as it is (if that was another card, or before a reset, pass --factory-pin and --last-try)"
                        : "the factory's PUK was refused, and the PUK stays as it is (if that was another card, or before a reset, pass --factory-pin and --last-try)"
                )
            }
        }

        private func isFactory(_ kind: FactorySecret, _ card: AdministeredCard) throws -> Bool {
            let overview = try card.host.card(card.identifier, telling: [.pin, .unblockingKey], .silent)
            return try (kind == .pin ? overview.pin : overview.unblockingKey)?.get().isDefault == true
        }

        // MARK: The management key

        private func managementKeyKeychain(_ person: any Prompter) throws -> KeychainChange? {
            guard let managementKeyKeychain else { return nil }
            // The lines of a source are the card's secrets, whether or not the keychain is locked.
            let asker: any Prompter =
                administration.authentication.pinSource == nil
                ? person : NoPrompter(alternative: String(localized: "unlock it first, with 'unlock-keychain'"))
            return try KeychainChange(
                of: NamedKeychain(file: managementKeyKeychain), administration.authentication, asker,
                to: "store the management key")
        }

        private func setManagementKey(of card: AdministeredCard, _ keychain: KeychainChange?) throws {
            guard let keychain else {
                try card.change(.setManagementKey(CardManagementKey(nil, nil, touch: .never, isKeptOnCard: true)))
                return
            }
            let cipher = try card.host.managementKey(of: card.identifier, .silent).ciphers.first ?? .tripleDES
            let key = SharedSecret(try RandomBytes.makeSecret(count: cipher.keyLength))
            // A key that the card has, and nobody else, would be lost with the answer of the card.
            let item = try keep(key, of: card, in: keychain)
            do throws(KeychainError) {
                try card.change(.setManagementKey(CardManagementKey(cipher, key, touch: .never, isKeptOnCard: false)))
            } catch {
                if SetupPlan.isUnchangeable(error) { try keychain.delete(item) }
                throw error
            }
        }

        /// Puts a key into the keychain, in place of one that an interrupted setup has put there and the card has not got.
        private func keep(
            _ key: SharedSecret, of card: AdministeredCard, in keychain: KeychainChange
        ) throws -> Item {
            let attributes: Attributes = [
                .service: "PIV management key", .account: .string(card.identifier.rawValue),
            ]
            let secret = SharedSecret(key.secret.hexadecimal())
            if let former = try keychain.items(matching: Query(.genericPassword, attributes, limit: .all)).first {
                return try keychain.update(former, to: [:], secret)
            }
            let label: Attributes = [.label: .string("Management key of \(card.description.name)")]
            let added = try keychain.add([
                .genericPassword(attributes.merging(label) { $1 }, secret: secret.secret.clone())
            ])
            guard let item = added.first else { throw KeychainError(.internal, "an item was not added") }
            return item
        }
    }
}
