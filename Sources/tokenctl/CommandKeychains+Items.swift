internal import HostAPI
internal import KeychainModel
internal import Localization

extension CommandKeychains {
    /// The items of one class that a query finds in these keychains.
    func items(matching query: Query) throws(KeychainError) -> Outcome<[Item]> {
        try search(query) { (query) throws(KeychainError) in try host.items(matching: query, .silent) }
    }

    /// The identities that a query finds in these keychains.
    func identities(matching query: Query) throws(KeychainError) -> Outcome<[Identity]> {
        try search(query) { (query) throws(KeychainError) in try host.identities(matching: query, .silent) }
    }

    /// The private keys that a selector names in these keychains.
    func keys(_ selector: KeySelector) throws(KeychainError) -> Outcome<[KeyDescription]> {
        let members = try members()
        let query = KeyQuery(selector, in: .keychains(members?.found))
        var outcome = try host.keys(matching: query, .silent)
        outcome.add(missing: members?.missing ?? [])
        return outcome
    }

    /// The private keys that a selector names on known cards that are in no reader.
    func absentKeys(_ selector: KeySelector) throws(KeychainError) -> [KeyDescription] {
        try host.keys(matching: KeyQuery(selector, in: .absentTokens), .silent).found
    }

    /// The error of the use of a key whose card is in no reader.
    func absence(of key: KeyDescription) -> KeychainError {
        let card = (try? knownCards())?.first { $0.identifier == key.item.keychain }
        return KeychainError(
            .interactionRequired, "the key \(key.name) is on '\(key.keychainName)', which is in no reader",
            remedy: card.map { "insert card \($0.numberOrInstance)" } ?? "insert it")
    }

    private func search<Found>(
        _ query: Query, _ body: (Query) throws(KeychainError) -> Outcome<[Found]>
    ) throws(KeychainError) -> Outcome<[Found]> {
        // No password is on a card: cards are not looked at.
        guard query.keychains == nil, let members = try members(cards: !query.itemClass.isPassword) else {
            return try body(query)
        }
        var limited = query
        limited.keychains = members.found
        var outcome = try body(limited)
        outcome.add(missing: members.missing)
        return outcome
    }

    /// Deletes items that were found in keychain files: all of them, or none.
    func delete(_ items: [Item]) throws(KeychainError) {
        _ = try host.change(items.map { .delete(Query($0.reference, in: [$0.keychain])) }, .silent)
    }

    /// The items to be deleted. A damaged item is a gap only if its readable values match, since programs delete an item
    /// before they add it anew.
    func itemsToDelete(matching query: Query) throws(KeychainError) -> Outcome<[Item]> {
        var outcome = try items(matching: query)
        let damage = try damage(matching: query)
        outcome.missing.removeAll { gap in
            gap.kind == .unrelatedDamagedItem || gap.kind == .damagedItem && !damage.contains(gap)
        }
        return outcome
    }

    private func damage(matching query: Query) throws(KeychainError) -> [Missing] {
        var limited = query
        limited.keychains = try foundFiles().found.map(\.identifier)
        return try host.damage(matching: limited, .silent)
    }

    /// The items or keys of a search, after its gaps were printed as warnings.
    func reporting<Found>(_ outcome: Outcome<Found>) -> Found {
        gaps.tell(missing + outcome.missing)
        return outcome.found
    }
}

extension Item {
    /// The name for people: ``objectName``, or else the service or server and the account.
    var anyName: String {
        guard objectName.isEmpty else { return objectName }
        return [Attribute.service, .server, .account].compactMap { self[$0]?.string }.joined(separator: " ")
    }

    /// The object's name on its card with its label, or the label alone.
    var objectName: String {
        guard case .token(_, let object) = reference.target else { return label ?? "" }
        let name = String(decoding: object.prefix { $0 != 0 }, as: UTF8.self)
        return label.map { "\(name) \($0)" } ?? name
    }
}
