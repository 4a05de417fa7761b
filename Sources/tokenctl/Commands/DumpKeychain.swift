internal import ArgumentParser
internal import Glibc
internal import KeychainHost
internal import TokenKit

struct DumpKeychain: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "dump-keychain", abstract: "Print every item of keychains with its attributes.",
        discussion: "Without a name, of all keychains and cards.")

    @Flag(name: .customShort("a"), help: "Print who may use the items as well.")
    var access = false

    @Flag(name: .customShort("d"), help: "Print the data as well: passwords, certificates and private keys.")
    var data = false

    @Flag(name: .customShort("r"), help: "Print passwords and private keys as they are stored, encrypted.")
    var raw = false

    @Flag(name: .customShort("i"), help: "Edit who may use the items; there are no such lists here.")
    var interactive = false

    @OptionGroup var search: SearchOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var authentication: AuthenticationOptions

    func validate() throws {
        guard !interactive else {
            throw ValidationError("there is nothing to edit: every program of yours may use the items")
        }
        guard !(raw && output.json) else {
            throw ValidationError("JSON has nothing as it is stored: leave out -r or --json")
        }
    }

    func run() throws {
        let session = try search.session()
        let uris = try ObjectURIs(session)
        let items = try uris.items(items(in: session), namedBy: search.uris)
        try session.require(!items.isEmpty, namedBy: search.uris)
        let context = try authentication.context(
            session.process, for: search.keychains + [search.cards.reader].compactMap { $0 })
        guard !output.json else {
            var secrets = JSONSecrets()
            let shown = try items.map { item in
                var shown = ItemText.JSONItem(item, keychain: session.location(of: item), uris.uri(of: item))
                if data, let secret = try content(of: item, in: session.local(of: item), context) {
                    shown.reveal(secret, &secrets)
                }
                return shown
            }
            return try Listing.showJSON(shown, with: secrets)
        }
        for item in items {
            try ItemText.show(item, in: session.location(of: item))
            if access { print(DumpKeychain.access(to: item)) }
            if raw { try showRaw(item, in: session.local(of: item)) }
            if data { try show(content(of: item, in: session.local(of: item), context)) }
        }
    }

    /// Keychain after keychain, and in each class after class.
    private func items(in session: Session) throws -> [Item] {
        let classes = ItemClass.allCases.filter { $0 != .identity }
        var items: [Item] = []
        var (hasRead, hasFailed) = (false, session.failures.contains { !$0.isOfCards })
        for member in session.searchList.members {
            for itemClass in classes {
                let query = try Query(itemClass, [.synchronizable: Query.anySynchronizable], limit: .all)
                let list = SearchList(tokens: [member])
                do throws(KeychainError) {
                    let result = try list.items(matching: query)
                    items += result.found
                    for failure in result.failures { printError("\(failure.keychain): \(failure.error)") }
                    if result.failures.isEmpty { hasRead = true } else { hasFailed = true }
                } catch {
                    printError("\(member.name): \(error)")
                    hasFailed = true
                }
            }
        }
        for failure in session.failures { printError("\(failure.keychain): \(failure.error)") }
        guard hasRead || !hasFailed else { throw ExitCode.failure }
        return items
    }

    private static func access(to item: Item) -> String {
        let who = item.isOnToken ? "whoever has the card; its keys want the PIN" : "every program of the owner"
        return "access: \(who), as far as the keychain is unlocked"
    }

    private func show(_ content: borrowing Secret?) throws {
        print("data:")
        switch content {
        case .some(let secret): try StandardOutput.write(SecretText.quoted(secret), newline: true)
        case .none: print("<not extractable>")
        }
    }

    /// What the item holds: its secret, else its public part; nil for a private key that is not given out.
    private func content(
        of item: Item, in keychain: LocalKeychain?, _ context: AuthenticationContext
    ) throws -> Secret? {
        if item.itemClass != .certificate, let keychain, try hasSecret(item, keychain, context),
            let secret = try keychain.secret(of: item.reference, use: "show its items", authentication: context)
        {
            return secret
        }
        guard !item.isPrivateKey else { return nil }
        let der = item.der ?? []
        return Secret(copying: der.span)
    }

    private func showRaw(_ item: Item, in keychain: LocalKeychain?) throws {
        print("raw data:")
        print(QuotedText.string(try keychain?.sealedSecret(of: item.reference) ?? item.der ?? []))
    }

    /// Whether the item is of a kind that has a secret; then the keychain is unlocked for it.
    private func hasSecret(_ item: Item, _ keychain: LocalKeychain, _ context: AuthenticationContext) throws -> Bool {
        guard item.itemClass != .key || item[.keyClass]?.integer != KeyClass.public.rawValue,
            item[.isExtractable]?.isTrue != false
        else { return false }
        try keychain.unlock(use: "read its secrets", authentication: context)
        return true
    }
}
