import CSQLite
import Glibc
import KeychainHost
import KeychainModel
import Localization
import SecureBytes
import SystemCrypto

/// Times of searches in keychains of growing size, beside a prepared SELECT on the same file.
///
/// Nine items of ten are passwords; the rest are certificates and private keys in pairs, and so identities.
struct SearchBenchmark {
    let folder: String
    let sizes = [100, 10_000, 100_000]

    /// One kind of search, by a keychain and in SQL.
    struct Search {
        let name: String
        /// Whether an index leads to the answer, so that size hardly matters.
        let isExact: Bool
        let rounds: (Int) -> Int
        let run: (LocalKeychain, Int) throws -> Int
        let sql: String
        let value: (Int) -> [String]
    }

    struct Measurement {
        let search: String
        let isExact: Bool
        let size: Int
        let microseconds: Double
        let plain: Double
    }

    func run() throws {
        var measurements: [Measurement] = []
        print("\nlocal keychain, search                items    keychain       SELECT   ratio")
        for size in sizes {
            let path = "\(folder)/search-\(size).keychain"
            try populate(path, size: size)
            let keychain = try LocalKeychain.open(path)
            let plain = try PlainReader(path: path)
            for search in Self.searches {
                let measured = try measure(search, keychain, plain, size: size)
                measurements.append(measured)
                Self.show(measured)
            }
        }
        let plot = "\(folder)/search.svg"
        try Plot(measurements: measurements, sizes: sizes).write(to: plot)
        print("plot: \(plot)")
    }

    // MARK: - Searches

    private static var searches: [Search] {
        [
            Search(
                name: "by account and service", isExact: true, rounds: { _ in 400 },
                run: { keychain, number in
                    let attributes: Attributes = [
                        .account: .string("account \(number)"), .service: .string("service \(number % 97)"),
                    ]
                    return try keychain.items(matching: Query(.genericPassword, attributes)).found.count
                },
                sql: """
                    SELECT * FROM genp WHERE ifnull(CAST(acct AS BLOB), x'') = CAST(? AS BLOB)
                    AND ifnull(CAST(svce AS BLOB), x'') = CAST(? AS BLOB) LIMIT 1
                    """,
                value: { ["account \($0)", "service \($0 % 97)"] }),
            Search(
                name: "by label", isExact: true, rounds: { _ in 400 },
                run: { keychain, number in
                    let attributes: Attributes = [.label: .string("label \(number)")]
                    return try keychain.items(matching: Query(.genericPassword, attributes)).found.count
                },
                sql: "SELECT * FROM genp WHERE CAST(labl AS BLOB) = CAST(? AS BLOB) LIMIT 1", value: { ["label \($0)"] }
            ),
            Search(
                name: "by subject-contains", isExact: false, rounds: { $0 > 10_000 ? 5 : 40 },
                run: { keychain, _ in
                    let query = try Query(.certificate, filters: [.subject(.contains, "bench")], limit: .all)
                    return try keychain.items(matching: query).found.count
                },
                sql: "SELECT * FROM cert WHERE instr(labl, ?) > 0", value: { _ in ["bench"] }),
            Search(
                name: "all identities", isExact: false, rounds: { $0 > 10_000 ? 5 : 40 },
                run: { keychain, _ in
                    try SearchList(locals: [keychain]).identities(matching: Query(.identity, limit: .all)).found.count
                },
                sql:
                    "SELECT * FROM cert JOIN keys ON ifnull(CAST(klbl AS BLOB), x'') = CAST(pkhh AS BLOB) WHERE kcls = 1",
                value: { _ in [] }),
        ]
    }

    private func measure(
        _ search: Search, _ keychain: LocalKeychain, _ plain: PlainReader, size: Int
    ) throws -> Measurement {
        let (rounds, passwords) = (search.rounds(size), size / 10 * 9)
        var generator = SystemRandomNumberGenerator()
        var (ours, theirs): ([Double], [Double]) = ([], [])
        for _ in 0..<rounds {
            let number = Int.random(in: 0..<passwords, using: &generator)
            var (found, counted) = (0, 0)
            // By turns, so that other load on the machine affects both alike.
            ours.append(try Self.microseconds { found = try search.run(keychain, number) })
            theirs.append(try Self.microseconds { counted = try plain.count(search.sql, search.value(number)) })
            guard found == counted, found > 0 else {
                throw KeychainError(.internal, "\(search.name): \(found) items, and \(counted) rows")
            }
        }
        return Measurement(
            search: search.name, isExact: search.isExact, size: size, microseconds: Self.median(ours),
            plain: Self.median(theirs))
    }

    private static func microseconds(_ body: () throws -> Void) rethrows -> Double {
        let duration = try ContinuousClock().measure(body)
        return Double(duration.components.seconds) * 1e6 + Double(duration.components.attoseconds) / 1e12
    }

    private static func median(_ values: [Double]) -> Double { values.sorted()[values.count / 2] }

    private static func show(_ measured: Measurement) {
        func padded(_ text: String, _ width: Int) -> String {
            String(repeating: " ", count: max(0, width - text.count)) + text
        }
        func time(_ value: Double) -> String { "\((value * 10).rounded() / 10) us" }
        let name = measured.search + String(repeating: " ", count: max(0, 34 - measured.search.count))
        let ratio = "\((measured.microseconds / measured.plain * 100).rounded() / 100)"
        print(
            name + padded("\(measured.size)", 9) + padded(time(measured.microseconds), 13)
                + padded(time(measured.plain), 13) + padded(ratio, 8))
    }

    // MARK: - Keychains

