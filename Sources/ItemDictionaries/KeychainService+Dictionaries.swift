public import HostAPI
public import KeychainModel
internal import Localization
internal import SecureBytes

// The four calls of SecItem over the host's service. Keychain semantics 1.8.
extension KeychainService {
    /// Finds items, as `SecItemCopyMatching` does.
    ///
    /// - Returns: the result that the `r_` keys ask for, an array where the limit allows for several; nil if they ask for none.
    /// - Throws: `errSecItemNotFound` if nothing matches, whose reason names the gaps; `errSecParam` and its kin, naming the key,
    ///   for a query that cannot be honoured; `errSecInteractionNotAllowed` for a secret that is out of reach.
    public func copyMatching(
        _ query: ItemDictionary, _ context: RequestContext = RequestContext()
    ) throws(KeychainError) -> Outcome<ItemValue?> {
        let parsed = try ParsedDictionary(query, for: .copy)
        return try ItemSearch(parsed).result(of: self, context.completed(by: parsed))
    }

    /// Adds an item, as `SecItemAdd` does.
    ///
    /// - Returns: the result that the `r_` keys ask for. No person is asked for data that the program has just given.
    /// - Throws: `errSecDuplicateItem`, `errSecNoDefaultKeychain`, `errSecMissingEntitlement` for a group that is not open to
    ///   the client, `errSecReadOnly` for a token; nothing has changed then.
    public func add(
        _ item: ItemDictionary, _ context: RequestContext = RequestContext()
    ) throws(KeychainError) -> ItemValue? {
        let parsed = try ParsedDictionary(item, for: .add)
        return try sharingAuthentication(context.completed(by: parsed), among: parsed.returns) {
            (context) throws(KeychainError) in
            // An addition whose answer cannot be given is refused before it is carried out.
            let addition = try ItemAddition(parsed, service: self, context)
            let result = try change([addition.step], context).found
            guard
                let found = result.identities.first.map({ FoundItem($0) }) ?? result.added.first.map({ FoundItem($0) })
            else { throw KeychainError(.internal) }
            let keychain =
                parsed.returns.contains(.provenance) ? try? keychain(found.item.keychain, context) : nil
            return parsed.returns.value(of: found, data: addition.data, in: keychain)
        }
    }

    /// Changes all items that a query finds, or none, as `SecItemUpdate` does. Altered ones stay unchanged.
    ///
    /// - Returns: the number of items that were changed, and the gaps of the search.
    /// - Throws: `errSecItemNotFound` if nothing matches, `errSecDuplicateItem` if an item would become the same as another,
    ///   `errSecReadOnly` if one of them is on a token.
    @discardableResult
    public func update(
        _ query: ItemDictionary, to changes: ItemDictionary, _ context: RequestContext = RequestContext()
    ) throws(KeychainError) -> Outcome<Int> {
        let parsed = try ParsedDictionary(query, for: .update)
        let changed = try ParsedDictionary(changes, for: .change)
        if let other = changed.itemClass, other != parsed.itemClass {
            throw KeychainError(.param, "the class of an item cannot be changed", key: "class")
        }
        let step = ChangeStep.update(
            try parsed.query(), changed.attributes, secret: SharedSecret(ifAny: changed.secret()))
        let outcome = try change([step], context.completed(by: parsed))
        return Outcome(outcome.found.updatedCount, missing: outcome.missing)
    }

    /// Deletes all items that a query finds, or none, as `SecItemDelete` does. Only a query by reference deletes a damaged
    /// item.
    ///
    /// - Returns: the number of items, and the gaps of the search; an identity counts once.
    /// - Throws: `errSecItemNotFound` if nothing matches, `errSecDecode` if all of them are damaged, `errSecReadOnly` if one
    ///   of them is on a token.
    @discardableResult
    public func delete(
        _ query: ItemDictionary, _ context: RequestContext = RequestContext()
    ) throws(KeychainError) -> Outcome<Int> {
        let parsed = try ParsedDictionary(query, for: .delete)
        let outcome = try change([.delete(try parsed.query())], context.completed(by: parsed))
        return Outcome(outcome.found.deletedCount, missing: outcome.missing)
    }

    /// Explains ``copyMatching(_:_:)`` for a query. Asks no person, and reads no secret.
    ///
    /// - Throws: the search's error for a query that cannot be honoured.
    public func explain(
        _ query: ItemDictionary, _ context: RequestContext = RequestContext()
    ) throws(KeychainError) -> Explanation {
        let parsed = try ParsedDictionary(query, for: .copy)
        return try explain(parsed.query(), readingSecrets: parsed.returns.contains(.data), context)
    }
}

extension KeychainService {
    /// Runs several requests in one authentication context if they read secrets, so that a person proves presence once.
    private func sharingAuthentication<Result>(
        _ context: RequestContext, among returns: ParsedDictionary.Returns,
        _ body: (RequestContext) throws(KeychainError) -> Result
    ) throws(KeychainError) -> Result {
        guard returns.contains(.data), context.authentication == nil else { return try body(context) }
        var shared = context
        let number = AuthenticationNumber.next()
        shared.authentication = number
        defer { try? endAuthentication(number, RequestContext()) }
        return try body(shared)
    }
}

extension RequestContext {
    /// The context with the dictionary's rules for questions.
    fileprivate func completed(by parsed: ParsedDictionary) -> RequestContext {
        var context = self
        context.purpose = parsed.prompt ?? purpose
        if parsed.authenticationUI != .allow { context.questions = .never }
        return context
    }
}
