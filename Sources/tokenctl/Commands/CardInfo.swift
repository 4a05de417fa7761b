internal import ArgumentParser
internal import HostAPI
internal import KeychainModel
internal import Localization
internal import SecureBytes
internal import SystemCrypto

extension Card {
    struct Info: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "info", abstract: "Show what is on a card, what it tells of itself, and how its PIN stands.",
            discussion: "Nothing that is shown needs the PIN, and no try of it is spent.")

        @OptionGroup var cards: CardOptions
        @OptionGroup var output: OutputOptions

        /// A slot with a key or a certificate.
        struct SlotRow: Row {
            static let columns: [LocalizedKey] = ["SLOT", "NAME", "KEY", "SUBJECT", "EXPIRES", "PIN", "TOUCH"]
            static let wholeColumns: Set = ["EXPIRES"]
            let slot: String
            let name: String
            /// The key's kind and size; nil where the slot has a certificate alone.
            let key: String?
            let subject: String?
            let notBefore: String?
            let notAfter: String?
            let isValid: Bool?
            let pinPolicy: String?
            /// Nil where the card does not tell.
            let touchPolicy: String?
            private let validity: String?

            private enum CodingKeys: CodingKey {
                case slot, name, key, subject, notBefore, notAfter, isValid, pinPolicy, touchPolicy
            }

            init(_ object: CardSlot) {
                let certificate = object.certificate.flatMap { try? Certificate(der: $0) }
                (slot, name) = (object.name, object.label)
                key = object.key.map { key in
                    (try? PublicKey(spki: key.publicKey).kind.description) ?? certificate?.publicKey?.kind.description
                        ?? "unknown"
                }
                subject = certificate?.subject.description
                (notBefore, notAfter) = (certificate?.notBeforeText, certificate?.notAfterText)
                isValid = certificate?.isValid(at: Clock.now)
                validity = certificate?.validity(at: Clock.now)
                pinPolicy = object.key?.pinPolicy.name
                touchPolicy = object.key?.touchPolicy.name
            }

            var cells: [String] {
                [
                    slot, name, Word.shown(key ?? ""), subject ?? "", validity ?? "", Word.shown(pinPolicy ?? ""),
                    Word.shown(touchPolicy ?? ""),
                ]
            }
        }

        struct Report: Encodable {
            let token: String
            let label: String
            let model: String?
            let serialNumber: String?
            let version: String?
            let reader: String
            let pin: Pin.Status.PINRow?
            let puk: Pin.Status.PINRow?
            /// The secrets that are still the factory's.
            let factorySecrets: [String]
            /// Nil for a card without one, or one that is not administered.
            let managementKey: ManagementKeyRow?
            let slots: [SlotRow]
            /// The card's further facts.
            let facts: [String: CardFact.Plain]
        }

        /// The management key, as far as the card tells.
        struct ManagementKeyRow: Encodable {
            let cipher: String?
            let touchPolicy: String?
            /// Whether the card gives it to whoever has the PIN.
            let isKeptOnCard: Bool

            init?(_ status: CardManagementKeyStatus) {
                guard status.cipher != nil || status.isKeptOnCard else { return nil }
                cipher = SetManagementKey.Cipher.allCases.first { $0.cipher == status.cipher }?.rawValue
                touchPolicy = status.touch.name
                isKeptOnCard = status.isKeptOnCard
            }

            var fact: CardFact {
                let place = String(
                    localized: isKeptOnCard ? "kept on the card, under the PIN" : "not kept on the card")
                let touch =
                    touchPolicy == "always" || touchPolicy == "cached" ? String(localized: "wants a touch") : nil
                return CardFact("Management key", [cipher, place, touch].compactMap(\.self).joined(separator: ", "))
            }
        }

        func run() throws {
            try Info.show(CommandKeychains(cards, files: false), json: output.json)
        }

        /// Prints the only card.
        static func show(_ session: CommandKeychains, json: Bool = false) throws {
            let overview = try session.host.card(
                session.onlyCard().identifier, telling: [.facts, .slots, .pin, .unblockingKey], .silent)
            let key = try? session.host.managementKey(of: overview.card.identifier, .silent)
            let secrets = session.host.factorySecrets(overview, key)
            for error in overview.failures { Warnings.show("\(error)") }
            let (card, facts) = (overview.card, overview.facts + overview.slots.compactMap(\.weakness))
            let slots = overview.slots.map(SlotRow.init)
            guard json else {
                let names = [
                    CardFact("Card", "\(card.name) (\(card.identifier))"), CardFact("Reader", card.location),
                ]
                let own = key.flatMap(ManagementKeyRow.init).map { [$0.fact] } ?? []
                Listing.show(names + facts + own + (secrets.warning.map { [CardFact("Warning", $0)] } ?? []))
                if !slots.isEmpty { StandardOutput.line() }
                return try Listing.show(slots, json: false)
            }
            try Listing.showJSON(
                Report(
                    token: card.identifier.rawValue, label: card.name, model: card.token?.model,
                    serialNumber: card.token?.serialNumber, version: card.token?.version, reader: card.location,
                    pin: (try? overview.pin?.get()).map { Pin.Status.PINRow(.pin, $0) },
                    puk: (try? overview.unblockingKey?.get()).map { Pin.Status.PINRow(.unblockingKey, $0) },
                    factorySecrets: secrets.names,
                    managementKey: key.flatMap(ManagementKeyRow.init), slots: slots, facts: Listing.dictionary(facts)))
        }
    }
}

extension CardSlot {
    /// The warning of a key that everybody can compute; nil for others.
    fileprivate var weakness: CardFact? {
        let spki = certificate.flatMap { try? Certificate(der: $0).spki } ?? key?.publicKey
        guard let spki, let key = try? PublicKey(spki: spki), key.isROCA else { return nil }
        let name = "CVE-2017-15361 (ROCA)"
        return CardFact(
            "Warning",
            String(localized: "\(name): everybody can compute the RSA key in slot \(self.name); replace it"),
            parts: ["advisories": .list(["\(name) \(self.name)"])])
    }
}

extension PINPolicy {
    /// The name for people and programs.
    var name: String {
        switch self {
        case .never: "never"
        case .once: "once"
        case .always: "always"
        case .other(let number): "policy \(number)"
        }
    }
}

extension TouchPolicy {
    /// The name for people and programs; nil where the card does not tell.
    var name: String? {
        switch self {
        case .unknown: nil
        case .never: "never"
        case .always: "always"
        case .cached: "cached"
        case .other(let number): "policy \(number)"
        }
    }
}
