/// The meaning of a query, as one predicate for the items of every kind of keychain.
extension Query {
    /// Whether an item satisfies everything the query asks for, the limit aside.
    ///
    /// An identity is not an item: the two halves of one are matched by whoever pairs them.
    public func matches(_ item: Item) -> Bool {
        guard item.itemClass == itemClass, includes(item.keychain) else { return false }
        if let reference, item.reference != reference { return false }
        guard attributes.allSatisfy({ matches($0.value, for: $0.key, of: item) }) else { return false }
        return matchesSubject(of: item)
    }

    /// Whether a keychain is one of those the query is about.
    public func includes(_ keychain: KeychainIdentifier) -> Bool {
        keychains?.contains(keychain) ?? true
    }

    private func matches(_ wanted: AttributeValue, for attribute: Attribute, of item: Item) -> Bool {
        guard let actual = item[attribute] else {
            return itemClass.countsAbsentAsDefault(attribute) && wanted.isDefault
        }
        if attribute == .label, ignoresCase, let left = wanted.string, let right = actual.string {
            return left.lowercased() == right.lowercased()
        }
        return actual.matches(wanted)
    }

    private func matchesSubject(of item: Item) -> Bool {
        guard let subject else { return true }
        return item.commonName.map { subject.accepts($0, ignoringCase: ignoresCase) } ?? false
    }
}

extension ItemClass {
    /// Whether an item without the attribute is found by a search for its empty value or 0.
    func countsAbsentAsDefault(_ attribute: Attribute) -> Bool {
        attribute == .tokenID || uniqueAttributes.contains(attribute)
    }
}
