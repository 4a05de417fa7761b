public import KeychainModel
public import SecureBytes

// MARK: - The typed form

extension KeychainService {
    /// The items that a typed query finds; attributes and filters that the items lack do not compile.
    ///
    ///     let found = try service.items(.genericPasswords.where(.service, "mail")).found
    public func items(
        _ query: some QueryForm, _ context: RequestContext = RequestContext()
    ) throws(KeychainError) -> Outcome<[Item]> {
        try items(matching: query.checked(), context)
    }

    /// The identities that a query finds.
    ///
    ///     let signers = try service.identities(.identities.subject(.contains, "anna").where(.canSign, true)).found
    public func identities(
        _ query: some QueryForm, _ context: RequestContext = RequestContext()
    ) throws(KeychainError) -> Outcome<[Identity]> {
        try identities(matching: query.checked(), context)
    }

    /// The secret of an item that was found.
    public func secret(
        of item: Item, _ context: RequestContext = RequestContext()
    ) throws(KeychainError) -> SharedSecret? {
        try secret(of: item.reference, context)
    }

    /// Adds an item.
    ///
    /// - Parameter keychain: the keychain that it goes to; nil for the default one.
    @discardableResult
    public func add(
        _ item: NewItem, to keychain: KeychainIdentifier? = nil, _ context: RequestContext = RequestContext()
    ) throws(KeychainError) -> Item {
        let outcome = try change([.add(Addition(item, to: keychain))], context)
        guard let item = outcome.found.added.first else { throw KeychainError(.internal) }
        return item
    }

    /// Changes all items that a query finds, or none.
    ///
    /// - Returns: the number of items, and the damaged ones that stay as they are.
    @discardableResult
    public func update(
        _ query: some QueryForm, to attributes: Attributes = [:], secret: SharedSecret? = nil,
        _ context: RequestContext = RequestContext()
    ) throws(KeychainError) -> Outcome<Int> {
        let outcome = try change([.update(query.checked(), attributes, secret: secret)], context)
        return Outcome(outcome.found.updatedCount, missing: outcome.missing)
    }

    /// Deletes all items that a query finds, or none.
    ///
    /// - Returns: the number of items, and the damaged ones that are still there.
    @discardableResult
    public func delete(
        _ query: some QueryForm, _ context: RequestContext = RequestContext()
    ) throws(KeychainError) -> Outcome<Int> {
        let outcome = try change([.delete(query.checked())], context)
        return Outcome(outcome.found.deletedCount, missing: outcome.missing)
    }
}
