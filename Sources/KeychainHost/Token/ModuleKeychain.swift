public import KeychainModel
public import TokenKit

/// The tokens of a module of another maker, as a read-only keychain.
///
/// The module is asked only when a query may find something in it. A card that a driver of this program reads by itself
/// is left to that driver.
public struct ModuleKeychain: CardKeychain {
    let module: any TokenModule

    /// Whether a token is used.
    private let includes: @Sendable (TokenKeychain) -> Bool

    /// The reader whose card is read without the module, by the module's name for it; nil for any other.
    private let readerReadOtherwise: @Sendable (String) -> String?

    /// Whether every inserted card is read without the module, or is held by another program, for which the module
    /// would wait as well.
    private let areAllReadOtherwise: @Sendable () -> Bool

    public init(
        _ module: any TokenModule, _ includes: @escaping @Sendable (TokenKeychain) -> Bool = { _ in true },
        readerReadOtherwise: @escaping @Sendable (String) -> String? = { _ in nil },
        areAllReadOtherwise: @escaping @Sendable () -> Bool = { false }
    ) {
        self.module = module
        self.includes = includes
        self.readerReadOtherwise = readerReadOtherwise
        self.areAllReadOtherwise = areAllReadOtherwise
    }

    public var name: String { module.name }

    /// Each token as a keychain of its own.
    ///
    /// A module that only reads cards has nothing to add where all of them are read without it, and is not started then: it
    /// would read each card anew, and be blamed for a card that another program holds.
    public func tokens() throws(KeychainError) -> [TokenKeychain] {
        guard !(module.readsCardsAlone && areAllReadOtherwise()) else { return [] }
        return try slots().filter { readerReadOtherwise($0.reader) == nil }.map { TokenKeychain($0.slot) }.filter(
            includes)
    }

    /// The readers whose cards both the module and a driver of this program read.
    func sharedReaders() throws(KeychainError) -> [String] {
        try slots().map(\.reader).compactMap(readerReadOtherwise)
    }

    private func slots() throws(KeychainError) -> [ModuleSlot] {
        do { return try module.tokens() } catch { throw KeychainError(error) }
    }

    public func items(matching resolved: ResolvedQuery) throws(KeychainError) -> Outcome<[Item]> {
        let query = resolved.query
        guard query.itemClass != .identity, reasonToSkip(query) == nil else { return Outcome() }
        var result = Outcome<[Item]>()
        for token in try tokens() {
            let found = try token.items(matching: resolved)
            result.found += found.found
            result.missing += found.missing.map { Missing($0.kind, in: .module, of: name, $0.error) }
        }
        if let count = query.limit.count { result.found = Array(result.found.prefix(count)) }
        return result
    }

    public func missing(_ error: KeychainError) -> Missing {
        Missing(.unreadableKeychain, in: .module, of: name, error)
    }

    public func reasonToSkip(_ query: Query) -> String? {
        if let reason = cardReasonToSkip(query) { return reason }
        if let token = query.reference?.tokenID, !isOfModules(token) { return "the reference is to a card" }
        if let keychains = query.keychains, !keychains.contains(where: { isOfModules($0.rawValue) }) {
            return "the query is about other keychains"
        }
        return nil
    }

    private func isOfModules(_ token: String) -> Bool { token.hasPrefix(module.driver + ":") }

    public func keys(_ selector: KeySelector) throws(KeychainError) -> [any KeychainKey] {
        if case .reference(let reference) = selector {
            guard let token = reference.tokenID, isOfModules(token) else { return [] }
        }
        var keys: [any KeychainKey] = []
        for token in try tokens() { keys += try token.keys(selector) }
        return keys
    }

    public func part(identifiedBy identifier: KeychainIdentifier) -> (any Keychain)? {
        guard isOfModules(identifier.rawValue) else { return nil }
        return (try? tokens())?.first { $0.isIdentified(by: identifier) }
    }

    public func isIdentified(by identifier: KeychainIdentifier) -> Bool { part(identifiedBy: identifier) != nil }
}
