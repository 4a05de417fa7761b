internal import KeychainModel
internal import ArgumentParser
internal import KeychainHost
internal import SecureBytes
internal import SystemCrypto
internal import TokenKit

extension Card {
    struct Info: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "info", abstract: "Show what is on a card, what it tells of itself, and how its PIN stands.",
            discussion: "Nothing that is shown needs the PIN, and no try of it is spent.")

        @OptionGroup var cards: CardOptions
        @OptionGroup var output: OutputOptions

        /// A slot with a key or a certificate.
        struct SlotRow: Row {
            static let columns = ["SLOT", "NAME", "KEY", "SUBJECT", "EXPIRES", "PIN", "TOUCH"]
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

            init(_ object: TokenObject) {
                let certificate = object.certificate.flatMap { try? Certificate(der: $0) }
                (slot, name) = (object.id.rawValue, object.label)
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
                [slot, name, key ?? "", subject ?? "", validity ?? "", pinPolicy ?? "", touchPolicy ?? ""]
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
            let slots: [SlotRow]
            /// The card's further facts.
            let facts: [String: TokenFact.Plain]
        }

        func run() throws {
            let token = try CommandKeychains(cards, locals: false).onlyCard()
            let facts = try token.facts()
            let inventory = try token.inventory()
            for error in inventory.errors { Warnings.show("\(error)") }
            let slots = inventory.objects.map(SlotRow.init)
            guard let identity = try token.identity() else { return }
            guard output.json else {
                let card = [TokenFact("Card", "\(identity.label) (\(identity.id))"), TokenFact("Reader", token.name)]
                Listing.show(card + facts)
                if !slots.isEmpty { StandardOutput.line() }
                return try Listing.show(slots, json: false)
            }
            try Listing.showJSON(
                Report(
                    token: identity.id.description, label: identity.label, model: identity.model,
                    serialNumber: identity.serialNumber, version: identity.version, reader: token.name,
                    pin: (try? token.status(of: .pin)).map { Pin.Status.PINRow(.pin, $0) },
                    puk: (try? token.status(of: .unblockingKey)).map { Pin.Status.PINRow(.unblockingKey, $0) },
                    slots: slots, facts: Listing.dictionary(facts)))
        }
    }
}

extension TokenKeychain {
    /// All objects of the card, with the errors of those that cannot be read.
    fileprivate func inventory() throws(KeychainError) -> TokenInventory {
        do throws(TokenError) {
            return try slot.inventory(.all).inventory
        } catch {
            throw KeychainError(error)
        }
    }
}

extension PINPolicy {
    /// The name for people and programs.
    fileprivate var name: String {
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
    fileprivate var name: String? {
        switch self {
        case .unknown: nil
        case .never: "never"
        case .always: "always"
        case .cached: "cached"
        case .other(let number): "policy \(number)"
        }
    }
}
