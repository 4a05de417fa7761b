public import KeychainModel
internal import Localization
public import SecureBytes

/// A card as a keychain, inserted or not: read-only, and its secrets stay on it.
public protocol CardKeychain: Keychain {}

extension CardKeychain {
    public var isReadOnly: Bool { true }
    public var writableIdentifier: KeychainIdentifier? { nil }

    /// A card is never locked: objects that need the PIN are used and not read.
    public var isLocked: Bool { false }

    public func plan(for query: Query) -> [String] { [] }

    public func missing(_ error: KeychainError) -> Missing { Missing(.unreadableKeychain, in: .card, of: name, error) }

    public func reasonToSkip(_ query: Query) -> String? { cardReasonToSkip(query) }

    /// The common reasons to skip a card.
    func cardReasonToSkip(_ query: Query) -> String? {
        if query.itemClass.isPassword { return "a token has no \(query.itemClass.noun)" }
        if let reference = query.reference, reference.tokenID == nil { return "the reference is to a local item" }
        if let keychains = query.keychains, keychains.allSatisfy(\.isLocal) {
            return "the query is about local keychains"
        }
        if let group = query.attributes[.accessGroup], !group.matches(.string(AccessGroup.token)) {
            return "the access group is not the tokens'"
        }
        if let token = query.attributes[.tokenID], token.isDefault { return "the query is about local items" }
        return nil
    }

    /// A key on a card is used there and never read; all other objects are public.
    public func secret(
        of item: Item, use: String, authentication: AuthenticationContext
    ) throws(KeychainError) -> Secret? {
        throw KeychainError(
            .dataNotAvailable, "the key '\(item.label ?? "")' never leaves the card", remedy: "use it there")
    }

    /// Does nothing: a card needs no unlocking before an operation, which asks for the PIN itself.
    public func unlock(use: String, authentication: AuthenticationContext) throws(KeychainError) {}

    public func checkWritable() throws(KeychainError) { throw refusal }

    public func prepared(
        _ item: NewItem, authentication: AuthenticationContext
    ) throws(KeychainError) -> NewItem { throw refusal }

    public func sealedSecrets(
        for changes: ItemChanges, matching query: ResolvedQuery, authentication: AuthenticationContext
    ) throws(KeychainError) -> SealedSecrets { SealedSecrets() }

    public func carryOut<Final: Sendable>(
        _ steps: [KeychainStep], then others: @Sendable ([KeychainStep.Result]) throws(KeychainError) -> Final
    ) throws(KeychainError) -> Final { throw refusal }

    /// The error of a change: a card's content is its issuer's.
    private var refusal: KeychainError {
        KeychainError(.readOnly, "the card in '\(name)' cannot be written to", remedy: "name a keychain file")
    }
}
