internal import KeychainModel
internal import Localization
internal import Synchronization

/// The layout of a class's table: one column for each attribute, named by its code.
final class ItemColumns: Sendable {
    static let genericPassword = ItemColumns(.genericPassword)
    static let internetPassword = ItemColumns(.internetPassword)
    static let certificate = ItemColumns(.certificate)
    static let key = ItemColumns(.key)

    let itemClass: ItemClass
    /// The attributes that have a column. Items of a file have no token id.
    let attributes: [Attribute]
    /// `DELETE` of one row.
    let delete: String
    /// `SELECT` for the numbers of all rows, which reads an index and no row.
    let selectNumbers: String

    private let types: [AttributeType]
    /// The parts of a row's checksum for its first columns and for those of its attributes.
    private let parts: (uuid: RowChecksum.Column, der: RowChecksum.Column, sealed: RowChecksum.Column)
    private let attributeParts: [RowChecksum.Column]
    private let start: String
    private let insertion: String
    private let change: String
    /// The condition that an attribute equals a value, for each attribute and as the indexes word it.
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
        parts = (RowChecksum.Column("uuid"), RowChecksum.Column("der"), RowChecksum.Column("sealed"))
        attributeParts = columns.map { RowChecksum.Column($0.attribute.rawValue) }
        delete = "DELETE FROM \(table) WHERE uuid = ?"
        selectNumbers = "SELECT id FROM \(table) INDEXED BY sqlite_autoindex_\(table)_1 ORDER BY id"
        let all = ["uuid", "der", "sealed", RowChecksum.column] + names
        start = "SELECT \(all.joined(separator: ", ")) FROM \(table)"
        let places = Array(repeating: "?", count: all.count).joined(separator: ", ")
        insertion = "INSERT INTO \(table) (\(all.joined(separator: ", "))) VALUES (\(places))"
        conditions = columns.map { Self.condition($0.attribute, $0.type, in: itemClass) }
        self.columns = Dictionary(uniqueKeysWithValues: zip(attributes, attributes.indices))
        let assignments = (["uuid", "sealed", RowChecksum.column] + names).map { "\($0) = ?" }.joined(separator: ", ")
        change = "UPDATE \(table) SET \(assignments) WHERE uuid = ?"
    }

    /// `SELECT` for the rows that satisfy what SQL can test of a query, in the order they were added.
    ///
    /// The rest of the query is for ``Query/matches(_:)``; rows it would refuse may be among these.
    ///
    /// - Parameter isNumbered: whether the caller appends the number of one row to the values.
    func select(_ query: Query, isNumbered: Bool = false) -> (sql: String, values: [SQLValue]) {
        var tested: [(column: Int, value: SQLValue)] = []
        var selection = Selection()
        for (attribute, value) in query.attributes {
            if attribute == .tokenID {
                selection.isEmpty = !value.isDefault
            } else if attribute == .synchronizable, value.isDefault {
                // Nearly every search asks for 0, and nearly every row has it. With the condition, SQLite would sort
                // rows that another index gives in order.
                continue
            } else if !query.folds(attribute), let column = columns[attribute] {
                tested.append((column, value.bytes.map { .blob($0) } ?? SQLValue(value)))
            }
        }
        tested.sort { $0.column < $1.column }
        selection.columns = tested.map(\.column)
        selection.isNumbered = isNumbered
        var values = tested.map(\.value)
        if let reference = query.reference {
            selection.isOfOne = true
            values.insert(reference.localID.map { .blob($0.bytes) } ?? .null, at: 0)
        }
        return (sql(selection), values)
    }

    /// The part of a query that its SQL depends on.
    private struct Selection: Hashable {
        /// Whether one row is named by its id.
        var isOfOne = false
        /// Whether one row is named by its number.
        var isNumbered = false
        /// The columns that must have a given value.
        var columns: [Int] = []
        /// Whether the query is about a token, so that no row of a file matches.
        var isEmpty = false
    }

    /// The SQL of a selection, kept for later searches: building it takes a tenth of the time of a search on an index.
    private func sql(_ selection: Selection) -> String {
        selections.withLock { selections in
            if let known = selections[selection] { return known }
            var conditions = selection.isOfOne ? ["uuid = ?"] : []
            conditions += selection.columns.map { self.conditions[$0] }
            if selection.isEmpty { conditions.append("0") }
            if selection.isNumbered { conditions.append("id = ?") }
            let restriction = conditions.isEmpty ? "" : " WHERE " + conditions.joined(separator: " AND ")
            let sql = "\(start)\(restriction) ORDER BY id"
            if selections.count < StatementCache.capacity { selections[selection] = sql }
            return sql
        }
    }

    /// `INSERT` of one row.
    func insert(_ row: ItemRow) -> (sql: String, values: [SQLValue]) {
        let (values, sum) = values(row)
        return (insertion, [.blob(row.id.bytes), SQLValue(row.der), SQLValue(row.sealed), sum] + values)
    }

    /// `UPDATE` of the attributes, secret and id of the row with the id `place`.
    func update(_ row: ItemRow, in place: UniqueID) -> (sql: String, values: [SQLValue]) {
        let (values, sum) = values(row)
        return (change, [.blob(row.id.bytes), SQLValue(row.sealed), sum] + values + [.blob(place.bytes)])
    }

    private func values(_ row: ItemRow) -> (attributes: [SQLValue], sum: SQLValue) {
        let values = attributes.map { row.attributes[$0].map { SQLValue($0) } ?? .null }
        var checksum = RowChecksum()
        checksum.add(.blob(row.id.bytes), of: parts.uuid)
        checksum.add(SQLValue(row.der), of: parts.der)
        checksum.add(SQLValue(row.sealed), of: parts.sealed)
        for (value, part) in zip(values, attributeParts) { checksum.add(value, of: part) }
        return (values, checksum.value)
    }

    /// The checksum that a row is stored with.
    func checksum(of row: ItemRow) -> SQLValue { values(row).sum }

    /// The current row of a statement made by ``select(_:)``, without the values that this program cannot have written.
    ///
    /// - Throws: `errSecDecode` for a row without an id.
    func row(_ statement: borrowing Statement) throws(KeychainError) -> ItemRow {
        var checksum = RowChecksum()
        let uuid = statement.value(0, adding: parts.uuid, to: &checksum)
        guard let id = uuid.blob.flatMap({ UniqueID(bytes: $0) }) else {
            throw KeychainError(
                .decode, "\(itemClass.anyNoun) is damaged in its column uuid",
                remedy: "restore the keychain from a backup; one made now leaves the \(itemClass.noun) out")
        }
        let der = statement.value(1, adding: parts.der, to: &checksum)
        let sealed = statement.value(2, adding: parts.sealed, to: &checksum)
        var row = ItemRow(
            id: id, itemClass: itemClass, attributes: Attributes(minimumCapacity: 12), der: der.blob,
            sealed: sealed.blob)
        for (index, type) in types.enumerated() {
            let column = Int32(truncatingIfNeeded: 4 + index)
            let stored = statement.value(column, adding: attributeParts[index], to: &checksum)
            if case .null = stored { continue }
            let attribute = attributes[index]
            if let value = stored.attributeValue(of: type) {
                row.attributes[attribute] = value
            } else {
                row.damagedColumn = attribute.rawValue
            }
        }
        if row.der == nil, der != .null { row.damagedColumn = "der" }
        // The last columns of a damaged row may read as if nothing had been stored in them.
        if row.sealed == nil, sealed != .null || row.der == nil { row.damagedColumn = "sealed" }
        row.isAltered = row.damagedColumn != nil || statement[3] != checksum.value
        return row
    }

    private static func condition(_ attribute: Attribute, _ type: AttributeType, in itemClass: ItemClass) -> String {
        let value = type.isText ? "CAST(\(quoted(attribute)) AS BLOB)" : quoted(attribute)
        guard itemClass.countsAbsentAsDefault(attribute) else { return "\(value) = ?" }
        return "ifnull(\(value), \(type.isText ? "x''" : "0")) = ?"
    }

    private static func quoted(_ attribute: Attribute) -> String { "\"\(attribute.rawValue)\"" }
}

extension ItemClass {
    /// The layout of the class's table.
    var columns: ItemColumns {
        switch self {
        case .genericPassword: ItemColumns.genericPassword
        case .internetPassword: ItemColumns.internetPassword
        case .certificate, .identity: ItemColumns.certificate
        case .key: ItemColumns.key
        }
    }
}
