internal import Glibc
package import KeychainModel
internal import Localization
package import SecureBytes

extension KeychainConnection {
    package func backUp(to file: KeychainFile) throws(KeychainError) -> BackupCount {
        var count: BackupCount?
        try file.create { path throws(KeychainError) in
            do throws(SQLiteError) {
                try database.run("VACUUM INTO ?", [.text(path)])
                count = try Self.finishBackup(path)
            } catch {
                guard error.code.primary == .corrupt else { throw KeychainError(error) }
                let unreadable = try copyWhatCanBeRead(to: path)
                count = try KeychainError.mapping { () throws(SQLiteError) in
                    try Self.finishBackup(path, unreadable: unreadable)
                }
            }
        }
        guard let count else { throw KeychainError(.internal) }
        return count
    }

    /// Removes from a copy everything that does not belong in a backup.
    private static func finishBackup(_ path: String, unreadable: Int = 0) throws(SQLiteError) -> BackupCount {
        let copy = try connect(path, access: .readWrite)
        let leftOut = try copy.removeWhatStaysOnTheDevice()
        let damaged = try copy.removeAlteredItems() + unreadable
        // `VACUUM` after the deletions, so that no page of the deleted rows is left.
        try copy.execute("DELETE FROM journal; VACUUM")
        return BackupCount(items: try copy.itemCount(), leftOut: leftOut, damaged: damaged)
    }

    /// Copies row by row, where SQLite gives up on the file as a whole.
    ///
    /// - Returns: how many items cannot be read.
    private func copyWhatCanBeRead(to path: String) throws(KeychainError) -> Int {
        guard unsafe truncate(path, 0) == 0 else { throw KeychainError(system: "\(path) cannot be written") }
        let copy = try KeychainError.mapping { () throws(SQLiteError) in try Self.connect(path, access: .readWrite) }
        try copy.makeKeychain()
        return try copy.writing { () throws(KeychainError) in
            try KeychainError.mapping { () throws(SQLiteError) in
                for table in ["keychain", "settings", "card_binding"] { try database.copyRows(of: table, to: copy) }
            }
            var unreadable = 0
            for itemClass in ItemClass.stored { unreadable += try copyItems(of: itemClass, to: copy) }
            return unreadable
        }
    }

    /// - Returns: how many cannot be copied.
    private func copyItems(of itemClass: ItemClass, to copy: borrowing Database) throws(KeychainError) -> Int {
        let everything = try Query(itemClass, [.synchronizable: Query.anySynchronizable], limit: .all)
        var (rows, unreadable): ([ItemRow], Int) = ([], 0)
        try forEachRow(everything, startingOver: { (rows, unreadable) = ([], 0) }) { row throws(KeychainError) in
            if let row = try? row(), !row.isAltered { rows.append(row) } else { unreadable += 1 }
            return true
        }
        for row in rows {
            let (sql, values) = itemClass.columns.insert(row)
            do throws(SQLiteError) { try copy.run(sql, values) } catch {
                // SQLite may read one row of a damaged file twice.
                guard error.code == .uniqueConstraint else { throw KeychainError(error) }
            }
        }
        return unreadable
    }

    /// The environment of a copy that no client reads from.
    private static let restoring = ConnectionEnvironment(isSessionLocked: { false })

    /// - Returns: the key.
    package static func restore(
        _ source: KeychainFile, to file: KeychainFile, password: borrowing Secret, beside others: [KeychainIdentifier]
    ) throws(KeychainError) -> Secret {
        var key: Secret?
        try file.create { path throws(KeychainError) in
            try copyRows(of: source, to: path)
            let copy = try KeychainConnection(KeychainFile(existing: path), in: restoring)
            let unwrapped = try WrappedKey(readingFrom: copy.database).unwrap(password: password, of: source.path)
            try copy.check(key: unwrapped)
            try copy.database.writing { () throws(KeychainError) in try copy.renewSeals(under: unwrapped) }
            if others.contains(copy.identifier) { try copy.becomeAnother(key: unwrapped) }
            try KeychainError.mapping { () throws(SQLiteError) in
                try copy.database.run("PRAGMA journal_mode = WAL")
            }
            key = consume unwrapped
        }
        guard let key = key.take() else { throw KeychainError(.internal) }
        return key
    }

    /// Copies the rows of a backup into an empty file with its own schema, so that no other content of the backup is
    /// taken over.
    ///
    /// - Throws: `errSecInvalidKeychain` for a backup whose schema is not that of its layout, or whose pages are damaged.
    private static func copyRows(of source: KeychainFile, to path: String) throws(KeychainError) {
        let access = try source.access
        let original = try KeychainError.mapping { () throws(SQLiteError) in
            try connect(source.path, access: access)
        }
        let copy = try KeychainError.mapping { () throws(SQLiteError) in try connect(path, access: .readWrite) }
        let layout = try Migrations.checkedVersion(of: original)
        try KeychainSchema.check(original)
        try copy.makeKeychain(layout: layout)
        try copy.writing { () throws(KeychainError) in
            do throws(SQLiteError) {
                // In one transaction, so that the check and the rows are of one moment even if another process writes.
                try original.run("BEGIN")
                guard try original.value("PRAGMA integrity_check(1)") == .text("ok") else {
                    throw SQLiteError(.corrupt, "its pages do not fit together")
                }
                for table in try copy.tablesWithContent { try original.copyRows(of: table, to: copy) }
            } catch {
                switch error.code.primary {
                case .corrupt, .constraint: throw damagedBackup(error.message)
                default: throw KeychainError(error)
                }
            }
        }
    }

