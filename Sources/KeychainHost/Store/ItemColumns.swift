/// How items of a class lie in their table: one column an attribute, named by its code.
final class ItemColumns: Sendable {
    let itemClass: ItemClass
    /// The attributes that have a column. Items of a file have no token id.
    let attributes: [Attribute]
    /// `DELETE` of one row.
    let delete: String

    private let types: [AttributeType]
    private let selection: String
    private let insertion: String
    private let change: String
    /// The condition that an attribute has a value, as the indexes have it.
    private let conditions: [Attribute: String]

    fileprivate init(_ itemClass: ItemClass) {
        let columns = itemClass.definitions.filter { $0.attribute != .tokenID }
        let names = columns.map { Self.quoted($0.attribute) }
        let table = itemClass.rawValue
        self.itemClass = itemClass
        attributes = columns.map(\.attribute)
        types = columns.map(\.type)
        delete = "DELETE FROM \(table) WHERE uuid = ?"
        selection = "SELECT \((["uuid", "der", "sealed"] + names).joined(separator: ", ")) FROM \(table)"
        let places = Array(repeating: "?", count: 3 + names.count).joined(separator: ", ")
        insertion =
            "INSERT INTO \(table) (\((["uuid", "der", "sealed"] + names).joined(separator: ", "))) VALUES (\(places))"
        conditions = Dictionary(
            uniqueKeysWithValues: columns.map { ($0.attribute, Self.condition($0.attribute, $0.type, in: itemClass)) })
        let assignments = (["sealed"] + names).map { "\($0) = ?" }.joined(separator: ", ")
        change = "UPDATE \(table) SET \(assignments) WHERE uuid = ?"
    }

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
            } else if !(attribute == .label && !query.folding.isEmpty), let condition = self.conditions[attribute] {
                conditions.append(condition)
                values.append(value.bytes.map { .blob($0) } ?? SQLValue(value))
            }
        }
        let restriction = conditions.isEmpty ? "" : " WHERE " + conditions.joined(separator: " AND ")
        return ("\(selection)\(restriction) ORDER BY id", values)
    }

    /// `INSERT` of one row.
    func insert(_ row: ItemRow) -> (sql: String, values: [SQLValue]) {
        (insertion, [.blob(row.id.bytes), SQLValue(row.der), SQLValue(row.sealed)] + values(row))
    }

    /// `UPDATE` of one row's attributes and secret.
    func update(_ row: ItemRow) -> (sql: String, values: [SQLValue]) {
        (change, [SQLValue(row.sealed)] + values(row) + [.blob(row.id.bytes)])
    }

    private func values(_ row: ItemRow) -> [SQLValue] {
        attributes.map { row.attributes[$0].map { SQLValue($0) } ?? .null }
    }

    /// The row a statement made by ``select(_:)`` stands on.
    ///
    /// - Throws: `errSecDecode` if this program cannot have written it.
    func row(_ statement: borrowing Statement) throws(KeychainError) -> ItemRow {
        guard let id = statement[0].blob.flatMap({ UniqueID(bytes: $0) }) else { throw damaged("uuid") }
        var attributes = Attributes(minimumCapacity: 12)
        for (index, type) in types.enumerated() {
            let column = Int32(truncatingIfNeeded: 3 + index)
            guard !statement.isNull(column) else { continue }
            let attribute = self.attributes[index]
            guard let value = statement[column].attributeValue(of: type) else { throw damaged(attribute.rawValue) }
            attributes[attribute] = value
        }
        return ItemRow(
            id: id, itemClass: itemClass, attributes: attributes, der: statement[1].blob, sealed: statement[2].blob)
    }

    private static func condition(_ attribute: Attribute, _ type: AttributeType, in itemClass: ItemClass) -> String {
        let value = type.isText ? "CAST(\(quoted(attribute)) AS BLOB)" : quoted(attribute)
        guard itemClass.countsAbsentAsDefault(attribute) else { return "\(value) = ?" }
        return "ifnull(\(value), \(type.isText ? "x''" : "0")) = ?"
    }

    private static func quoted(_ attribute: Attribute) -> String { "\"\(attribute.rawValue)\"" }

    private func damaged(_ column: String) -> KeychainError {
        KeychainError(
            .decode, "a \(itemClass.noun) is damaged in its column \(column)", remedy: "restore it from a backup")
    }
}

extension ItemClass {
    /// How its items lie in their table.
    var columns: ItemColumns { Self.columns[self] ?? ItemColumns(self) }

    private static let columns = Dictionary(uniqueKeysWithValues: stored.map { ($0, ItemColumns($0)) })
}

extension PersistentReference {
    /// The id of a local item.
    var localID: UniqueID? {
        if case .local(let id) = target { id } else { nil }
    }
}
