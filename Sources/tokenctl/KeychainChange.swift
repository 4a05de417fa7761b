internal import HostAPI
internal import KeychainModel
internal import Localization
internal import SecureBytes

/// A change of a keychain by a command.
struct KeychainChange {
    private let host: any KeychainService
    private let keychain: KeychainIdentifier
    private let context: RequestContext

    /// Asks for the password of a locked keychain.
    ///
    /// - Parameters:
    ///   - prompter: the source of the password.
    ///   - use: the purpose, in words that complete "password to …".
    /// - Throws: `errSecReadOnly`, before anybody is asked.
    init(
        of named: NamedKeychain, _ authentication: AuthenticationOptions, _ prompter: any Prompter,
        to use: LocalizedText
    ) throws {
        host = named.access.host(asking: prompter)
        keychain = named.identifier
        context = authentication.request(to: use)
        try host.askAhead(of: .change(of: keychain), context)
    }

    func items(matching query: Query) throws(KeychainError) -> [Item] {
        var query = query
        query.keychains = [keychain]
        return try host.items(matching: query, context).found
    }

    /// Adds all items, or none.
    func add(_ items: [NewItem]) throws(KeychainError) -> [Item] {
        let added = try host.change(items.map { .add(Addition($0, to: keychain)) }, context).found.added
        guard added.count == items.count else { throw KeychainError(.internal, "an item was not added") }
        return added
    }

    /// Decides which programs use items without a question.
    func decide(_ access: TrustedApplicationOptions.Decisions, _ items: [Item]) throws(KeychainError) {
        try access.apply(to: items, host, context)
    }

    func delete(_ item: Item) throws(KeychainError) {
        _ = try host.change([.delete(Query(item.reference, in: [keychain]))], context)
    }

    /// - Returns: the changed item.
    func update(_ item: Item, to attributes: Attributes, _ secret: SharedSecret) throws(KeychainError) -> Item {
        let query = Query(item.reference, in: [keychain])
        _ = try host.change([.update(query, attributes, secret: secret)], context)
        return try items(matching: Query(item.reference)).first ?? item
    }
}
