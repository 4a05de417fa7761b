public import KeychainModel
public import SecureBytes

/// A member of the search list: a local file, or a card.
public protocol Keychain: Sendable {
    /// The name for people: a file's name, or a card's label.
    var name: String { get }

    /// Whether its items can be neither added, changed nor deleted.
    var isReadOnly: Bool { get }

    /// The identifier that its items carry; nil for a keychain that can only be read.
    var writableIdentifier: KeychainIdentifier? { get }

    /// Whether the keychain's items carry this identifier.
    func isIdentified(by identifier: KeychainIdentifier) -> Bool

    /// The keychain whose items carry the identifier: one of several that are one member of the search list, else this
    /// one. Nil for another identifier.
    func part(identifiedBy identifier: KeychainIdentifier) -> (any Keychain)?

    /// The defect of the keychain itself, apart from those of its items; nil where none is known.
    var damage: KeychainError? { get }

    /// The items that the query finds, in the keychain's own order. Asks no person.
    ///
    /// A keychain whose card is out has no items; one that cannot be read throws.
    func items(matching query: ResolvedQuery) throws(KeychainError) -> Outcome<[Item]>

    /// The gap that the keychain leaves in an answer where it cannot be read, or only in part.
    func missing(_ error: KeychainError) -> Missing

    /// The secret of one of its items: a password, a key's PKCS #8 or its bytes; nil for an item without one.
    ///
    /// - Parameter use: the purpose, in words that complete "password to …".
    /// - Throws: `errSecDataNotAvailable` for a secret that never leaves the keychain, `errSecInteractionNotAllowed` if
    ///   no person can be asked for the password.
    func secret(
        of item: Item, use: String, authentication: AuthenticationContext
    ) throws(KeychainError) -> Secret?

    /// Whether reading a secret takes a password.
    var isLocked: Bool { get }

    /// The reason that the query cannot find anything here; nil if the keychain has to be searched. Touches no card.
    func reasonToSkip(_ query: Query) -> String?

    /// The store's query plan, in SQLite's words; empty for a card.
    func plan(for query: Query) -> [String]

    /// Makes sure that secrets can be read and written.
    ///
    /// - Parameter use: the purpose, in words that complete "password to …".
    func unlock(use: String, authentication: AuthenticationContext) throws(KeychainError)

    /// The private keys that the selector names. Reads only what using them needs.
    func keys(_ selector: KeySelector) throws(KeychainError) -> [any KeychainKey]

    /// Checks that the keychain can be changed, before a person is asked for anything.
    ///
    /// - Throws: `errSecReadOnly`, `errSecDiskFull` where there is no room for a change.
    func checkWritable() throws(KeychainError)

    /// The item in the form in which it is added; asks for what its access control requires.
    ///
    /// - Throws: as ``checkWritable()`` does.
    func prepared(
        _ item: NewItem, authentication: AuthenticationContext
    ) throws(KeychainError) -> NewItem

    /// The secrets of a change, sealed before any lock is held. Asks for what it needs.
    func sealedSecrets(
        for changes: ItemChanges, matching query: ResolvedQuery, authentication: AuthenticationContext
    ) throws(KeychainError) -> SealedSecrets

    /// Carries out all steps and the caller's part of the change, or nothing.
    ///
    /// - Parameter others: called with the results of the steps; an error from it undoes them.
    /// - Throws: `errSecReadOnly` from a keychain that is only read; nothing has changed then.
    func carryOut<Final: Sendable>(
        _ steps: [KeychainStep], then others: @Sendable ([KeychainStep.Result]) throws(KeychainError) -> Final
    ) throws(KeychainError) -> Final
}

extension NewItem {
    /// The item of a keychain that this one would duplicate.
    func equal(in keychain: any Keychain) throws(KeychainError) -> Item? {
        try keychain.items(matching: Query(itemClass, itemClass.uniqueValues(of: attributes))).found.first
    }
}

extension Keychain {
    public var damage: KeychainError? { nil }

    public func part(identifiedBy identifier: KeychainIdentifier) -> (any Keychain)? {
        isIdentified(by: identifier) ? self : nil
    }

    /// The items that the query finds for a client to whom all access groups are open.
    public func items(matching query: Query) throws(KeychainError) -> Outcome<[Item]> {
        try items(matching: ResolvedQuery(query))
    }

    /// Adds an item; asks for what its access control requires.
    ///
    /// - Throws: `errSecDuplicateItem` if there is one with the same ``ItemClass/uniqueAttributes``,
    ///   `errSecInteractionNotAllowed` if it has a secret and the keychain is locked, `errSecReadOnly`.
    @discardableResult
    public func add(
        _ item: NewItem, authentication: AuthenticationContext = AuthenticationContext()
    ) throws(KeychainError) -> Item {
        try addPrepared(prepared(item, authentication: authentication))
    }

    func addPrepared(_ item: NewItem) throws(KeychainError) -> Item {
        let added = try carryOut([.add(item)]) { results in results.first }
        guard case .added(let item)? = added else { throw KeychainError(.internal) }
        return item
    }

    /// Changes all items a query finds, or none of them. Their references stay.
    ///
    /// - Returns: the number of items; 0 is not an error here.
    /// - Throws: `errSecDuplicateItem` if an item would become the same as another, `errSecInteractionNotAllowed` if
    ///   one has a secret and the keychain is locked, or its new secret needs an application password that is not
    ///   given, `errSecReadOnly`, `errSecDecode` where all of them are damaged.
    @discardableResult
    public func update(
        matching query: Query, to changes: ItemChanges,
        authentication: AuthenticationContext = AuthenticationContext()
    ) throws(KeychainError) -> Int {
        let resolved = ResolvedQuery(query)
        let sealed = try sealedSecrets(for: changes, matching: resolved, authentication: authentication)
        return try checked([.update([resolved], changes, sealed)], resolved)
    }

    /// Deletes all items a query finds, locked or not. A damaged one is deleted only if the query names its reference.
    ///
    /// - Returns: the number of items; 0 is not an error here.
    /// - Throws: `errSecReadOnly`, `errSecDecode` where all of them are damaged.
    @discardableResult
    public func delete(matching query: Query) throws(KeychainError) -> Int {
        let resolved = ResolvedQuery(query)
        return try checked([.delete([resolved])], resolved)
    }

    private func checked(_ steps: [KeychainStep], _ query: ResolvedQuery) throws(KeychainError) -> Int {
        let count = try carryOut(steps) { results in results.reduce(0) { $0 + $1.count } }
        if count == 0, let damage = try (self as? LocalKeychain)?.damage(matching: query).first { throw damage.error }
        return count
    }
}
