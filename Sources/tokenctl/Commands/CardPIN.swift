internal import ArgumentParser
internal import HostAPI
internal import KeychainModel
internal import Localization
internal import SecureBytes

extension Card {
    struct Pin: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "pin",
            abstract: "Show, verify, change or unblock a card's PIN.",
            subcommands: [Status.self, VerifyPIN.self, Change.self, Unblock.self, Timeout.self, Proof.self])

        /// The secrets of a card, by the names that people use.
        enum Kind: String, Encodable {
            case pin = "PIN"
            case unblockingKey = "PUK"
        }

        /// The change of a PIN, for programs.
        private struct Outcome: Encodable {
            enum Action: String, Encodable {
                case verified, changed, unblocked
            }

            let name: Kind
            let outcome: Action
            let reader: String
            let token: String
        }

        /// The only card, and the host that asks for its PIN.
        private struct Subject {
            let card: KeychainIdentifier
            private let reader: String
            let host: any KeychainService

            init(_ cards: CardOptions, _ authentication: AuthenticationOptions) throws {
                let session = try CommandKeychains(cards, files: false)
                let only = try session.onlyCard()
                (card, reader) = (only.identifier, only.location)
                host = try authentication.host(
                    session.access, for: [cards.reader].compactMap { $0 })
            }

            func report(_ sentence: LocalizedText, _ kind: Kind, _ action: Outcome.Action, _ output: OutputOptions)
                throws
            {
                guard output.json else { return StandardOutput.line(localized: sentence) }
                try Listing.showJSON(Outcome(name: kind, outcome: action, reader: reader, token: card.rawValue))
            }
        }

        struct Status: ParsableCommand {
            static let configuration = CommandConfiguration(
                commandName: "status",
                abstract: "Show how many tries are left, without spending one.")

            @OptionGroup var cards: CardOptions
            @OptionGroup var output: OutputOptions

            struct PINRow: Row {
                static let columns: [LocalizedKey] = ["NAME", "TRIES LEFT", "OF", "STATE"]
                let name: Kind
                let triesLeft: Int?
                let maximumTries: Int?
                /// Nil for a card that does not tell.
                let isBlocked: Bool?
                let isDefault: Bool?

                init(_ kind: Kind, _ pin: CardPIN) {
                    name = kind
                    (triesLeft, maximumTries) = (pin.triesLeft, pin.maximumTries)
                    (isBlocked, isDefault) = (pin.isBlocked, pin.isDefault)
                }

                var cells: [String] {
                    let state: LocalizedText =
                        isBlocked == true
                        ? "blocked"
                        : isDefault == true
                            ? "still the one it was delivered with" : triesLeft == nil ? "unknown" : "ok"
                    return [
                        name.rawValue, triesLeft.map(String.init) ?? Word.shown("unknown"),
                        maximumTries.map(String.init) ?? Word.shown("unknown"),
                        String(localized: state),
                    ]
                }
            }

            func run() throws {
                let session = try CommandKeychains(cards, files: false)
                let card = try session.onlyCard().identifier
                let overview = try session.host.card(card, telling: [.pin, .unblockingKey], .silent)
                var rows: [PINRow] = []
                if let pin = try overview.pin?.get() { rows.append(PINRow(.pin, pin)) }
                if let key = try? overview.unblockingKey?.get() { rows.append(PINRow(.unblockingKey, key)) }
                try Listing.show(rows, json: output.json)
            }
        }

        struct VerifyPIN: ParsableCommand {
            static let configuration = CommandConfiguration(
                commandName: "verify", abstract: "Ask for the PIN and check it on the card.")

            @OptionGroup var cards: CardOptions
            @OptionGroup var output: OutputOptions
            @OptionGroup var authentication: AuthenticationOptions

            func run() throws {
                let subject = try Subject(cards, authentication)
                try subject.host.confirmPresence(for: subject.card, authentication.request(to: "verify it"))
                try subject.report("The PIN is right.", .pin, .verified, output)
            }
        }

        struct Change: ParsableCommand {
            static let configuration = CommandConfiguration(
                commandName: "change",
                abstract: "Set a new PIN, or with --puk a new unblocking key.")

            @Flag(help: "Change the unblocking key (PUK) instead of the PIN.")
            var puk = false

            @OptionGroup var cards: CardOptions
            @OptionGroup var output: OutputOptions
            @OptionGroup var authentication: AuthenticationOptions

            func run() throws {
                let kind: Kind = puk ? .unblockingKey : .pin
                let subject = try Subject(cards, authentication)
                try subject.host.administer(
                    subject.card, puk ? .changeUnblockingKey : .changePIN, authentication.request)
                try subject.report("The \(kind.rawValue) has been changed.", kind, .changed, output)
            }
        }

        struct Unblock: ParsableCommand {
            static let configuration = CommandConfiguration(
                commandName: "unblock",
                abstract: "Set a new PIN with the unblocking key (PUK).")

            @OptionGroup var cards: CardOptions
            @OptionGroup var output: OutputOptions
            @OptionGroup var authentication: AuthenticationOptions

            func run() throws {
                let subject = try Subject(cards, authentication)
                try subject.host.administer(subject.card, .unblockPIN, authentication.request)
                try subject.report("The PIN has been unblocked and set.", .pin, .unblocked, output)
            }
        }

        struct Timeout: ParsableCommand {
            static let configuration = CommandConfiguration(
                commandName: "timeout",
                abstract: "Show or set for how long a PIN counts in the program that it was given to.",
                discussion: """
                    Without it a card counts a PIN until the program ends, another one has the card forget it, or the card is taken \
                    out. A program that goes on after the time, such as an SSH agent, needs the PIN again. Of the user's and \
                    the system's time the shorter one holds, for PINs that are given from then on: 'lock-keychain -a' ends \
                    those that count.
                    """)

            @OptionGroup var domain: DomainOptions

            @Flag(name: .customShort("s"), help: "Set it to this time; if none is given, unset it.")
            var set = false

            @Argument(help: "With -s: the time in seconds.")
            var seconds: UInt32?

            @OptionGroup var output: OutputOptions

            func validate() throws {
                if let seconds, !set {
                    throw ValidationError(localized: "unexpected argument '\(seconds)'; -s sets the time")
                }
            }

            func run() throws {
                let host = try HostAccess().host
                if set {
                    try host.configureCards(.pinTimeout(seconds), in: domain.domain ?? .user, .silent)
                    return try output.json ? Listing.showJSON(["seconds": seconds]) : ()
                }
                let time = try host.cardSettings(.pins, in: domain.domain, .silent).pinTimeout
                guard !output.json else { return try Listing.showJSON(["seconds": time]) }
                StandardOutput.line(
                    localized: time.map { "A PIN counts for \($0) seconds." }
                        ?? "A PIN counts for as long as the card counts it, and in the session's host for eight hours, or one without use."
                )
            }
        }

        struct Proof: ParsableCommand {
            static let configuration = CommandConfiguration(
                commandName: "proof",
                abstract: "Show or set whether a card has to prove its key before it is given a PIN.",
                discussion: """
                    A card signs a random challenge with its key 9E, which wants no PIN; of a card without one the key 9A is compared. \
                    The key is the one that the card had when it was listed first: a copy that was made without the PIN has another, and is \
                    sent no PIN. It costs a command or three for each time the card is put in. Off unless the user or the system \
                    has it on. A card that was issued anew under the same name is listed with --rescan.
                    """)

            enum State: String, ExpressibleByArgument, CaseIterable {
                case on, off
            }

            @OptionGroup var domain: DomainOptions

            @Flag(name: .customShort("s"), help: "Set it to this; if nothing is given, unset it.")
            var set = false

            @Argument(help: "With -s: on or off.")
            var state: State?

            @OptionGroup var output: OutputOptions

            func validate() throws {
                if let state, !set { throw ValidationError(localized: "unexpected argument '\(state)'; -s sets it") }
            }

            func run() throws {
                let host = try HostAccess().host
                if set {
                    let change = CardSettings.Change.provesBeforePIN(state.map { $0 == .on })
                    try host.configureCards(change, in: domain.domain ?? .user, .silent)
                }
                let isOn = try host.cardSettings(.pins, in: domain.domain, .silent).provesBeforePIN ?? false
                guard !output.json else { return try Listing.showJSON(["proof": isOn]) }
                guard !set else { return }
                StandardOutput.line(
                    localized: isOn
                        ? "A card proves its key before it is given a PIN."
                        : "A card is given a PIN without proving its key.")
            }
        }
    }
}
