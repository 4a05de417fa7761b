package import KeychainModel
internal import Localization

extension KeychainError {
    /// The keychain error of a failure of the store (keychain semantics 1.12).
    init(_ error: SQLiteError) {
        switch error.code {
        case .databaseMoved:
            self.init(.invalidKeychain, "the keychain file was moved or deleted", remedy: "open it again")
        case .uniqueConstraint: self.init(.duplicateItem)
        case _ where error.isOutOfSpace: self.init(.diskFull, remedy: "free some space and try again")
        default: self.init(primary: error)
        }
    }

    private init(primary error: SQLiteError) {
        switch error.code.primary {
        case .constraint: self.init(.param, "the store refused a value: \(error.message)")
        case .readOnly: self.init(.readOnly)
        case .io: self.init(.io, "reading or writing the keychain file failed: \(error.message)")
        case .permission, .authorization: self.init(.writePermission)
        case .noMemory: self.init(.allocate)
        case .tooBig: self.init(.dataTooLarge)
        case .cannotOpen:
            self.init(
                .notAvailable, "the keychain file cannot be opened: \(error.message)",
                remedy: "make sure that its folder can be written to")
        case .busy, .locked:
            self.init(.notAvailable, "another program holds the keychain file", remedy: "try again")
        case .corrupt:
            self.init(.invalidKeychain, "the keychain file is damaged", remedy: "restore it from a backup")
        case .notADatabase: self = .otherFile
        // The queries name only tables and columns of the layout: an SQL error means that the file has others.
        case .generic:
            self.init(
                .invalidKeychain,
                "the keychain file is damaged: its tables are not those of a keychain (\(error.message))",
                remedy: "restore it from a backup")
        default: self.init(.internal, "the store failed: \(error)")
        }
    }

    /// The error of a file that is no keychain.
    static let otherFile = KeychainError(.invalidKeychain, "the file is not a keychain")

    /// The error with the file's path, for callers that name many files.
    func naming(_ path: String) -> KeychainError {
        reason == Self.otherFile.reason ? KeychainError(code, "\(path) is not a keychain") : self
    }

    /// Runs calls of the store and converts their errors.
    package static func mapping<Result: ~Copyable>(
        _ body: () throws(SQLiteError) -> Result
    ) throws(KeychainError) -> Result {
        do {
            return try body()
        } catch {
            throw KeychainError(error)
        }
    }
}

extension Database {
    /// Runs `body` as one write, after waiting for other writers. All of it is stored, or nothing.
    ///
    /// - Parameter isDurable: false for a write that a power loss may undo until a durable write follows it. It costs
    ///   no flush of the disk, and with a log it cannot damage the file (PRAGMA synchronous).
    package func writing<Result>(
        isDurable: Bool = true, _ body: () throws(KeychainError) -> Result
    ) throws(KeychainError) -> Result {
        if !isDurable { try? execute("PRAGMA synchronous = NORMAL") }
        defer { if !isDurable { try? execute("PRAGMA synchronous = FULL") } }
        try KeychainError.mapping { () throws(SQLiteError) in try run("BEGIN IMMEDIATE") }
        do {
            let result = try body()
            try KeychainError.mapping { () throws(SQLiteError) in try run("COMMIT") }
            return result
        } catch {
            // Some failures end the transaction by themselves; a second end is then refused and means nothing.
            try? execute("ROLLBACK")
            throw error
        }
    }
}
