internal import KeychainModel
internal import Localization

// SQL compares an altered row's present values, but a search may be for its original ones. Keychain semantics 2.3.
extension KeychainConnection {
    /// Adds the altered items of the class to the gaps of a result.
    func assessAltered(_ resolved: ResolvedQuery, in result: inout Outcome<[Item]>) {
        let query = resolved.query
        guard query.itemClass != .identity, query.includes(identifier), query.tokenID == nil else { return }
        let numbers = integrity.alteredRows(query.itemClass) {
            (try? database.alteredRows(of: query.itemClass.rawValue)) ?? []
        }
        let (meant, others) = numbers.reduce(into: (0, 0)) { counts, number in
            if mayBeMeant(number, by: resolved) { counts.0 += 1 } else { counts.1 += 1 }
        }
        func add(_ kind: Missing.Kind, _ reason: LocalizedText, remedy: LocalizedText) {
            let error = KeychainError(.decode, reason, remedy: remedy)
            result.missing.append(Missing(kind, in: .file, of: file.keychainName, error))
        }
        if meant > 0 {
            add(
                .damagedItem, "\(query.itemClass.anyNoun) that may be meant has been altered since it was stored",
                remedy: "name another keychain if that is meant; 'tokenctl dump-keychain' says what is damaged")
        }
        if others > 0 {
            add(
                .unrelatedDamagedItem,
                "\(query.itemClass.anyNoun) that was not asked for has been altered since it was stored",
                remedy: "'tokenctl dump-keychain' says which")
        }
    }

    /// Whether an altered row may be one that a query looks for.
    ///
    /// It may be if every attribute of the query that can still be read in the row matches, or if the row fits its
    /// checksum with the values that the query has in place of its own: then it was stored with them. Filters are not
    /// looked at, since the checksum does not tell from which certificate they would be judged.
    private func mayBeMeant(_ number: SQLValue, by resolved: ResolvedQuery) -> Bool {
        let query = resolved.query
        let columns = query.itemClass.columns
        guard let everything = try? Query(query.itemClass, [.synchronizable: Query.anySynchronizable], limit: .all)
        else { return true }
        let (sql, values) = columns.select(everything, isNumbered: true)
        guard let rows = try? database.prepare(sql, values + [number]), (try? rows.step()) == true,
            let row = try? columns.row(rows)
        else { return true }
        let item = row.item(in: identifier)
        let id = query.reference?.localID ?? row.id
        var candidates = [
            ItemRow(id: id, itemClass: row.itemClass, attributes: row.attributes, der: row.der, sealed: row.sealed)
        ]
        func replace(_ attribute: Attribute, by values: [AttributeValue], orKeepingIt mayStay: Bool) {
            candidates = candidates.flatMap { candidate in
                let replaced = values.flatMap(\.storedForms).map { value in
                    var other = candidate
                    other.attributes[attribute] = value
                    return other
                }
                return mayStay ? replaced + [candidate] : replaced
            }
        }
        var isOther = id != row.id
        for (attribute, wanted) in query.attributes {
            let matches = query.matches(wanted, for: attribute, of: item)
            if row.canRead(attribute) {
                if matches { continue }
                isOther = true
            }
            replace(attribute, by: [wanted], orKeepingIt: matches)
        }
        if !resolved.isReadable(item), row.canRead(.accessGroup) {
            isOther = true
            replace(.accessGroup, by: resolved.groups, orKeepingIt: false)
        }
        return !isOther || candidates.contains { columns.checksum(of: $0) == rows[3] }
    }
}

extension ItemRow {
    /// Whether no attribute that can still be read differs from what the query wants, filters aside.
    func mayMatch(_ query: Query, as item: Item) -> Bool {
        query.attributes.allSatisfy { attribute, wanted in
            !canRead(attribute) || query.matches(wanted, for: attribute, of: item)
        }
    }

    /// Whether the row has the attribute's value or its absence; a row with a damaged column may have lost others as well.
    fileprivate func canRead(_ attribute: Attribute) -> Bool { attributes[attribute] != nil || damagedColumn == nil }
}

extension AttributeValue {
    /// The forms in which a value that the search finds may be stored: a text is found by data as well, and data by a
    /// text, but their checksums differ.
    fileprivate var storedForms: [AttributeValue] {
        guard let bytes else { return [self] }
        let text = String(validating: bytes, as: UTF8.self).map { AttributeValue.string($0) }
        return [.data(bytes)] + [text].compactMap { $0 }
    }
}
