internal import KeychainModel
internal import Localization

// Reading rows: a damaged one hides no other.
extension KeychainConnection {
    /// Calls `body` with a reader for each row that SQL finds, until it returns false.
    ///
    /// - Parameter startingOver: called where SQLite fails amid the rows: `body` is then called for all of them once more.
    func forEachRow(
        _ query: Query, startingOver: () -> Void,
        _ body: (() throws(KeychainError) -> ItemRow) throws(KeychainError) -> Bool
    ) throws(KeychainError) {
        guard query.itemClass != .identity, query.includes(identifier) else { return }
        let columns = query.itemClass.columns
        let (sql, values) = columns.select(query)
        let rows = try KeychainError.mapping { () throws(SQLiteError) in try database.prepare(sql, values) }
        while true {
            do throws(SQLiteError) {
                guard try rows.step() else { return }
            } catch {
                guard error.code.primary == .corrupt, let numbers = try? rowNumbers(of: query.itemClass) else {
                    throw KeychainError(error)
                }
                startingOver()
                return try forEachRow(numbered: numbers, query, body)
            }
            guard try body({ () throws(KeychainError) in try columns.row(rows) }) else { return }
        }
    }

    /// Calls `body` with each row, read by itself: a row that SQLite cannot read or reach is reported as damaged.
    private func forEachRow(
        numbered numbers: [Int64], _ query: Query,
        _ body: (() throws(KeychainError) -> ItemRow) throws(KeychainError) -> Bool
    ) throws(KeychainError) {
        let columns = query.itemClass.columns
        let (sql, values) = columns.select(query, isNumbered: true)
        for number in numbers {
            let row = try KeychainError.mapping { () throws(SQLiteError) in
                try database.prepare(sql, values + [.integer(number)])
            }
            let matches: Bool
            do throws(SQLiteError) {
                matches = try row.step()
            } catch {
                guard error.code.primary == .corrupt else { throw KeychainError(error) }
                let damage = KeychainError(
                    .decode, "\(query.itemClass.anyNoun) is damaged beyond reading", remedy: "restore it from a backup")
                guard try body({ () throws(KeychainError) in throw damage }) else { return }
                continue
            }
            guard matches else { continue }
            guard try body({ () throws(KeychainError) in try columns.row(row) }) else { return }
        }
    }

    /// The numbers of all rows, from the index of their ids alone.
    func rowNumbers(of itemClass: ItemClass) throws(KeychainError) -> [Int64] {
        try KeychainError.mapping { () throws(SQLiteError) in
            let rows = try database.prepare(itemClass.columns.selectNumbers)
            var numbers: [Int64] = []
            while try rows.step() { if let number = rows[0].integer { numbers.append(number) } }
            return numbers
        }
    }

    /// - Throws: `errSecDecode` for a row without an id.
    func row(numbered number: Int64, of itemClass: ItemClass) throws(KeychainError) -> ItemRow {
        let everything = try Query(itemClass, [.synchronizable: Query.anySynchronizable], limit: .all)
        let (sql, values) = itemClass.columns.select(everything, isNumbered: true)
        let rows = try KeychainError.mapping { () throws(SQLiteError) in
            let rows = try database.prepare(sql, values + [.integer(number)])
            guard try rows.step() else { throw SQLiteError(.corrupt, "a row of an index is not in its table") }
            return rows
        }
        return try itemClass.columns.row(rows)
    }
}
