package import KeychainModel
internal import SecureBytes
internal import SystemCrypto

/// A decision that holds for ever: whether a program may use an item.
package struct StoredDecision: Sendable, Hashable {
    /// The item, the use and the program, of which there is one decision at most.
    package struct Subject: Sendable, Hashable {
        /// The item: by ``PersistentReference/hexText``, or one that is not in the keychain by a text that is no such number.
        package let item: String
        /// The number of the use; 0 for all.
        package let use: Int64
        /// The program, in bytes that only the host understands.
        package let program: [UInt8]

        package init(item: String, use: Int64, program: [UInt8]) {
            (self.item, self.use, self.program) = (item, use, program)
        }
    }

    package let subject: Subject
    package let isAllowed: Bool
    /// The name of the program, for people.
    package let name: String
    /// The name of an item that is not in the keychain, for people; nil for one that is.
    package let itemName: String?

    /// Bytes of a name that are kept.
    private static let maximumName = 4096

    package init(_ subject: Subject, isAllowed: Bool, name: String, itemName: String? = nil) {
        (self.subject, self.isAllowed, self.name, self.itemName) = (subject, isAllowed, name, itemName)
    }

    /// - Parameter content: of a row's seal.
    /// - Returns: nil for a kind that this program does not know.
    fileprivate init?(_ subject: Subject, content: [UInt8]) {
        let names = content.dropFirst().split(separator: 0, maxSplits: 1, omittingEmptySubsequences: false)
            .map { String(decoding: $0, as: UTF8.self) }
        let name = names.first ?? ""
        switch content.first {
        // The rows of layout 10.
        case nil, 1: self.init(subject, isAllowed: true, name: name)
        case 2: self.init(subject, isAllowed: false, name: name)
        case 3 where names.count == 2: self.init(subject, isAllowed: true, name: name, itemName: names[1])
        case 4 where names.count == 2: self.init(subject, isAllowed: false, name: name, itemName: names[1])
        default: return nil
        }
    }

    fileprivate var content: [UInt8] {
        // A path has no zero byte.
        let name = name.utf8.prefix(Self.maximumName)
        guard let itemName else { return [isAllowed ? 1 : 2] + name }
        return [isAllowed ? 3 : 4] + name + [0] + itemName.utf8.prefix(Self.maximumName)
    }
}

// The rows of the table `access`. Each has a seal under the keychain's key, so that a row that somebody else has written or moved decides
// nothing. A row that was deleted or replaced by a holder of the key can be put back by whoever can write to the file.
extension KeychainConnection {
    /// The number of decisions that a keychain keeps: the newest.
    static let maximumDecisions = 10_000

    /// Whether a program may use an item, as a holder of the key has noted; nil without a decision, and while the keychain is locked.
    package func decision(on subject: StoredDecision.Subject) throws(KeychainError) -> Bool? {
        guard key != nil, try hasDecisions else { return nil }
        let seal = try KeychainError.mapping { () throws(SQLiteError) in
            let row = try database.prepare(
                "SELECT seal FROM access WHERE item = ? AND use = ? AND program = ?", AccessTable.values(of: subject))
            return try row.step() ? row[0].blob : nil
        }
        return seal.flatMap { opened(subject, $0)?.isAllowed }
    }

    /// The decisions that a holder of the key has noted, the oldest first; none while the keychain is locked.
    package func decisions() throws(KeychainError) -> [StoredDecision] {
        guard key != nil, try hasDecisions else { return [] }
        let rows = try KeychainError.mapping { () throws(SQLiteError) in
            let statement = try database.prepare("SELECT item, use, program, seal FROM access ORDER BY id")
            var rows: [(subject: StoredDecision.Subject, seal: [UInt8])] = []
            while try statement.step() {
                guard let item = statement[0].text, let use = statement[1].integer, let program = statement[2].blob,
                    let seal = statement[3].blob
                else { continue }
                rows.append((StoredDecision.Subject(item: item, use: use, program: program), seal))
            }
            return rows
        }
        return rows.compactMap { opened($0.subject, $0.seal) }
    }

