/// A sum over the values of a row, kept in its column `row_check`, that shows whether the row is as it was written.
///
/// SQLite has no checksums, and a text with a flipped bit is still a text. A change within one group of eight bytes of
/// one column always shows, since every step below is invertible; any other change passes once in 2^64 times. A
/// deliberate change can adapt the sum as well; seals protect against that.
struct RowChecksum: Hashable, Sendable {
    /// The part of a column in the sum: a column without a value adds nothing, so that a layout may gain columns, and
    /// their order does not count.
    struct Column: Sendable {
        fileprivate let seed: UInt64

        init(_ name: String) {
            var state: UInt64 = 0
            for byte in name.utf8 { state.mix(UInt64(byte)) }
            seed = state
        }
    }

    /// The name of the column that holds the sum.
    static let column = "row_check"

    private var sum: UInt64 = 0

    /// The stored form.
    var value: SQLValue { .integer(Int64(bitPattern: sum)) }

    mutating func add(_ number: Int64, of column: Column) {
        var state = column.seed
        state.mix(1)
        state.mix(UInt64(bitPattern: number))
        sum &+= state
    }

    mutating func add(text: RawSpan, of column: Column) { add(2, text, column) }

    mutating func add(blob: RawSpan, of column: Column) { add(3, blob, column) }

    mutating func add(_ value: SQLValue, of column: Column) {
        switch value {
        case .null, .foreign: break
        case .integer(let number): add(number, of: column)
        case .text(let text): add(text: unsafe Array(text.utf8).span.bytes, of: column)
        case .blob(let bytes): add(blob: unsafe bytes.span.bytes, of: column)
        }
    }

    private mutating func add(_ kind: UInt64, _ bytes: RawSpan, _ column: Column) {
        var state = column.seed
        state.mix(kind | UInt64(bytes.byteCount) << 8)
        var offset = 0
        while offset + 8 <= bytes.byteCount {
            state.mix(unsafe bytes.unsafeLoadUnaligned(fromUncheckedByteOffset: offset, as: UInt64.self))
            offset += 8
        }
        var rest: UInt64 = 0
        while offset < bytes.byteCount {
            rest = rest << 8 | UInt64(unsafe bytes.unsafeLoad(fromUncheckedByteOffset: offset, as: UInt8.self))
            offset += 1
        }
        state.mix(rest)
        sum &+= state
    }
}

extension UInt64 {
    /// Mixes in a word: different words make different states, and different states stay different.
    fileprivate mutating func mix(_ word: UInt64) {
        self = (self ^ word.littleEndian) &* 0x9E37_79B9_7F4A_7C15
        self ^= self >> 32
    }
}

// For tables that are seldom read: the sum is over the columns that the table has, except the number of the row.
extension Database {
    /// Whether a row of a table is not as it was written.
    func hasAlteredRow(_ table: String) throws(SQLiteError) -> Bool { try !alteredRows(of: table, limit: 1).isEmpty }

    /// The numbers of the rows of a table that are not as they were written.
    func alteredRows(of table: String, limit: Int = .max) throws(SQLiteError) -> [SQLValue] {
        var numbers: [SQLValue] = []
        let rows = try prepare("SELECT * FROM \(table)")
        var columns: [CheckedColumn]?
        while numbers.count < limit, try rows.step() {
            // Only after the first step, which notices that the table has got other columns.
            let known = columns ?? rows.checkedColumns
            columns = known
            let found = rows.checksum(known)
            if found.stored != found.sum.value { numbers.append(found.row) }
        }
        return numbers
    }

    /// Writes the sums of a table's rows, or of those that fulfil `condition`, where they differ, in the current transaction.
    func stampRows(
        of table: String, where condition: String = "1", _ values: [SQLValue] = []
    ) throws(SQLiteError) {
        var sums: [(row: SQLValue, sum: SQLValue)] = []
        do {
            let rows = try prepare("SELECT * FROM \(table) WHERE \(condition)", values)
            var columns: [CheckedColumn]?
            while try rows.step() {
                let known = columns ?? rows.checkedColumns
                columns = known
                let found = rows.checksum(known)
                if found.stored != found.sum.value { sums.append((found.row, found.sum.value)) }
            }
        }
        for (row, sum) in sums {
            try run("UPDATE \(table) SET \(RowChecksum.column) = ? WHERE id = ?", [sum, row])
        }
    }
}

/// The meaning of a statement's columns for a checksum.
private enum CheckedColumn {
    case rowNumber, sum
    case value(RowChecksum.Column)
}

extension Statement {
    fileprivate var checkedColumns: [CheckedColumn] {
        (0..<columnCount).map { column in
            switch name(of: column) {
            case "id": .rowNumber
            case RowChecksum.column: .sum
            case let name: .value(RowChecksum.Column(name))
            }
        }
    }

    fileprivate func checksum(
        _ columns: [CheckedColumn]
    ) -> (row: SQLValue, sum: RowChecksum, stored: SQLValue) {
        var result = (row: SQLValue.null, sum: RowChecksum(), stored: SQLValue.null)
        for (index, column) in columns.enumerated() {
            let index = Int32(truncatingIfNeeded: index)
            switch column {
            case .rowNumber: result.row = self[index]
            case .sum: result.stored = self[index]
            case .value(let part): add(index, as: part, to: &result.sum)
            }
        }
        return result
    }
}
