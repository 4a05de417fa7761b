/// How items of a class lie in their table: one column an attribute, named by its code.
struct ItemColumns {
    let itemClass: ItemClass

    /// The attributes that have a column. Items of a file have no token id.
    var attributes: [Attribute] { itemClass.attributes.filter { $0 != .tokenID } }

    /// `SELECT` for the rows that satisfy what SQL can test of a query, in the order they were added.
    ///
    /// The rest of the query is for ``Query/matches(_:)``; rows it would refuse may be among these.
    func select(_ query: Query) -> (sql: String, values: [SQLValue]) {
        var conditions: [String] = []
        var values: [SQLValue] = []
        if let reference = query.reference {
            conditions.append("uuid = ?")
            values.append(reference.localID.map { .blob($0.bytes) } ?? .null)
        }
        for (attribute, value) in query.attributes.sorted(by: { $0.key < $1.key }) {
            if attribute == .tokenID {
                if !value.isDefault { conditions.append("0") }
            } else if !(attribute == .label && !query.folding.isEmpty) {
                conditions.append("\(comparand(attribute)) = ?")
                values.append(value.bytes.map { .blob($0) } ?? SQLValue(value))
            }
        }
        let restriction = conditions.isEmpty ? "" : " WHERE " + conditions.joined(separator: " AND ")
        return ("\(selection)\(restriction) ORDER BY id", values)
    }

    /// `INSERT` of one row.
    func insert(_ row: ItemRow) -> (sql: String, values: [SQLValue]) {
        let attributes = row.attributes.sorted { $0.key < $1.key }
        let names = ["uuid", "der", "sealed"] + attributes.map { quoted($0.key) }
        let places = Array(repeating: "?", count: names.count)
        let values =
            [.blob(row.id.bytes), SQLValue(row.der), SQLValue(row.sealed)] + attributes.map { SQLValue($0.value) }
        return (
            "INSERT INTO \(table) (\(names.joined(separator: ", "))) VALUES (\(places.joined(separator: ", ")))", values
        )
    }

    /// `UPDATE` of one row's attributes and secret.
    func update(_ row: ItemRow) -> (sql: String, values: [SQLValue]) {
        let attributes = row.attributes.sorted { $0.key < $1.key }
        let assignments = (["sealed"] + attributes.map { quoted($0.key) }).map { "\($0) = ?" }
        return (
            "UPDATE \(table) SET \(assignments.joined(separator: ", ")) WHERE uuid = ?",
            [SQLValue(row.sealed)] + attributes.map { SQLValue($0.value) } + [.blob(row.id.bytes)]
        )
    }

    /// `DELETE` of one row.
    var delete: String { "DELETE FROM \(table) WHERE uuid = ?" }

    /// The row a statement made by ``select(_:)`` stands on.
    ///
    /// - Throws: `errSecDecode` if this program cannot have written it.
    func row(_ statement: borrowing Statement) throws(KeychainError) -> ItemRow {
        guard let id = statement[0].blob.flatMap({ UniqueID(bytes: $0) }) else { throw damaged("uuid") }
        var attributes: Attributes = [:]
        for (column, attribute) in zip(Int32(3)..., self.attributes) {
            let stored = statement[column]
            guard stored != .null, let type = attribute.type else { continue }
            guard let value = stored.attributeValue(of: type) else { throw damaged(attribute.rawValue) }
            attributes[attribute] = value
        }
        return ItemRow(
            id: id, itemClass: itemClass, attributes: attributes, der: statement[1].blob, sealed: statement[2].blob)
    }

    private var table: String { itemClass.rawValue }

    private var selection: String {
        let columns = ["uuid", "der", "sealed"] + attributes.map(quoted)
        return "SELECT \(columns.joined(separator: ", ")) FROM \(table)"
    }

    /// What of a column is compared, as the indexes have it.
    private func comparand(_ attribute: Attribute) -> String {
        let isText = attribute.type?.isText ?? false
        let value = isText ? "CAST(\(quoted(attribute)) AS BLOB)" : quoted(attribute)
        guard itemClass.countsAbsentAsDefault(attribute) else { return value }
        return "ifnull(\(value), \(isText ? "x''" : "0"))"
    }

    private func quoted(_ attribute: Attribute) -> String { "\"\(attribute.rawValue)\"" }

    private func damaged(_ column: String) -> KeychainError {
        KeychainError(
            .decode, "a \(itemClass.noun) is damaged in its column \(column)", remedy: "restore it from a backup")
    }
}

extension PersistentReference {
    /// The id of a local item.
    var localID: UniqueID? {
        if case .local(let id) = target { id } else { nil }
    }
}