    /// Notes decisions, and removes others. They may be lost where the machine loses its power.
    ///
    /// - Throws: `errSecInteractionNotAllowed` while the keychain is locked, `errSecReadOnly`.
    package func change(
        adding added: [StoredDecision], removing removed: [StoredDecision.Subject] = []
    ) throws(KeychainError) {
        try checkWritable()
        let seals = try seals(of: added)
        try database.writing(isDurable: false) { () throws(KeychainError) in
            try checkKeyIsCurrent()
            try KeychainError.mapping { () throws(SQLiteError) in
                for subject in removed {
                    try database.run(
                        "DELETE FROM access WHERE item = ? AND use = ? AND program = ?",
                        AccessTable.values(of: subject))
                }
                for (decision, seal) in zip(added, seals) {
                    try database.run(
                        "INSERT OR REPLACE INTO access (item, use, program, seal) VALUES (?, ?, ?, ?)",
                        AccessTable.values(of: decision.subject) + [.blob(seal)])
                }
                try removeOldest(after: added)
            }
        }
    }

    /// Puts decisions that allow programs an item in the place of all others about it, as a whole. Denials that a holder of the key has noted
    /// stay, and go before a decision about the same program and use. Rows without a valid seal go: their writer could mend them later.
    ///
    /// - Throws: `errSecInteractionNotAllowed` while the keychain is locked, `errSecReadOnly`.
    package func replaceAllowed(
        of item: String, with allowed: [StoredDecision]
    ) throws(KeychainError) {
        try checkWritable()
        let seals = try seals(of: allowed)
        try database.writing { () throws(KeychainError) in
            try checkKeyIsCurrent()
            let denied = try decisions().filter { $0.subject.item == item && !$0.isAllowed }
            let denialSeals = try self.seals(of: denied)
            try KeychainError.mapping { () throws(SQLiteError) in
                try database.run("DELETE FROM access WHERE item = ?", [.text(item)])
                for (decision, seal) in zip(denied + allowed, denialSeals + seals) {
                    try database.run(
                        "INSERT OR IGNORE INTO access (item, use, program, seal) VALUES (?, ?, ?, ?)",
                        AccessTable.values(of: decision.subject) + [.blob(seal)])
                }
                try removeOldest(after: denied + allowed)
            }
        }
    }

    private func seals(of decisions: [StoredDecision]) throws(KeychainError) -> [[UInt8]] {
        var seals: [[UInt8]] = []
        switch key {
        case .some(let key):
            for decision in decisions {
                let seal = try KeychainError.mapping { () throws(CryptoError) in
                    try SealedBox.seal(
                        decision.content.span, key: key, authenticating: data(of: decision.subject))
                }
                seals.append(seal)
            }
        case .none: throw Self.locked
        }
        return seals
    }

    /// Removes the decisions that are too many, once others were added.
    private func removeOldest(after added: [StoredDecision]) throws(SQLiteError) {
        guard !added.isEmpty else { return }
        // SQLite subtracts, which does not trap on a number that somebody else has written.
        try database.run(
            "DELETE FROM access WHERE id <= ? - ?",
            [.integer(database.lastInserted), .integer(Int64(Self.maximumDecisions))])
    }

    /// Whether the file has a table of decisions. A file that cannot be written keeps its older layout.
    private var hasDecisions: Bool {
        get throws(KeychainError) {
            try Migrations.checkedVersion(of: database) >= Migrations.firstVersionWithAccess
        }
    }

    private func opened(_ subject: StoredDecision.Subject, _ seal: [UInt8]) -> StoredDecision? {
        switch key {
        case .some(let key):
            guard let content = try? SealedBox.open(seal, key: key, authenticating: data(of: subject)).copied() else {
                return nil
            }
            return StoredDecision(subject, content: content)
        case .none: return nil
        }
    }

    private func data(of subject: StoredDecision.Subject) -> AssociatedData {
        var data = AssociatedData("tokenkit access 1", keychain: id)
        data.append(Array(subject.item.utf8))
        data.append(number: subject.use)
        data.append(subject.program)
        return data
    }
}

enum AccessTable {
    fileprivate static func values(of subject: StoredDecision.Subject) -> [SQLValue] {
        [.text(subject.item), .integer(subject.use), .blob(subject.program)]
    }

    /// Removes the decisions about an item, or all.
    static func remove(_ item: PersistentReference?, from database: borrowing Database) throws(SQLiteError) {
        if let item {
            try database.run("DELETE FROM access WHERE item = ?", [.text(item.hexText)])
        } else {
            try database.run("DELETE FROM access")
        }
    }
}
