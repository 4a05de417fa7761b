/// A member of the search list: a local file, or a card.
public protocol Keychain: Sendable {
    /// What people know it by: a file's name, or a card's label.
    var name: String { get }

    /// Whether its items can be neither added, changed nor deleted.
    var isReadOnly: Bool { get }

    /// The items that the query finds, in the keychain's own order. Nobody is asked anything for it.
    ///
    /// A keychain whose card is out has no items; one that cannot be read throws.
    func items(matching query: Query) throws(KeychainError) -> SearchResult

    /// The private keys that the selector names, read as far as using them takes.
    func keys(_ selector: KeySelector) throws(KeychainError) -> [any KeychainKey]

    /// Adds an item.
    ///
    /// - Throws: `errSecReadOnly` from a keychain that is only read; nothing has changed then, here and in what follows.
    @discardableResult
    func add(_ item: borrowing NewItem) throws(KeychainError) -> Item

    /// Changes all items a query finds, or none of them.
    ///
    /// - Returns: how many there were; 0 is no error here.
    @discardableResult
    func update(matching query: Query, to changes: borrowing ItemChanges) throws(KeychainError) -> Int

    /// Deletes all items a query finds, or none of them.
    ///
    /// - Returns: how many there were; 0 is no error here.
    @discardableResult
    func delete(matching query: Query) throws(KeychainError) -> Int
}

/// How a private key is named.
public enum KeySelector: Hashable, Sendable {
    /// By its object on a card (`9A`), or its label in a local keychain.
    case name(String)
    /// By the SHA-1 of its public key, which its certificates carry as well.
    case publicKeyHash([UInt8])
    /// By the reference of its item. A search list takes the reference of an identity or a certificate as well.
    case reference(PersistentReference)
}
