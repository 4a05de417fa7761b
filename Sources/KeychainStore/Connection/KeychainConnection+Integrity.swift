internal import KeychainModel
internal import Localization
internal import Synchronization

/// The result of checking a file's pages, which is done at most once for each opening.
final class IntegrityCheck: Sendable {
    enum Finding: Sendable {
        case sound
        /// Indexes differed from their tables, and were made anew.
        case repaired
        case damaged(KeychainError)
    }

    private let finding = Mutex<Finding?>(nil)
    private let unaltered = Mutex<Set<ItemClass>>([])

    /// The altered rows of a class. Once `look` has found none, it is not called again.
    func alteredRows(_ itemClass: ItemClass, _ look: () -> [SQLValue]) -> [SQLValue] {
        unaltered.withLock { known in
            if known.contains(itemClass) { return [] }
            let found = look()
            if found.isEmpty { known.insert(itemClass) }
            return found
        }
    }

    /// - Returns: nil if an earlier check has found the file sound, or repaired it.
    func once(_ look: () -> Finding) -> Finding? {
        finding.withLock { known in
            switch known {
            case .sound, .repaired: return nil
            case .damaged: return known
            case nil:
                let found = look()
                // The check found another program at the file, and is repeated at the next use.
                if case .damaged(let error) = found, error.code == .notAvailable { return found }
                known = found
                return found
            }
        }
    }
}

// SQLite has no checksums: an index that differs from its table by a flipped bit silently hides items from searches,
// and lets duplicates in.
extension KeychainConnection {
    /// Checks the file where an answer may lack items, so that damage is reported.
    ///
    /// - Returns: nil if an earlier check has found the file sound, or repaired it.
    func checkIntegrity() -> IntegrityCheck.Finding? {
        integrity.once {
            do throws(KeychainError) {
                if try isSound() { return .sound }
                try repairIndexes()
                return try isSound() ? .repaired : .damaged(Self.damaged)
            } catch {
                return .damaged(error)
            }
        }
    }

    /// Checks the indexes before a write, so that a damaged one lets no duplicate in.
    ///
    /// - Throws: `errSecInvalidKeychain` for a file whose indexes cannot be made anew; a damaged row is not an error.
    func checkIndexes() throws(KeychainError) {
        if case .damaged = checkIntegrity() { try repairIndexes() }
    }

    private func isSound() throws(KeychainError) -> Bool {
        try KeychainError.mapping { () throws(SQLiteError) in
            try database.value("PRAGMA integrity_check(1)") == .text("ok")
        }
    }

    private func repairIndexes() throws(KeychainError) {
        do throws(KeychainError) {
            try database.writing { () throws(KeychainError) in
                try KeychainError.mapping { () throws(SQLiteError) in try database.run("REINDEX") }
            }
        } catch {
            switch error.code {
            // A unique index over two duplicate items cannot be built.
            case .duplicateItem: throw Self.damaged
            case .readOnly:
                throw KeychainError(
                    .invalidKeychain, "an index of the keychain file is damaged, and the file can only be read",
                    remedy: "make it writable, or restore it from a backup")
            default: throw error
            }
        }
    }

    /// The error of a repaired file: its indexes were made anew, but the table itself may have been damaged.
    static var repaired: KeychainError {
        KeychainError(
            .invalidKeychain, "the keychain file was damaged, and its indexes have been made anew",
            remedy: "see whether anything is missing or altered; a backup has it as it was")
    }

    private static var damaged: KeychainError {
        KeychainError(.invalidKeychain, "the keychain file is damaged", remedy: "restore it from a backup")
    }
}
