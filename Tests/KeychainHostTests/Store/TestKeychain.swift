import TestSupport
import TokenKit

@testable import KeychainHost

extension ScryptCost {
    /// As good as nothing, for tests of anything else.
    static let negligible = ScryptCost(n: 2, r: 1, p: 1)
}

extension Secret {
    /// A secret that is none.
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
        password: String = "correct", clock: @escaping @Sendable () -> Int64 = OpenKeychain.now,
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
        try keychain.items(matching: Query(.genericPassword, attributes, limit: limit)).items
    }

    func secretText(_ item: Item) throws -> String? {
        try keychain.secretText(item.reference)
    }

    /// Another opening of the same file, as a second process has it.
    func reopened() throws -> LocalKeychain { try LocalKeychain.open(path) }

    /// The file as anybody with SQLite can open it.
    func database() throws -> Database {
        try Database(path: path, access: .readWrite, busyTimeout: 1000)
    }

    /// Changes the file as somebody does who knows of the rows' checksums.
    func forge(_ sql: String, _ values: [SQLValue] = []) throws {
        let database = try database()
        if values.isEmpty { try database.execute(sql) } else { try database.run(sql, values) }
        for table in Migrations.checkedTables { try database.stampRows(of: table) }
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
