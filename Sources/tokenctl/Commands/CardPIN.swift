internal import ArgumentParser
internal import KeychainHost
internal import TokenKit

extension Card {
    struct Pin: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "pin",
            abstract: "Show, verify, change or unblock a card's PIN.",
            subcommands: [Status.self, VerifyPIN.self, Change.self, Unblock.self])

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
                let isBlocked: Bool
                let isDefault: Bool?

                var cells: [String] {
                    let state = isBlocked ? "blocked" : isDefault == true ? "still the one it was delivered with" : "ok"
                    return [
                        name, triesLeft.map(String.init) ?? "unknown", maximumTries.map(String.init) ?? "unknown",
                        state,
                    ]
                }
            }

            func run() throws {
                let token = try Session(cards, locals: false).onlyCard()
                var rows = [Status.row("PIN", try token.status(of: .pin))]
                // Few cards tell how their unblocking key stands.
                if let status = try? token.status(of: .unblockingKey) { rows.append(Status.row("PUK", status)) }
                try Listing.show(rows, json: output.json)
            }

            private static func row(_ name: String, _ status: PINStatus) -> PINRow {
                PINRow(
                    name: name, triesLeft: status.triesLeft, maximumTries: status.maximumTries,
                    isBlocked: status.isBlocked, isDefault: status.isDefault)
            }
        }

        struct VerifyPIN: ParsableCommand {
            static let configuration = CommandConfiguration(
                commandName: "verify", abstract: "Ask for the PIN and check it on the card.")

            @OptionGroup var cards: CardOptions
            @OptionGroup var authentication: AuthenticationOptions

            func run() throws {
                try Session(cards, locals: false).onlyCard().verifyPIN(
                    authentication: authentication.context(for: cards.reader))
                print("The PIN is right.")
            }
        }

        struct Change: ParsableCommand {
            static let configuration = CommandConfiguration(
                commandName: "change",
                abstract: "Set a new PIN, or with --puk a new unblocking key.")

            @Flag(help: "Change the unblocking key (PUK) instead of the PIN.")
            var puk = false

            @OptionGroup var cards: CardOptions
            @OptionGroup var authentication: AuthenticationOptions

            func run() throws {
                let kind: PINKind = puk ? .unblockingKey : .pin
                try Session(cards, locals: false).onlyCard().change(
                    kind, authentication: authentication.context(for: cards.reader))
                print("The \(puk ? "PUK" : "PIN") has been changed.")
            }
        }

        struct Unblock: ParsableCommand {
            static let configuration = CommandConfiguration(
                commandName: "unblock",
                abstract: "Set a new PIN with the unblocking key (PUK).")

            @OptionGroup var cards: CardOptions
            @OptionGroup var authentication: AuthenticationOptions

            func run() throws {
                try Session(cards, locals: false).onlyCard().unblock(
                    authentication: authentication.context(for: cards.reader))
                print("The PIN has been unblocked and set.")
            }
        }
    }
}
