internal import KeychainModel

// SQL compares an altered row's present values, but a search may be for its original ones. Keychain semantics 2.3.
extension KeychainConnection {
    /// Adds the altered items of the class to the gaps of a result.
    func assessAltered(_ query: Query, in result: inout Outcome<[Item]>) {
        guard query.itemClass != .identity, query.includes(identifier), query.tokenID == nil else { return }
        let numbers = integrity.alteredRows(query.itemClass) {
            (try? database.alteredRows(of: query.itemClass.rawValue)) ?? []
        }
        let (meant, others) = numbers.reduce(into: (0, 0)) { counts, number in
            if mayBeMeant(number, by: query) { counts.0 += 1 } else { counts.1 += 1 }
        }
        func add(_ kind: Missing.Kind, _ reason: String, remedy: String) {
            let error = KeychainError(
                .decode, "\(query.itemClass.anyNoun) that \(reason) has been altered since it was stored",
                remedy: remedy)
            result.missing.append(Missing(kind, in: .file, of: file.keychainName, error))
        }
        if meant > 0 {
            add(
                .damagedItem, "may be meant",
                remedy: "name another keychain if that is meant; 'tokenctl dump-keychain' says what is damaged")
        }
        if others > 0 {
            add(.unrelatedDamagedItem, "was not asked for", remedy: "'tokenctl dump-keychain' says which")
        }
    }

    /// Whether an altered row may be one that a query looks for.
    ///
    /// It may be if no wanted value differs from the row's readable ones, or if the row fits its checksum with the
    /// wanted values: then it was stored with them.
    private func mayBeMeant(_ number: SQLValue, by query: Query) -> Bool {
        let columns = query.itemClass.columns
        guard let everything = try? Query(query.itemClass, [.synchronizable: Query.anySynchronizable], limit: .all)
        else { return true }
        let (sql, values) = columns.select(everything, isNumbered: true)
        guard let rows = try? database.prepare(sql, values + [number]), (try? rows.step()) == true,
            let row = try? columns.row(rows)
        else { return true }
        let item = row.item(in: identifier)
        let differing = query.attributes.filter { attribute, wanted in
            // An unreadable value may have been the attribute's.
            let isUnreadable = row.attributes[attribute] == nil && row.damagedColumn != nil
            return !isUnreadable && !query.matches(wanted, for: attribute, of: item)
        }
        let id = query.reference?.localID ?? row.id
        guard !differing.isEmpty || id != row.id else { return true }
        guard !differing.keys.contains(where: query.folds) else { return true }
        // A search finds a text by data as well, and data by a text; the checksum tells the two apart.
        let forms = [
            differing, differing.mapValues { value in value.bytes.map { .data($0) } ?? value },
            differing.mapValues { value in
                value.bytes.flatMap { String(validating: $0, as: UTF8.self) }.map { .string($0) } ?? value
            },
        ]
        return forms.contains { form in
            let stored = ItemRow(
                id: id, itemClass: row.itemClass, attributes: row.attributes.merging(form) { $1 }, der: row.der,
                sealed: row.sealed)
            return columns.checksum(of: stored) == rows[3]
        }
    }
}
