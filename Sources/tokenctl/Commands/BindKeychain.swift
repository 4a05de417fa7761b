internal import ArgumentParser
internal import KeychainHost
internal import PKCS11Driver
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

    @Option(
        help: ArgumentHelp(
            "The card's key, by its slot or pkcs11: URI; it must decrypt or agree on secrets.", valueName: "key"))
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
        let opened = try LocalKeychain.named(keychain)
        if list {
            let rows = try opened.cardBindings().map { BindingRow(card: $0.label, token: $0.tokenID) }
            return try Listing.show(rows, json: output.json)
        }
        let uri = try PKCS11URI(argument: key)
        let session = try Session(cards, keychains: uri == nil ? [] : [key], locals: false)
        let context = try authentication.context(session.process, for: key, keychain, cards.reader)
        let name = try uri.map { try session.key(namedBy: $0).name } ?? key
        let token = try session.onlyCard()
        try opened.unlock(use: "bind it to a card", authentication: context)
        let binding = try opened.bind(to: token, key: name, authentication: context)
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
        help: ArgumentHelp(
            "Only this card, as bind-keychain --list names it or by its pkcs11: URI, instead of all.",
            valueName: "token"))
    var token: String?

    func run() throws {
        let opened = try LocalKeychain.named(keychain)
        let isListed = try opened.cardBindings().contains { $0.tokenID == token }
        let uri = try isListed ? nil : token.flatMap { try PKCS11URI(argument: $0) }
        let id = try uri.map { try UnbindKeychain.id(of: $0) } ?? token
        guard try opened.unbind(id) > 0 else {
            throw KeychainError(.itemNotFound, "no such card opens '\(opened.name)'")
        }
    }

    /// The id of a card that is in, or was read before.
    private static func id(of uri: PKCS11URI) throws -> String {
        let session = try Session(locals: false)
        let present = session.eachToken { uri.id(of: $1, in: $0.name) }.found
        let known = session.process.knownTokens().map { uri.id(of: $0.identity, in: nil) }
        let ids = Set((present + known).compactMap { $0 })
        guard let id = ids.first else {
            throw KeychainError(.itemNotFound, "no card that is in or was read before matches '\(uri.tokenPart)'")
        }
        guard ids.count == 1 else {
            throw CommandError("'\(uri)' names more than one card", ids.sorted().joined(separator: ", "))
        }
        return id
    }
}

extension PKCS11URI {
    /// The card's id if the URI names it.
    fileprivate func id(of identity: TokenIdentity, in reader: String?) -> String? {
        matches(PKCS11URI.Place(identity, in: reader)) ? identity.id.description : nil
    }
}
