public import HostAPI
public import KeychainModel
public import TokenKit

/// What a client works with: the keychains that it searches, the one that it adds to, the access groups that are open to
/// it, and who is asked for PINs and passwords.
///
/// Its requests are the dictionaries of `SecItem`, which are checked when they are read: nothing in them is ever ignored. ``Host`` has
/// the form that the compiler checks.
public struct KeychainSession: Sendable {
    public let searchList: SearchList
    /// Where items go that name no keychain.
    public let defaultKeychain: (any Keychain)?
    public let accessGroups: AccessGroups
    public private(set) var authentication: AuthenticationContext
    /// What chains of certificates have to lead to where only trusted ones are wanted.
    public let trustAnchors: TrustAnchors
    /// The cards that were read before, be they in now or not.
    let knownTokens: @Sendable () -> [KnownToken]
    /// The keychains that the process has opened, be they in the search list or not.
    let openedKeychains: @Sendable () -> [any Keychain]

    public init(
        searchList: SearchList, defaultKeychain: (any Keychain)? = nil, accessGroups: AccessGroups = .all,
        authentication: AuthenticationContext = AuthenticationContext(), trustAnchors: TrustAnchors = .system,
        knownTokens: @escaping @Sendable () -> [KnownToken] = { [] },
        openedKeychains: @escaping @Sendable () -> [any Keychain] = { [] }
    ) {
        self.searchList = searchList
        self.defaultKeychain = defaultKeychain
        self.accessGroups = accessGroups
        self.authentication = authentication
        self.trustAnchors = trustAnchors
        self.knownTokens = knownTokens
        self.openedKeychains = openedKeychains
    }
}

extension KeychainSession {
    /// The same session with another context, for the calls that come with one.
    public func asking(_ authentication: AuthenticationContext) -> KeychainSession {
        var session = self
        session.authentication = authentication
        return session
    }

    /// Whom its searches are for.
    var client: SearchClient { SearchClient(accessGroups: accessGroups, trustAnchors: trustAnchors) }
}

extension KeychainSession {
    /// Finds items, as `SecItemCopyMatching` does.
    ///
    /// - Returns: what the `r_` keys ask for, an array where the limit allows for several; nil if they ask for nothing.
    /// - Throws: `errSecItemNotFound` if nothing matches, whose reason names the gaps; `errSecParam` and its kin, naming the key,
    ///   for a query that cannot be honoured; `errSecInteractionNotAllowed` for a secret that is out of reach.
    public func copyMatching(_ query: ItemDictionary) throws(KeychainError) -> Outcome<ItemValue?> {
        try copy(SearchRequest(ParsedDictionary(query, for: .copy), in: self))
    }

    /// Says what ``copyMatching(_:)`` would do with a query.
    ///
    /// - Throws: what the search itself throws for a query that cannot be honoured.
    public func explain(_ query: ItemDictionary) throws(KeychainError) -> Explanation {
        let request = try SearchRequest(ParsedDictionary(query, for: .copy), in: self)
        return try explain(request.query, readingSecrets: request.returns.contains(.data))
    }

    /// Adds an item, as `SecItemAdd` does.
    ///
    /// - Returns: what the `r_` keys ask for of the new item.
    /// - Throws: `errSecDuplicateItem`, `errSecNoDefaultKeychain`, `errSecMissingEntitlement` for a group that is not open to
    ///   the client, `errSecReadOnly` for a token; nothing has changed then.
    public func add(_ item: ItemDictionary) throws(KeychainError) -> ItemValue? {
        let parsed = try ParsedDictionary(item, for: .add)
        let context = promptContext(parsed, for: "store \(parsed.itemClass?.noun ?? "it")")
        let (added, data) = try add(parsed, context)
        let provenance = provenance(of: added, parsed.returns, in: [try keychain(parsed.target)])
        return parsed.returns.value(of: [(added, data, provenance)], isArray: false)
    }

    /// Changes all items that a query finds, or none, as `SecItemUpdate` does; those that were altered stay as they are.
    ///
    /// - Returns: how many were changed, and what could not be looked at.
    /// - Throws: `errSecItemNotFound` if nothing matches, `errSecDuplicateItem` if an item would become the same as another,
    ///   `errSecReadOnly` if one of them is on a token.
    @discardableResult
    public func update(
        _ query: ItemDictionary, to changes: ItemDictionary
    ) throws(KeychainError) -> Outcome<Int> {
        let parsed = try ParsedDictionary(query, for: .update)
        let changed = try ParsedDictionary(changes, for: .change)
        if let other = changed.itemClass, other != parsed.itemClass {
            throw KeychainError(.param, "the class of an item cannot be changed", key: "class")
        }
        let request = try SearchRequest(parsed, in: self)
        return try update(matching: request, to: ItemChanges(changed.attributes, secret: changed.secret()))
    }

    /// Deletes all items that a query finds, or none, as `SecItemDelete` does; one that is damaged by its reference alone.
    ///
    /// - Throws: `errSecItemNotFound` if nothing matches, `errSecDecode` if all of them are damaged, `errSecReadOnly` if one
    ///   of them is on a token.
    /// - Returns: how many there were, and what could not be looked at; an identity is two.
    @discardableResult
    public func delete(_ query: ItemDictionary) throws(KeychainError) -> Outcome<Int> {
        try delete(matching: SearchRequest(ParsedDictionary(query, for: .delete), in: self))
    }
}

/// Who is asked on behalf of a request, and what is said to him.
struct PromptContext: Sendable {
    let authentication: AuthenticationContext
    /// Completes "password to …".
    let use: String
}

extension KeychainSession {
    func promptContext(_ parsed: ParsedDictionary, for use: String) -> PromptContext {
        PromptContext(
            authentication: parsed.authenticationUI == .allow ? authentication : authentication.withoutQuestions(),
            use: parsed.prompt ?? use)
    }

    /// - Throws: `errSecMissingEntitlement` for a client without any group.
    func checkEntitled() throws(KeychainError) {
        if accessGroups.names.isEmpty {
            throw KeychainError(.missingEntitlement, "this program has no access group")
        }
    }

    /// - Throws: `errSecMissingEntitlement` for a group that is not open to the client.
    func checkEntitled(_ attributes: Attributes) throws(KeychainError) {
        guard let group = attributes[.accessGroup]?.bytes else { return }
        let name = String(decoding: group, as: UTF8.self)
        guard accessGroups.allow(name), name != AccessGroup.token else {
            throw KeychainError(
                .missingEntitlement, "the access group \(name) is not open to this program",
                key: Attribute.accessGroup.rawValue)
        }
    }
}
