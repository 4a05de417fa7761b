package import KeychainModel
internal import Glibc

/// The journal of a keychain's changes, each written in the change's own transaction, for every process that watches.
package enum ChangeJournal {
    /// The minimum number of entries that are kept. A reader that is further behind has missed the older ones.
    static let minimumCount: Int64 = 1000
    /// The number of entries above the minimum before old ones are deleted: deleting each by itself would cost every
    /// change another page.
    static let surplus: Int64 = 128

    /// One entry.
    package struct Entry: Sendable, Hashable {
        package let number: Int64
        package let kind: KeychainEvent.Kind
        package let item: PersistentReference?
        package let process: Int32
    }

    static func append(
        _ kind: KeychainEvent.Kind, _ item: PersistentReference?, to database: borrowing Database
    ) throws(SQLiteError) {
        try database.run(
            "INSERT INTO journal (kind, item, pid) VALUES (?, ?, ?)",
            [.integer(Int64(kind.rawValue)), SQLValue(item?.encoded()), .integer(Int64(getpid()))])
        let newest = database.lastInserted
        guard newest.isMultiple(of: surplus) else { return }
        // SQLite subtracts, which does not trap on a number that somebody else has written.
        try database.run("DELETE FROM journal WHERE id <= ? - ?", [.integer(newest), .integer(minimumCount)])
    }

    /// The number of the newest entry.
    static func end(of database: borrowing Database) throws(SQLiteError) -> Int64 {
        try database.value("SELECT max(id) FROM journal").integer ?? 0
    }

    /// The entries after one that is known, oldest first. Entries that no program of this kind can have written are left out.
    package static func entries(after number: Int64, in database: borrowing Database) throws(SQLiteError) -> [Entry] {
        let rows = try database.prepare(
            "SELECT id, kind, item, pid FROM journal WHERE id > ? ORDER BY id LIMIT \(minimumCount + surplus)",
            [.integer(number)]
        )
        var entries: [Entry] = []
        while try rows.step() {
            guard let number = rows[0].integer,
                let kind = rows[1].integer.flatMap(Int.init(exactly:)).flatMap(KeychainEvent.Kind.init(rawValue:)),
                let process = rows[3].integer.flatMap(Int32.init(exactly:))
            else { continue }
            let item = rows[2].blob.flatMap { try? PersistentReference(parsing: $0) }
            entries.append(Entry(number: number, kind: kind, item: item, process: process))
        }
        return entries
    }
}

extension KeychainConnection {
    /// Records that the keychain was locked or unlocked, unless it has to wait more than 200 ms for other writers.
    package func record(_ kind: KeychainEvent.Kind) {
        try? database.waiting(atMost: 200, instead: KeychainConnection.busyTimeout) { () throws(KeychainError) in
            try database.writing(isDurable: false) { () throws(KeychainError) in try note(kind) }
        }
    }

    /// The number of the journal's newest entry.
    package func journalEnd() throws(KeychainError) -> Int64 {
        try KeychainError.mapping { () throws(SQLiteError) in try ChangeJournal.end(of: database) }
    }

    /// Records an event in the current transaction.
    func note(_ kind: KeychainEvent.Kind, _ row: ItemRow? = nil) throws(KeychainError) {
        let item = row?.reference
        try KeychainError.mapping { () throws(SQLiteError) in try ChangeJournal.append(kind, item, to: database) }
    }
}
