internal import Synchronization

/// How items of a class lie in their table: one column an attribute, named by its code.
final class ItemColumns: Sendable {
    let itemClass: ItemClass
    /// The attributes that have a column. Items of a file have no token id.
    let attributes: [Attribute]
    /// `DELETE` of one row.
    let delete: String

    private let types: [AttributeType]
    private let start: String
    private let insertion: String
    private let change: String
    /// The condition that each attribute has a value, as the indexes have it.
    private let conditions: [String]
    private let columns: [Attribute: Int]
    private let selections = Mutex<[Selection: String]>([:])

    fileprivate init(_ itemClass: ItemClass) {
        let columns = itemClass.definitions.filter { $0.attribute != .tokenID }
        let names = columns.map { Self.quoted($0.attribute) }
        let table = itemClass.rawValue
        self.itemClass = itemClass
        attributes = columns.map(\.attribute)
        types = columns.map(\.type)
        delete = "DELETE FROM \(table) WHERE uuid = ?"
        start = "SELECT \((["uuid", "der", "sealed"] + names).joined(separator: ", ")) FROM \(table)"
        let places = Array(repeating: "?", count: 3 + names.count).joined(separator: ", ")
        insertion =
            "INSERT INTO \(table) (\((["uuid", "der", "sealed"] + names).joined(separator: ", "))) VALUES (\(places))"
        conditions = columns.map { Self.condition($0.attribute, $0.type, in: itemClass) }
        self.columns = Dictionary(uniqueKeysWithValues: zip(attributes, attributes.indices))
        let assignments = (["sealed"] + names).map { "\($0) = ?" }.joined(separator: ", ")
        change = "UPDATE \(table) SET \(assignments) WHERE uuid = ?"
    }

    /// `SELECT` for the rows that satisfy what SQL can test of a query, in the order they were added.
    ///
    /// The rest of the query is for ``Query/matches(_:)``; rows it would refuse may be among these.
    func select(_ query: Query) -> (sql: String, values: [SQLValue]) {
        var tested: [(column: Int, value: SQLValue)] = []
        var selection = Selection()
        for (attribute, value) in query.attributes {
            if attribute == .tokenID {
                selection.isEmpty = !value.isDefault
            } else if attribute == .synchronizable, value.isDefault {
                // Nearly every search asks for it, and nearly every row has it: SQLite would sort what an index gives in order.
                continue
            } else if !(attribute == .label && !query.folding.isEmpty), let column = columns[attribute] {
                tested.append((column, value.bytes.map { .blob($0) } ?? SQLValue(value)))
            }
        }
        tested.sort { $0.column < $1.column }
        selection.columns = tested.map(\.column)
        var values = tested.map(\.value)
        if let reference = query.reference {
            selection.isOfOne = true
            values.insert(reference.localID.map { .blob($0.bytes) } ?? .null, at: 0)
        }
        return (sql(selection), values)
    }

    /// What of a query makes its SQL.
    private struct Selection: Hashable {
        /// Whether one row is named by its id.
        var isOfOne = false
        /// The attributes that must have a value.
        var columns: [Int] = []
        /// Whether no row of a file can be meant.
        var isEmpty = false
    }

    /// Kept from one search to the next, which spares a search on an index a tenth of its time.
    private func sql(_ selection: Selection) -> String {
        selections.withLock { selections in
            if let known = selections[selection] { return known }
            var conditions = selection.isOfOne ? ["uuid = ?"] : []
            conditions += selection.columns.map { self.conditions[$0] }
            if selection.isEmpty { conditions.append("0") }
            let restriction = conditions.isEmpty ? "" : " WHERE " + conditions.joined(separator: " AND ")
            let sql = "\(start)\(restriction) ORDER BY id"
            if selections.count < StatementCache.capacity { selections[selection] = sql }
            return sql
        }
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
        let row = ItemRow(
            id: id, itemClass: itemClass, attributes: attributes, der: try bytes(statement[1], of: "der"),
            sealed: try bytes(statement[2], of: "sealed"))
        // The end of a row that is damaged reads as if nothing had been stored there.
        guard row.der != nil || row.sealed != nil else { throw damaged("sealed") }
        return row
    }

    /// Nil only where nothing was stored: an item whose data cannot be read is none without data.
    private func bytes(_ value: SQLValue, of column: String) throws(KeychainError) -> [UInt8]? {
        switch value {
        case .null: return nil
        case .blob(let bytes): return bytes
        default: throw damaged(column)
        }
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