    /// - Throws: `errSecInvalidKeychain` unless the key opens every secret.
    private func check(key: borrowing Secret) throws(KeychainError) {
        for itemClass in ItemClass.stored {
            try forEachStoredRow(of: itemClass) { row throws(KeychainError) in
                do throws(KeychainError) {
                    _ = try row.open(key: key, keychain: id)
                } catch {
                    throw Self.damagedBackup(error.reason)
                }
            }
        }
    }

    /// Gives the copy an identity of its own, and new references to its items.
    private func becomeAnother(key: borrowing Secret) throws(KeychainError) {
        try database.writing { () throws(KeychainError) in
            try KeychainError.mapping { () throws(SQLiteError) in
                try database.run("UPDATE keychain SET identity = ?", [.blob(UniqueID().bytes)])
                try database.stampRows(of: "keychain")
            }
            for itemClass in ItemClass.stored {
                var rows: [ItemRow] = []
                try forEachStoredRow(of: itemClass) { row throws(KeychainError) in rows.append(row) }
                for row in rows {
                    let other = try row.renamed(UniqueID(), key: key, keychain: id)
                    let (sql, values) = itemClass.columns.update(other, in: row.id)
                    try KeychainError.mapping { () throws(SQLiteError) in
                        try database.run(sql, values)
                    }
                }
            }
        }
    }

    /// The identity of a keychain or backup: a mark that tells a restored copy from its original, else the keychain's
    /// id.
    static func identity(
        in database: borrowing Database, of keychain: UniqueID
    ) throws(KeychainError) -> UniqueID {
        let value = try KeychainError.mapping { () throws(SQLiteError) in
            try database.value("SELECT identity FROM keychain WHERE id = 1")
        }
        return value.blob.flatMap { UniqueID(bytes: $0) } ?? keychain
    }

    private func forEachStoredRow(
        of itemClass: ItemClass, _ body: (ItemRow) throws(KeychainError) -> Void
    ) throws(KeychainError) {
        let columns = itemClass.columns
        let query = try Query(itemClass, [.synchronizable: Query.anySynchronizable], limit: .all)
        let (sql, values) = columns.select(query)
        let rows = try KeychainError.mapping { () throws(SQLiteError) in try database.prepare(sql, values) }
        while try KeychainError.mapping({ () throws(SQLiteError) in try rows.step() }) {
            try body(try columns.row(rows))
        }
    }

    private static func damagedBackup(_ why: String) -> KeychainError {
        KeychainError(.invalidKeychain, "the backup is damaged: \(why)", remedy: "use another backup")
    }
}

extension Database {
    /// The tables whose rows are copied: all but the journal, whose entries are about another file, and the row that each layout has.
    fileprivate var tablesWithContent: [String] {
        get throws(SQLiteError) {
            try texts("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT IN ('journal', 'program')")
        }
    }

    /// Copies the rows of a table by the columns that `copy` has, which may be of a later layout; other names in this file are
    /// not used.
    fileprivate func copyRows(of table: String, to copy: borrowing Database) throws(SQLiteError) {
        let present = Set(try texts("SELECT name FROM pragma_table_info('\(table)')"))
        let columns = try copy.texts("SELECT name FROM pragma_table_info('\(table)')").filter(present.contains)
            .map { "\"\($0)\"" }
        let names = columns.joined(separator: ", ")
        let places = Array(repeating: "?", count: columns.count).joined(separator: ", ")
        let rows = try prepare("SELECT \(names) FROM \(table) ORDER BY id")
        while try rows.step() {
            let values = columns.indices.map { rows[Int32(truncatingIfNeeded: $0)] }
            try copy.run("INSERT INTO \(table) (\(names)) VALUES (\(places))", values)
        }
    }

    private func texts(_ sql: String) throws(SQLiteError) -> [String] {
        let rows = try prepare(sql)
        var texts: [String] = []
        while try rows.step() { if let text = rows[0].text { texts.append(text) } }
        return texts
    }

    /// - Returns: the number of deleted items, which never leave their device.
    fileprivate func removeWhatStaysOnTheDevice() throws(SQLiteError) -> Int {
        var count: Int64 = 0
        let bound = Accessibility.thisDeviceOnly.compactMap { $0.bytes.map(SQLValue.blob) }
        let places = Array(repeating: "?", count: bound.count).joined(separator: ", ")
        for itemClass in ItemClass.stored {
            try run("DELETE FROM \(itemClass.rawValue) WHERE CAST(pdmn AS BLOB) IN (\(places))", bound)
            count += changes
        }
        return Int(clamping: count)
    }

    fileprivate func removeAlteredItems() throws(SQLiteError) -> Int {
        var count = 0
        for itemClass in ItemClass.stored {
            let altered = try alteredRows(of: itemClass.rawValue)
            for number in altered { try run("DELETE FROM \(itemClass.rawValue) WHERE id = ?", [number]) }
            count += altered.count
        }
        return count
    }

    fileprivate func itemCount() throws(SQLiteError) -> Int {
        var count: Int64 = 0
        for itemClass in ItemClass.stored {
            count += try value("SELECT count(*) FROM \(itemClass.rawValue)").integer ?? 0
        }
        return Int(clamping: count)
    }
}