    /// Makes a keychain of `size` items: one of each kind is added, the others are copies under other names.
    private func populate(_ path: String, size: Int) throws {
        unlink(path)
        var password = Array("benchmark".utf8)
        let keychain = try LocalKeychain.create(
            at: path, password: Secret(consuming: &password), cost: .negligible)
        let key = try PrivateKey.generate(.ecP256)
        let certificate = try CertificateBuilder(
            commonName: "bench", publicKey: key.publicKey, notBefore: 0, notAfter: 2_000_000_000
        ).selfSigned(by: key)
        var bytes = [UInt8](repeating: 0x61, count: 16)
        try keychain.add(
            .genericPassword(
                [.account: "account", .service: "service", .label: "label"], secret: Secret(consuming: &bytes)))
        try keychain.add(.certificate(certificate))
        try keychain.add(.privateKey(key))
        let writer = try PlainReader(path: path, writes: true)
        try writer.multiply(
            "genp", times: size / 10 * 9,
            [
                "acct": "'account ' || n", "svce": "'service ' || (n % 97)", "labl": "'label ' || n",
            ])
        // The copies' secrets do not open, since each is sealed to its item.
        bytes = Array("found".utf8)
        try keychain.add(
            .genericPassword([.account: "needle", .service: "haystack"], secret: Secret(consuming: &bytes)))
        let pairs = size / 20
        // A locked keychain takes a public key only under its own hash.
        try writer.makePublicKeys(pairs)
        func made(_ column: String) -> String { "(SELECT \(column) FROM made WHERE made.n = numbers.n)" }
        try writer.multiply("cert", times: pairs, ["slnr": "CAST(numbers.n AS BLOB)", "pkhh": made("hash")])
        try writer.multiply("keys", times: pairs, ["der": made("der"), "klbl": made("hash")])
        try writer.forgetChecksums()
    }
}

/// A keychain's file as SQLite alone sees it.
final class PlainReader {
    private var database: OpaquePointer?
    private var statements: [String: OpaquePointer] = [:]

    init(path: String, writes: Bool = false) throws {
        let flags = writes ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY
        guard sqlite3_open_v2(path, &database, flags, nil) == SQLITE_OK else {
            throw KeychainError(.io, "\(path) cannot be opened")
        }
    }

    deinit {
        for statement in statements.values { sqlite3_finalize(statement) }
        sqlite3_close(database)
    }

    /// The rows of a statement that is prepared once, every column of them read.
    func count(_ sql: String, _ values: [String]) throws -> Int {
        let statement = try prepared(sql)
        sqlite3_reset(statement)
        for (index, value) in values.enumerated() {
            _ = value.withCString { csqlite_bind_text(statement, Int32(index + 1), $0, UInt64(value.utf8.count)) }
        }
        var rows = 0
        while sqlite3_step(statement) == SQLITE_ROW {
            for column in 0..<sqlite3_column_count(statement) { _ = sqlite3_column_blob(statement, column) }
            rows += 1
        }
        return rows
    }

    /// Copies the only row of a table. Some columns are expressions of the copy's number `n`.
    func multiply(_ table: String, times: Int, _ expressions: [String: String]) throws {
        let statement = try prepared("SELECT name FROM pragma_table_info('\(table)')")
        var columns: [String] = []
        while sqlite3_step(statement) == SQLITE_ROW {
            columns.append(String(cString: sqlite3_column_text(statement, 0)))
        }
        let kept = columns.filter { $0 != "id" }
        let values = kept.map { expressions[$0] ?? ($0 == "uuid" ? "randomblob(16)" : "\"\($0)\"") }
        try execute(
            """
            INSERT INTO \(table) (\(kept.map { "\"\($0)\"" }.joined(separator: ", ")))
            WITH RECURSIVE numbers(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM numbers WHERE n < \(times - 1))
            SELECT \(values.joined(separator: ", ")) FROM numbers, (SELECT * FROM \(table) LIMIT 1);
            DELETE FROM \(table) WHERE id = (SELECT min(id) FROM \(table))
            """)
    }

    /// A table of public keys and their hashes, for as long as the connection lasts.
    func makePublicKeys(_ count: Int) throws {
        try execute("CREATE TEMP TABLE made (n INTEGER PRIMARY KEY, der BLOB, hash BLOB)")
        for number in 0..<count {
            let key = try PrivateKey.generate(.ecP256).publicKey
            try execute(
                "INSERT INTO made VALUES (\(number), x'\(Hex.encode(key.spki))', x'\(Hex.encode(key.keyHash))')")
        }
    }

    /// Gives the file the layout without checksums, so that the copies get theirs when it is opened.
    func forgetChecksums() throws {
        try execute(
            """
            ALTER TABLE keychain ADD COLUMN lock_on_sleep INTEGER NOT NULL DEFAULT 0;
            ALTER TABLE keychain ADD COLUMN lock_interval INTEGER; DROP TABLE settings;
            ALTER TABLE card_binding DROP COLUMN proof
            """)
        for table in ["keychain", "card_binding", "genp", "inet", "cert", "keys"] {
            try execute("ALTER TABLE \(table) DROP COLUMN row_check")
        }
        try execute("PRAGMA user_version = 5")
    }

    private func prepared(_ sql: String) throws -> OpaquePointer {
        if let statement = statements[sql] { return statement }
        var statement: OpaquePointer?
        guard sqlite3_prepare_v2(database, sql, -1, &statement, nil) == SQLITE_OK, let statement else {
            throw KeychainError(.io, "\(sql): \(String(cString: sqlite3_errmsg(database)))")
        }
        statements[sql] = statement
        return statement
    }

    private func execute(_ sql: String) throws {
        guard sqlite3_exec(database, sql, nil, nil, nil) == SQLITE_OK else {
            throw KeychainError(.io, "\(sql): \(String(cString: sqlite3_errmsg(database)))")
        }
    }
}
