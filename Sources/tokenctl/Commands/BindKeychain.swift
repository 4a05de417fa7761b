internal import ArgumentParser
internal import KeychainHost
internal import TokenKit

struct BindKeychain: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "bind-keychain",
        abstract: "Let a card's PIN open a local keychain.",
        discussion: """
            The keychain's key is encrypted for a key of the card, and the card shows at once that it can decrypt it. The \
            password goes on opening the keychain. Several cards can be bound; a card that was issued anew is bound again.
            """)

    @Argument(help: "A name, or a path with a slash in it.")
    var keychain = "login"

    @Option(help: ArgumentHelp("The card's key; it must decrypt or agree on secrets.", valueName: "slot"))
    var key = "9D"

    @Flag(name: .shortAndLong, help: "List the cards that open the keychain, and bind none.")
    var list = false

    @OptionGroup var cards: CardOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var authentication: AuthenticationOptions

    struct BindingRow: Row {
        static let columns = ["CARD", "TOKEN"]
        let card: String
        let token: String
        var cells: [String] { [card, token] }
    }

    func run() throws {
        let opened = try LocalKeychain.open(Directories.own.path(ofKeychain: keychain))
        if list {
            let rows = try opened.cardBindings().map { BindingRow(card: $0.label, token: $0.tokenID) }
            return try Listing.show(rows, json: output.json)
        }
        let session = try Session(cards, locals: false)
        let context = try authentication.context(session.process)
        let token = try session.onlyCard()
        try opened.unlock(use: "bind it to a card", authentication: context)
        let binding = try opened.bind(to: token, key: key, authentication: context)
        print("'\(binding.label)' opens '\(opened.name)' from now on.")
    }
}

struct UnbindKeychain: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "unbind-keychain",
        abstract: "Have cards no longer open a local keychain.",
        discussion: "The password goes on opening it. What a card has opened stays open until it is locked.")

    @Argument(help: "A name, or a path with a slash in it.")
    var keychain = "login"

    @Option(
        help: ArgumentHelp("Only this card, as bind-keychain --list names it, instead of all.", valueName: "token"))
    var token: String?

    func run() throws {
        let opened = try LocalKeychain.open(Directories.own.path(ofKeychain: keychain))
        guard try opened.unbind(token) > 0 else {
            throw KeychainError(.itemNotFound, "no such card opens '\(opened.name)'")
        }
    }
}
