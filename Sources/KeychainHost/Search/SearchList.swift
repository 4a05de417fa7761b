public import KeychainModel
internal import Localization

/// The keychains that a query visits, in the order of its visits: tokens first, then local files.
///
/// A member that fails hides no other: its error is part of the outcome.
public struct SearchList: Sendable {
    let members: [any Keychain]

    /// Keychains that belong in the list and are not among its members; part of every outcome.
    let missing: [Missing]

    /// - Parameters:
    ///   - tokens: cards, in the order of their readers.
    ///   - locals: files, in the order that the user gave them.
    ///   - missing: keychains that belong in the list and cannot be visited.
    public init(tokens: [any Keychain] = [], locals: [any Keychain] = [], missing: [Missing] = []) {
        members = tokens + locals
        self.missing = missing
    }

    /// A list of any keychains in any order.
    public init(members: [any Keychain]) {
        self.members = members
        missing = []
    }

    /// The items a query finds, in the order of the list, at most as many as its limit.
    ///
    /// The limit counts the items that passed every filter. The same certificate on a card and in a file is two items,
    /// unless the query wants each once.
    ///
    /// - Parameter client: the client of the search.
    /// - Throws: where every member failed, the error of the first one; `errSecParam` for a query of identities, which
    ///   ``identities(matching:)`` finds.
    public func items(
        matching query: Query, for client: SearchClient = SearchClient()
    ) throws(KeychainError) -> Outcome<[Item]> {
        guard query.itemClass != .identity else {
            throw KeychainError(.param, "an identity is two items, a certificate and a key", key: "class")
        }
        let resolved = try resolve(query, for: client)
        let part = query.isDistinct ? resolved.withoutLimit : resolved
        var result = Outcome<[Item]>()
        try visit(&result) { (member, result) throws(KeychainError) in
            let found = try member.items(matching: part)
            result.found += found.found
            result.missing += found.missing
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
    public func keys(_ selector: KeySelector) throws(KeychainError) -> Outcome<[any KeychainKey]> {
        if case .reference(let reference) = selector, reference.itemClass != .key {
            return try keys(ofIdentity: reference)
        }
        var result = Outcome<[any KeychainKey]>()
        try visit(&result) { (member, result) throws(KeychainError) in
            result.found += try member.keys(selector)
            return true
        }
        return result
    }

    private func keys(ofIdentity reference: PersistentReference) throws(KeychainError) -> Outcome<[any KeychainKey]> {
        let identities = try identities(matching: Query(reference.retyped(as: .identity)))
        guard let identity = identities.found.first else { return Outcome([], missing: identities.missing) }
        return try keys(.reference(identity.key.reference))
    }

    /// - Parameter body: returns whether the next member is to be visited.
    private func visit<Element>(
        _ result: inout Outcome<[Element]>,
        _ body: (any Keychain, inout Outcome<[Element]>) throws(KeychainError) -> Bool
    ) throws(KeychainError) {
        var failed = missing.count
        var first = missing.first?.error
        result.missing += missing
        for member in members {
            if let damage = member.damage { result.missing.append(member.missing(damage)) }
            do throws(KeychainError) {
                guard try body(member, &result) else { return }
            } catch {
                failed += 1
                first = first ?? error
                result.missing.append(member.missing(error))
            }
        }
        if let first, failed == members.count + missing.count { throw first }
    }
}

extension Item {
    /// The attributes by which an item and its copy in another keychain are the same. Absent ones count as empty or 0,
    /// text as its bytes.
    fileprivate var distinction: Attributes {
        let unique = Set(itemClass.uniqueAttributes).subtracting([.accessGroup, .synchronizable])
        return attributes.filter { unique.contains($0.key) && !$0.value.isDefault }
            .mapValues { value in value.bytes.map { .data($0) } ?? value }
    }
}
