public import KeychainModel

/// The keychains that a query visits, in the order in which it does: tokens first, then local files.
///
/// A member that fails hides no other: what it failed with is part of the result.
public struct SearchList: Sendable {
    public let members: [any Keychain]

    /// Why keychains that belong into the list are not among its members; part of every result.
    public let failures: [Failure]

    /// - Parameters:
    ///   - tokens: cards, in the order of their readers.
    ///   - locals: files, in the order that the user gave them.
    ///   - failures: what came of the others.
    public init(tokens: [any Keychain] = [], locals: [any Keychain] = [], failures: [Failure] = []) {
        members = tokens + locals
        self.failures = failures
    }

    /// Any keychains in any order.
    public init(members: [any Keychain]) {
        self.members = members
        failures = []
    }

    /// Why a member of the list gave nothing.
    public struct Failure: Sendable, Hashable {
        public let keychain: String
        public let error: KeychainError

        /// What all cards together are called, where none can be asked.
        package static let ofCards = "smart cards"

        /// Whether no card could be asked at all, as where there is no smart-card service.
        public var isOfCards: Bool { keychain == Failure.ofCards }

        public init(keychain: String, error: KeychainError) {
            self.keychain = keychain
            self.error = error
        }

        /// Errors are equal where their codes are; two failures are the same only if they say the same.
        public static func == (left: Failure, right: Failure) -> Bool {
            left.keychain == right.keychain && left.error.description == right.error.description
        }

        public func hash(into hasher: inout Hasher) { hasher.combine(keychain) }
    }

    /// What all members together gave.
    public struct Result<Element: Sendable>: Sendable {
        public var found: [Element] = []
        public var failures: [Failure] = []
        /// Damaged items that cannot match the search.
        public var damagedOthers: [Failure] = []

        public init() {}
    }

    /// The items a query finds, in the order of the list, at most as many as its limit.
    ///
    /// The limit counts what passed every filter. The same certificate on a card and in a file is two items, unless the
    /// query wants each once.
    ///
    /// - Parameter client: whom the search is for.
    /// - Throws: where every member failed, what the first of them failed with; `errSecParam` for a query of identities,
    ///   which ``identities(matching:)`` finds.
    public func items(
        matching query: Query, for client: SearchClient = SearchClient()
    ) throws(KeychainError) -> Result<Item> {
        guard query.itemClass != .identity else {
            throw KeychainError(.param, "an identity is two items, a certificate and a key", key: "class")
        }
        let resolved = try resolve(query, for: client)
        let part = query.isDistinct ? resolved.withoutLimit : resolved
        var result = Result<Item>()
        try visit(&result) { (member, result) throws(KeychainError) in
            let found = try member.items(matching: part)
            result.found += found.items
            result.failures += found.damaged.map { Failure(keychain: member.name, error: $0) }
            result.damagedOthers += found.damagedOthers.map { Failure(keychain: member.name, error: $0) }
            return part.query.limit.count.map { result.found.count < $0 } ?? true
        }
        if query.isDistinct {
            var seen: Set<Attributes> = []
            result.found = result.found.filter { seen.insert($0.distinction).inserted }
        }
        if let count = query.limit.count { result.found = Array(result.found.prefix(count)) }
        return result
    }

    /// The private keys that the selector names, in the order of the list.
    ///
    /// The reference of a certificate or an identity names the key that ``identities(matching:)`` pairs with it.
    public func keys(_ selector: KeySelector) throws(KeychainError) -> Result<any KeychainKey> {
        if case .reference(let reference) = selector, reference.itemClass != .key {
            return try keys(ofIdentity: reference)
        }
        var result = Result<any KeychainKey>()
        try visit(&result) { (member, result) throws(KeychainError) in
            result.found += try member.keys(selector)
            return true
        }
        return result
    }

    private func keys(ofIdentity reference: PersistentReference) throws(KeychainError) -> Result<any KeychainKey> {
        let identities = try identities(matching: Query(reference.retyped(as: .identity)))
        guard let identity = identities.found.first else {
            var result = Result<any KeychainKey>()
            result.failures = identities.failures
            return result
        }
        return try keys(.reference(identity.key.reference))
    }

    /// - Parameter body: returns whether the next member is to be visited.
    private func visit<Element>(
        _ result: inout Result<Element>,
        _ body: (any Keychain, inout Result<Element>) throws(KeychainError) -> Bool
    ) throws(KeychainError) {
        var failed = failures.count
        var first = failures.first?.error
        result.failures += failures
        for member in members {
            if let damage = member.damage { result.failures.append(Failure(keychain: member.name, error: damage)) }
            do throws(KeychainError) {
                guard try body(member, &result) else { return }
            } catch {
                failed += 1
                first = first ?? error
                result.failures.append(Failure(keychain: member.name, error: error))
            }
        }
        if let first, failed == members.count + failures.count { throw first }
    }
}

extension Item {
    /// What makes an item another wherever both are; what is absent counts as empty or 0, and text as its bytes.
    fileprivate var distinction: Attributes {
        let unique = Set(itemClass.uniqueAttributes).subtracting([.accessGroup, .synchronizable])
        return attributes.filter { unique.contains($0.key) && !$0.value.isDefault }
            .mapValues { value in value.bytes.map { .data($0) } ?? value }
    }
}
