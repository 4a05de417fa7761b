import Glibc
import Platform
import SecureBytes
import TestSupport

@testable import KeychainHost
@testable import KeychainModel
@testable import KeychainStore

extension ScryptCost {
    /// An almost free cost, for tests of anything else.
    static let negligible = ScryptCost(n: 2, r: 1, p: 1)
}

extension Secret {
    /// A `Secret` of a text that is not secret.
    static func of(_ text: String) -> Secret {
        var bytes = Array(text.utf8)
        return Secret(consuming: &bytes)
    }

    var copiedBytes: [UInt8] {
        let span = bytes
        return span.indices.map { span[$0] }
    }
}

/// A keychain in a folder of its own, with the password "correct".
struct TestKeychain {
    let folder: TemporaryFolder
    let keychain: LocalKeychain

    init(
        password: String = "correct", clock: @escaping @Sendable () -> Int64 = ConnectionEnvironment.now,
        uptime: @escaping @Sendable () -> Uptime = Uptime.now,
        isSessionLocked: @escaping @Sendable () -> Bool = { false }
    ) throws {
        folder = try TemporaryFolder()
        let path = folder.path("test.keychain")
        _ = try LocalKeychain.create(at: path, password: .of(password), cost: .negligible)
        keychain = try LocalKeychain.open(
            path, clock: clock, uptime: uptime, isSessionLocked: isSessionLocked)
        try keychain.unlock(password: .of(password))
    }

    var path: String { keychain.path }

    @discardableResult
    func addPassword(
        _ account: String = "anna", service: String = "mail", secret: String? = "s3cret", _ more: Attributes = [:]
    ) throws -> Item {
        let attributes: Attributes = [.account: .string(account), .service: .string(service)]
        return try keychain.add(
            .genericPassword(attributes.merging(more) { $1 }, secret: secret.map { Array($0.utf8) }.asSecret))
    }

    func passwords(_ attributes: Attributes = [:], limit: Query.Limit = .all) throws -> [Item] {
        try keychain.items(matching: Query(.genericPassword, attributes, limit: limit)).found
    }

    func secretText(_ item: Item) throws -> String? {
        try keychain.secretText(item.reference)
    }

    /// Another opening of the same file, as a second process has it.
    func reopened() throws -> LocalKeychain { try LocalKeychain.open(path) }

    /// The file as any program with SQLite can open it.
    func database() throws -> Database {
        try Database(path: path, access: .readWrite, busyTimeout: 1000)
    }

    /// Changes the file as an attacker does, who sets the rows' checksums.
    func forge(_ sql: String, _ values: [SQLValue] = []) throws {
        let database = try database()
        if values.isEmpty { try database.execute(sql) } else { try database.run(sql, values) }
        for table in Migrations.checkedTables { try database.stampRows(of: table) }
    }

    /// Gives the file the layout before one of the migrations, with all content that fits into it.
    func downgrade(to version: Int) throws {
        let database = try database()
        for (layout, sql) in Self.stepsBack where layout >= version {
            let isAltered = try layout >= 6 && database.hasAlteredRow("keychain")
            try database.execute(sql)
            if layout >= 6, !isAltered { try database.stampRows(of: "keychain") }
        }
        try database.execute("PRAGMA user_version = \(version)")
    }

    /// A file as a program of an older layout made it, with all content that fits into it.
    func copy(inLayout layout: Int64) throws -> String {
        let path = folder.path("layout \(layout)")
        close(open(path, O_CREAT | O_WRONLY, 0o600))
        let database = try Database(path: path, access: .readWrite, busyTimeout: 1000)
        try database.makeKeychain(layout: layout)
        try database.run("ATTACH ? AS present", [.text(self.path)])
        for table in ["keychain", "settings", "card_binding"] + ItemClass.stored.map(\.rawValue) {
            let columns = try database.value(
                """
                SELECT group_concat('"' || old.name || '"') FROM pragma_table_info('\(table)', 'main') AS old
                    JOIN pragma_table_info('\(table)', 'present') AS new USING (name)
                """)
            guard let columns = columns.text else { continue }
            try database.execute("INSERT INTO main.\(table) (\(columns)) SELECT \(columns) FROM present.\(table)")
        }
        if layout == 6 { try database.stampRows(of: "keychain") }
        return path
    }

    /// SQL that undoes the migrations, the last first.
    private static let stepsBack = [
        (11, "DROP TABLE program;"), (9, "DROP TABLE access;"),
        (7, "ALTER TABLE card_binding DROP COLUMN proof;"),
        (
            6,
            """
            ALTER TABLE keychain ADD COLUMN lock_on_sleep INTEGER NOT NULL DEFAULT 0;
            ALTER TABLE keychain ADD COLUMN lock_interval INTEGER;
            UPDATE keychain SET (lock_on_sleep, lock_interval) = (SELECT lock_on_sleep, lock_interval FROM settings);
            DROP TABLE settings;
            """
        ),
        (
            5,
            """
            ALTER TABLE keychain DROP COLUMN row_check; ALTER TABLE card_binding DROP COLUMN row_check;
            ALTER TABLE genp DROP COLUMN row_check; ALTER TABLE inet DROP COLUMN row_check;
            ALTER TABLE cert DROP COLUMN row_check; ALTER TABLE keys DROP COLUMN row_check;
            """
        ),
        (4, "ALTER TABLE keychain DROP COLUMN identity;"),
        (
            3,
            """
            DROP TABLE journal; ALTER TABLE keychain DROP COLUMN has_password;
            ALTER TABLE keychain DROP COLUMN lock_on_sleep; ALTER TABLE keychain DROP COLUMN lock_interval;
            """
        ),
        (2, "DROP TABLE card_binding;"),
        (
            1,
            """
            DROP TABLE inet; DROP INDEX keys_atag; DROP INDEX genp_svce;
            CREATE INDEX genp_svce ON genp (ifnull(CAST(svce AS BLOB), x''));
            ALTER TABLE genp DROP COLUMN accc; ALTER TABLE cert DROP COLUMN accc; ALTER TABLE keys DROP COLUMN accc;
            """
        ),
    ]
}

extension KeychainConnection {
    /// A connection in the environment of this process, with another clock.
    init(_ file: KeychainFile, clock: @escaping @Sendable () -> Int64) throws(KeychainError) {
        try self.init(
            file,
            in: ConnectionEnvironment(clock: clock, isSessionLocked: { false }))
    }
}

extension LocalKeychain {
    func secretText(_ reference: PersistentReference) throws(KeychainError) -> String? {
        guard let secret = try secret(of: reference) else { return nil }
        return String(decoding: secret.copiedBytes, as: UTF8.self)
    }
}

extension Optional where Wrapped == [UInt8] {
    var asSecret: Secret? {
        guard var bytes = self else { return nil }
        return Secret(consuming: &bytes)
    }
}

extension LocalKeychain {
    /// Adds an item, with another cost of one guess at its application password.
    @discardableResult
    func add(
        _ item: NewItem, authentication: AuthenticationContext, cost: ScryptCost
    ) throws(KeychainError) -> Item {
        try addPrepared(prepared(item, authentication: authentication, cost: cost))
    }
}

extension KeychainConnection {
    @discardableResult
    func add(_ item: NewItem) throws(KeychainError) -> Item {
        let added = try carryOut([.add(item)]) { results in results.first?.added }
        guard let added else { throw KeychainError(.internal) }
        return added
    }
}
