internal import KeychainModel
internal import Localization

/// The steps that lead from an empty file to the present layout; a step that was ever released is never edited.
///
/// There is one table for each class, with one column for each attribute, named by its code. Text and data attributes
/// are of type `ANY`, because a value is returned as the kind in which it was stored; searches and the uniqueness of
/// keychain semantics 1.3 compare the bytes, and count an absent value as empty or 0. ``ItemColumns`` must write its
/// expressions as the indexes do.
package enum Migrations {
    /// The version of the layout that this program writes, in `PRAGMA user_version`.
    static var currentVersion: Int64 { Int64(steps.count) }

    /// The oldest layout that is read unchanged where the file cannot be written: later layouts only add to it.
    static let oldestReadableVersion: Int64 = 7

    /// The first layout in which rows have checksums.
    private static let firstVersionWithChecksums: Int64 = 6

    /// The first layout in which the settings are a table of their own.
    private static let firstVersionWithSettings: Int64 = 7

    /// The first layout in which a binding to a card has a key that proves the card.
    static let firstVersionWithProof: Int64 = 8

    /// The first layout in which decisions about programs are kept.
    static let firstVersionWithAccess: Int64 = 10

    static let steps = [
        """
        CREATE TABLE keychain (
            id INTEGER PRIMARY KEY CHECK (id = 1),
            uuid BLOB NOT NULL,
            scrypt_n INTEGER NOT NULL,
            scrypt_r INTEGER NOT NULL,
            scrypt_p INTEGER NOT NULL,
            salt BLOB NOT NULL,
            wrapped_key BLOB NOT NULL,
            key_check BLOB NOT NULL
        ) STRICT;

        CREATE TABLE genp (
            id INTEGER PRIMARY KEY, uuid BLOB NOT NULL UNIQUE,
            cdat INTEGER NOT NULL, mdat INTEGER NOT NULL, labl ANY, agrp ANY NOT NULL, pdmn ANY NOT NULL,
            sync INTEGER NOT NULL, alis ANY,
            acct ANY, svce ANY, "desc" ANY, icmt ANY, crtr INTEGER, type INTEGER, scrp INTEGER, invi INTEGER,
            nega INTEGER, cusi INTEGER, prot ANY, gena ANY,
            der BLOB, sealed BLOB
        ) STRICT;
        CREATE UNIQUE INDEX genp_unique ON genp (
            ifnull(CAST(acct AS BLOB), x''), ifnull(CAST(svce AS BLOB), x''), ifnull(CAST(agrp AS BLOB), x''),
            ifnull(sync, 0));
        CREATE INDEX genp_svce ON genp (ifnull(CAST(svce AS BLOB), x''));
        CREATE INDEX genp_labl ON genp (CAST(labl AS BLOB));

        CREATE TABLE cert (
            id INTEGER PRIMARY KEY, uuid BLOB NOT NULL UNIQUE,
            cdat INTEGER NOT NULL, mdat INTEGER NOT NULL, labl ANY, agrp ANY NOT NULL, pdmn ANY NOT NULL,
            sync INTEGER NOT NULL, alis ANY,
            ctyp INTEGER, issr ANY, slnr ANY, cenc INTEGER, subj ANY, skid ANY, pkhh ANY,
            der BLOB NOT NULL, sealed BLOB
        ) STRICT;
        CREATE UNIQUE INDEX cert_unique ON cert (
            ifnull(ctyp, 0), ifnull(CAST(issr AS BLOB), x''), ifnull(CAST(slnr AS BLOB), x''),
            ifnull(CAST(agrp AS BLOB), x''), ifnull(sync, 0));
        CREATE INDEX cert_pkhh ON cert (CAST(pkhh AS BLOB));
        CREATE INDEX cert_subj ON cert (CAST(subj AS BLOB));
        CREATE INDEX cert_labl ON cert (CAST(labl AS BLOB));

        CREATE TABLE keys (
            id INTEGER PRIMARY KEY, uuid BLOB NOT NULL UNIQUE,
            cdat INTEGER NOT NULL, mdat INTEGER NOT NULL, labl ANY, agrp ANY NOT NULL, pdmn ANY NOT NULL,
            sync INTEGER NOT NULL, alis ANY,
            kcls INTEGER, klbl ANY, atag ANY, crtr INTEGER, type INTEGER, bsiz INTEGER, esiz INTEGER, sdat INTEGER,
            edat INTEGER, perm INTEGER, priv INTEGER, modi INTEGER, sens INTEGER, asen INTEGER, extr INTEGER,
            "next" INTEGER, encr INTEGER, decr INTEGER, drve INTEGER, sign INTEGER, vrfy INTEGER, snrc INTEGER,
            vyrc INTEGER, wrap INTEGER, unwp INTEGER,
            der BLOB, sealed BLOB
        ) STRICT;
        CREATE UNIQUE INDEX keys_unique ON keys (
            ifnull(kcls, 0), ifnull(CAST(klbl AS BLOB), x''), ifnull(CAST(atag AS BLOB), x''), ifnull(crtr, 0),
            ifnull(type, 0), ifnull(bsiz, 0), ifnull(esiz, 0), ifnull(sdat, 0), ifnull(edat, 0),
            ifnull(CAST(agrp AS BLOB), x''), ifnull(sync, 0));
        CREATE INDEX keys_klbl ON keys (ifnull(CAST(klbl AS BLOB), x''));
        CREATE INDEX keys_labl ON keys (CAST(labl AS BLOB));
        """,
        """
        ALTER TABLE genp ADD COLUMN accc BLOB;
        ALTER TABLE cert ADD COLUMN accc BLOB;
        ALTER TABLE keys ADD COLUMN accc BLOB;

        CREATE TABLE inet (
            id INTEGER PRIMARY KEY, uuid BLOB NOT NULL UNIQUE,
            cdat INTEGER NOT NULL, mdat INTEGER NOT NULL, labl ANY, agrp ANY NOT NULL, pdmn ANY NOT NULL,
            sync INTEGER NOT NULL, alis ANY, accc BLOB,
            acct ANY, sdmn ANY, srvr ANY, ptcl ANY, atyp ANY, port INTEGER, path ANY,
            "desc" ANY, icmt ANY, crtr INTEGER, type INTEGER, scrp INTEGER, invi INTEGER, nega INTEGER, cusi INTEGER,
            prot ANY,
            der BLOB, sealed BLOB
        ) STRICT;
        CREATE UNIQUE INDEX inet_unique ON inet (
            ifnull(CAST(acct AS BLOB), x''), ifnull(CAST(srvr AS BLOB), x''), ifnull(CAST(sdmn AS BLOB), x''),
            ifnull(CAST(ptcl AS BLOB), x''), ifnull(CAST(atyp AS BLOB), x''), ifnull(port, 0),
            ifnull(CAST(path AS BLOB), x''), ifnull(CAST(agrp AS BLOB), x''), ifnull(sync, 0));
        CREATE INDEX inet_srvr ON inet (ifnull(CAST(srvr AS BLOB), x''), ifnull(CAST(acct AS BLOB), x''));
        CREATE INDEX inet_labl ON inet (CAST(labl AS BLOB));
        -- SQLite prefers the shorter index, so that one has to lead all the way: a service may have any number of accounts.
        DROP INDEX genp_svce;
        CREATE INDEX genp_svce ON genp (ifnull(CAST(svce AS BLOB), x''), ifnull(CAST(acct AS BLOB), x''));
        CREATE INDEX keys_atag ON keys (ifnull(CAST(atag AS BLOB), x''));
        """,
        """
        CREATE TABLE card_binding (
            id INTEGER PRIMARY KEY, token TEXT NOT NULL UNIQUE,
            reference BLOB NOT NULL, label TEXT NOT NULL, public_key BLOB NOT NULL, algorithm TEXT NOT NULL,
            exchange BLOB NOT NULL, salt BLOB NOT NULL, wrapped_key BLOB NOT NULL
        ) STRICT;
        """,
        """
        ALTER TABLE keychain ADD COLUMN has_password INTEGER NOT NULL DEFAULT 1;
        ALTER TABLE keychain ADD COLUMN lock_on_sleep INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE keychain ADD COLUMN lock_interval INTEGER;

        CREATE TABLE journal (id INTEGER PRIMARY KEY, kind INTEGER NOT NULL, item BLOB, pid INTEGER NOT NULL) STRICT;
        """,
        """
        -- What tells a restored keychain from its original, whose uuid it has: the secrets of both are sealed with that.
        ALTER TABLE keychain ADD COLUMN identity BLOB;
        """,
        """
        ALTER TABLE keychain ADD COLUMN row_check INTEGER;
        ALTER TABLE card_binding ADD COLUMN row_check INTEGER;
        ALTER TABLE genp ADD COLUMN row_check INTEGER;
        ALTER TABLE inet ADD COLUMN row_check INTEGER;
        ALTER TABLE cert ADD COLUMN row_check INTEGER;
        ALTER TABLE keys ADD COLUMN row_check INTEGER;
        """,
        """
        CREATE TABLE settings (
            id INTEGER PRIMARY KEY CHECK (id = 1),
            lock_on_sleep INTEGER NOT NULL, lock_interval INTEGER,
            row_check INTEGER
        ) STRICT;
        -- What is damaged has to fit as well: its row gets no sum.
        INSERT INTO settings (id, lock_on_sleep, lock_interval) SELECT id,
            CASE typeof(lock_on_sleep) WHEN 'integer' THEN lock_on_sleep ELSE 1 END,
            CASE typeof(lock_interval) WHEN 'integer' THEN lock_interval END FROM keychain;
        ALTER TABLE keychain DROP COLUMN lock_on_sleep;
        ALTER TABLE keychain DROP COLUMN lock_interval;
        """,
        """
        -- The key by which the card is known before its PIN is asked for; without one in bindings of older layouts.
        ALTER TABLE card_binding ADD COLUMN proof BLOB;
        """,
        """
        -- Certificates and public keys get seals, and all rows those of another version, once the keychain is unlocked.
        """,
        """
        -- The programs that may use an item, each row under a seal. The newest ones are kept.
        CREATE TABLE access (
            id INTEGER PRIMARY KEY, item TEXT NOT NULL, use INTEGER NOT NULL, program BLOB NOT NULL,
            seal BLOB NOT NULL, UNIQUE (item, use, program)
        ) STRICT;
        """,
        """
        -- The seals of decisions say whether a program may use the item. Programs of the layout before would take a denial for the contrary.
        """,
        """
        -- The first version of this package that reads the layout, which older ones name in their refusal. Each later step sets it.
        \(programTable);
        INSERT INTO program VALUES (1, '0.2.0');
        """,
    ]

    private static let programTable =
        "CREATE TABLE program (id INTEGER PRIMARY KEY CHECK (id = 1), version TEXT NOT NULL) STRICT"

    /// The tables whose rows have a checksum.
    static let checkedTables = ["keychain", "settings", "card_binding"] + ItemClass.stored.map(\.rawValue)

    /// Brings the file to the present layout, whichever process gets there first.
    ///
    /// - Throws: `errSecWrongSecVersion` for a layout from the future, `errSecInvalidKeychain` for another kind of file.
    static func apply(to database: borrowing Database) throws(KeychainError) {
        let version = try checkedVersion(of: database)
        guard version < currentVersion else { return }
        guard !database.isReadOnly else {
            guard version < oldestReadableVersion else { return }
            throw KeychainError(
                .wrongSecVersion, "the keychain has an older layout", remedy: "make its file writable and open it again"
            )
        }
        try database.writing { () throws(KeychainError) in
            let version = try checkedVersion(of: database)
            // Another process may have been first.
            guard version < currentVersion else { return }
            try KeychainError.mapping { () throws(SQLiteError) in
                let unstamped = try tablesToStamp(in: database, from: version)
                for step in steps.dropFirst(Int(truncatingIfNeeded: version)) { try database.execute(step) }
                for table in unstamped { try database.stampRows(of: table) }
                try database.execute("PRAGMA user_version = \(currentVersion)")
            }
        }
    }

    /// The tables whose checksums are computed anew by the steps from a layout on, since columns with values are
    /// removed from them or added. A damaged row keeps a checksum that does not fit.
    private static func tablesToStamp(
        in database: borrowing Database, from version: Int64
    ) throws(SQLiteError) -> [String] {
        if version < firstVersionWithChecksums { return checkedTables }
        guard version < firstVersionWithSettings, try !database.hasAlteredRow("keychain") else { return [] }
        return ["keychain", "settings"]
    }

    /// The first version of this package that reads a layout from the future; nil where the file does not tell it in the form of this
    /// package: whatever else a file has may be an attacker's.
    private static func firstProgram(forLayoutOf database: borrowing Database) throws(SQLiteError) -> String? {
        let definition = try database.value("SELECT sql FROM sqlite_schema WHERE name = 'program'")
        guard definition.text == programTable else { return nil }
        let version = try database.value("SELECT version FROM program WHERE length(version) BETWEEN 1 AND 20").text
        let isSafe = version?.utf8.allSatisfy { $0 == UInt8(ascii: ".") || 0x30...0x39 ~= $0 } == true
        return isSafe ? version : nil
    }

    /// - Throws: as ``apply(to:)``.
    static func checkedVersion(of database: borrowing Database) throws(KeychainError) -> Int64 {
        let (application, version) = try KeychainError.mapping { () throws(SQLiteError) in
            (try database.value("PRAGMA application_id").integer, try database.value("PRAGMA user_version").integer)
        }
        guard application == KeychainFileHeader.applicationID, let version, version >= 0 else {
            throw KeychainError.otherFile
        }
        guard version <= currentVersion else {
            let program = (try? firstProgram(forLayoutOf: database)) ?? nil
            throw KeychainError(
                .wrongSecVersion,
                "the keychain has layout \(version), and this program knows none above \(currentVersion)",
                remedy: program.map { "install tokenkit \($0) or later" } ?? "install a newer version of this program")
        }
        return version
    }
}

extension Database {
    /// Gives an empty file a layout.
    func makeKeychain(layout: Int64 = Migrations.currentVersion) throws(KeychainError) {
        try writing { () throws(KeychainError) in
            try KeychainError.mapping { () throws(SQLiteError) in
                for step in Migrations.steps.prefix(Int(truncatingIfNeeded: layout)) { try execute(step) }
                try execute(
                    "PRAGMA application_id = \(KeychainFileHeader.applicationID); PRAGMA user_version = \(layout)")
            }
        }
    }
}
