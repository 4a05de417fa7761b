internal import ArgumentParser
internal import KeychainModel
internal import KeychainHost
internal import SecureBytes
internal import TokenKit

extension Card {
    struct Pin: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "pin",
            abstract: "Show, verify, change or unblock a card's PIN.",
            subcommands: [Status.self, VerifyPIN.self, Change.self, Unblock.self, Timeout.self, Proof.self])

        /// The change of a PIN, for programs.
        private struct Outcome: Encodable {
            enum Action: String, Encodable {
                case verified, changed, unblocked
            }

            let name: String
            let outcome: Action
            let reader: String
            let token: String?

            init(_ kind: PINKind, _ outcome: Action, on card: TokenKeychain) throws {
                (name, self.outcome, reader) = (kind.name, outcome, card.name)
                token = try card.identity()?.id.description
            }
        }

        private static func report(
            _ sentence: String, _ outcome: @autoclosure () throws -> Outcome, _ output: OutputOptions
        ) throws {
            guard !output.json else { return try Listing.showJSON(outcome()) }
            StandardOutput.line(sentence)
        }

        struct Status: ParsableCommand {
            static let configuration = CommandConfiguration(
                commandName: "status",
                abstract: "Show how many tries are left, without spending one.")

            @OptionGroup var cards: CardOptions
            @OptionGroup var output: OutputOptions

            struct PINRow: Row {
                static let columns = ["NAME", "TRIES LEFT", "OF", "STATE"]
                let name: String
                let triesLeft: Int?
                let maximumTries: Int?
                /// Nil for a card that does not tell.
                let isBlocked: Bool?
                let isDefault: Bool?

                init(_ kind: PINKind, _ status: PINStatus) {
                    name = kind.name
                    (triesLeft, maximumTries) = (status.triesLeft, status.maximumTries)
                    isBlocked = status.triesLeft == nil ? nil : status.isBlocked
                    isDefault = status.isDefault
                }

                var cells: [String] {
                    let state =
                        isBlocked == true
                        ? "blocked"
                        : isDefault == true
                            ? "still the one it was delivered with" : triesLeft == nil ? "unknown" : "ok"
                    return [
                        name, triesLeft.map(String.init) ?? "unknown", maximumTries.map(String.init) ?? "unknown",
                        state,
                    ]
                }
            }

            func run() throws {
                let token = try CommandKeychains(cards, locals: false).onlyCard()
                // Asked first: if the card has metadata of it, the PIN's status comes from metadata as well.
                let unblockingKey = try? token.status(of: .unblockingKey)
                var rows = [PINRow(.pin, try token.status(of: .pin))]
                if let unblockingKey { rows.append(PINRow(.unblockingKey, unblockingKey)) }
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
                let token = try CommandKeychains(cards, locals: false).onlyCard()
                try token.verifyPIN(authentication: authentication.context(for: cards.reader))
                try Pin.report("The PIN is right.", Outcome(.pin, .verified, on: token), output)
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
                let kind: PINKind = puk ? .unblockingKey : .pin
                let token = try CommandKeychains(cards, locals: false).onlyCard()
                try token.change(kind, authentication: authentication.context(for: cards.reader))
                try Pin.report("The \(kind.name) has been changed.", Outcome(kind, .changed, on: token), output)
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
                let token = try CommandKeychains(cards, locals: false).onlyCard()
                try token.unblock(authentication: authentication.context(for: cards.reader))
                try Pin.report("The PIN has been unblocked and set.", Outcome(.pin, .unblocked, on: token), output)
            }
        }

        struct Timeout: ParsableCommand {
            static let configuration = CommandConfiguration(
                commandName: "timeout",
                abstract: "Show or set for how long a PIN counts in the program that it was given to.",
                discussion: """
                    Without it a card counts a PIN until the program ends, another one has the card forget it, or the card is taken \
                    out. A program that goes on after the time, such as an SSH agent, needs the PIN again. Of the user's and \
                    the system's time the shorter one holds.
                    """)

            @OptionGroup var domain: DomainOptions

            @Flag(name: .customShort("s"), help: "Set it to this time; if none is given, unset it.")
            var set = false

            @Argument(help: "With -s: the time in seconds.")
            var seconds: UInt32?

            @OptionGroup var output: OutputOptions

            func validate() throws {
                if let seconds, !set { throw ValidationError("unexpected argument '\(seconds)'; -s sets the time") }
            }

            func run() throws {
                let preferences = KeychainPreferences.own
                if set {
                    try preferences.setPINTimeout(seconds, in: domain.domain ?? .user)
                    return try output.json ? Listing.showJSON(["seconds": seconds]) : ()
                }
                let time = try domain.domain.map { try preferences.pinTimeout(in: $0) } ?? preferences.pinTimeout()
                guard !output.json else { return try Listing.showJSON(["seconds": time]) }
                StandardOutput.line(
                    time.map { "A PIN counts for \($0) seconds." } ?? "A PIN counts for as long as the card counts it.")
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
                if let state, !set { throw ValidationError("unexpected argument '\(state)'; -s sets it") }
            }

            func run() throws {
                let preferences = KeychainPreferences.own
                if set { try preferences.setProvesBeforePIN(state.map { $0 == .on }, in: domain.domain ?? .user) }
                let isOn =
                    try domain.domain.map { try preferences.provesBeforePIN(in: $0) ?? false }
                    ?? preferences.provesBeforePIN()
                guard !output.json else { return try Listing.showJSON(["proof": isOn]) }
                guard !set else { return }
                StandardOutput.line(
                    isOn
                        ? "A card proves its key before it is given a PIN."
                        : "A card is given a PIN without proving its key.")
            }
        }
    }
}
