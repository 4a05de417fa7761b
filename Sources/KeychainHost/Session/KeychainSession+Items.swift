public import KeychainModel
public import SecureBytes

// MARK: The typed form

extension KeychainSession {
    /// The items that a query finds, in the order of the search list, and what could not be searched.
    ///
    ///     let found = try session.items(matching: .genericPasswords.where(.service, "mail")).found
    public func items(matching query: some QueryForm) throws(KeychainError) -> Outcome<[Item]> {
        try searchList.items(matching: SearchRequest(query, in: self).query, for: client)
    }

    /// The identities that a query finds, in the order of the search list, and what could not be searched.
    public func identities(matching query: some QueryForm) throws(KeychainError) -> Outcome<[Identity]> {
        try searchList.identities(matching: SearchRequest(query, in: self).query, for: client)
    }

    /// The secret of an item: a password, a key's PKCS #8 or its bytes; nil where it has none.
    ///
    /// - Parameter use: what for, in words that complete "password to …".
    /// - Throws: `errSecItemNotFound` if its keychain is not in the search list, `errSecDataNotAvailable` for what is on a
    ///   token, `errSecInteractionNotAllowed` if a password is needed and nobody can be asked.
    public func secret(of item: Item, use: String? = nil) throws(KeychainError) -> Secret? {
        guard let keychain = searchList.members.first(where: { $0.isIdentified(by: item.keychain) }) else {
            throw KeychainError(.itemNotFound, "the keychain of the item is not in the search list")
        }
        return try keychain.secret(
            of: item, use: use ?? "read a \(item.itemClass.noun)", authentication: authentication)
    }

    /// Adds an item to a keychain, or to the default one.
    ///
    /// - Throws: `errSecDuplicateItem`, `errSecNoDefaultKeychain`, `errSecMissingEntitlement` for a group that is not open to
    ///   the client, `errSecReadOnly` for a token; nothing has changed then.
    @discardableResult
    public func add(
        _ item: consuming NewItem, to keychain: (any Keychain)? = nil
    ) throws(KeychainError) -> Item {
        try checkEntitled()
        try checkEntitled(item.attributes)
        guard let target = keychain ?? defaultKeychain else { throw Self.noDefaultKeychain }
        let context = RequestContext(authentication: authentication, use: "store a \(item.itemClass.noun)")
        return try add(item.defaulting(to: accessGroups.standard), to: target, context)
    }

    /// Changes all items that a query finds, or none, in whatever keychains they are.
    ///
    /// - Returns: how many there were, and what could not be looked at.
    /// - Throws: `errSecItemNotFound` if nothing matches, `errSecDuplicateItem` if an item would become the same as another,
    ///   `errSecReadOnly` if one of them is on a token.
    @discardableResult
    public func update(
        matching query: some QueryForm, to changes: borrowing ItemChanges
    ) throws(KeychainError) -> Outcome<Int> {
        try update(matching: SearchRequest(query, in: self), to: changes)
    }

    /// Deletes all items that a query finds, or none, in whatever keychains they are; one that is damaged by its reference
    /// alone.
    ///
    /// - Returns: how many there were, and what could not be looked at.
    /// - Throws: `errSecItemNotFound` if nothing matches, `errSecDecode` if all of them are damaged, `errSecReadOnly` if one
    ///   of them is on a token.
    @discardableResult
    public func delete(matching query: some QueryForm) throws(KeychainError) -> Outcome<Int> {
        try delete(matching: SearchRequest(query, in: self))
    }

    static let noDefaultKeychain = KeychainError(
        .noDefaultKeychain, "there is no default keychain to store it in", remedy: "name a keychain, or create one")
}
