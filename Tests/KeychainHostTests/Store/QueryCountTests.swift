import CSQLite
import KeychainModel
import Synchronization
import SystemCrypto
import TestSupport
import Testing

@testable import KeychainHost

/// Listing all items of a file takes one query per table, for any number of items.
@Suite struct QueryCountTests {
    /// The statements that SQLite has run on observed files, from SQLite's own trace.
    private final class Statements: Sendable {
        static let shared = Statements()
        private let byFile = Mutex<[String: [String]]>([:])

        /// Makes SQLite trace the statements of each database that is opened from now on.
        private init() {
            typealias Extension =
                @convention(c) (
                    OpaquePointer?, UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?, OpaquePointer?
                ) -> Int32
            let watch: Extension = { database, _, _ in
                sqlite3_trace_v2(
                    database, UInt32(SQLITE_TRACE_STMT),
                    { _, _, statement, _ in
                        guard let statement = OpaquePointer(statement), let text = sqlite3_sql(statement),
                            let file = sqlite3_db_filename(sqlite3_db_handle(statement), "main")
                        else { return 0 }
                        Statements.shared.note(String(cString: text), String(cString: file))
                        return 0
                    }, nil)
            }
            sqlite3_auto_extension(unsafeBitCast(watch, to: (@convention(c) () -> Void).self))
        }

        private func note(_ sql: String, _ file: String) { byFile.withLock { $0[file]?.append(sql) } }

        /// The queries on a file while `body` runs.
        func queries(of file: String, _ body: () throws -> Void) rethrows -> [String] {
            byFile.withLock { $0[file] = [] }
            try body()
            return byFile.withLock { $0.removeValue(forKey: file) ?? [] }.filter { $0.hasPrefix("SELECT") }
        }
    }

    private func addIdentities(_ count: Int, to test: TestKeychain) throws {
        for number in 0..<count {
            let key = try PrivateKey.generate(.ecP256)
            let builder = try CertificateBuilder(
                commonName: "certificate \(number)", publicKey: key.publicKey, notBefore: 1, notAfter: 4_000_000_000)
            try test.add(builder.selfSigned(by: key))
            try test.add(key)
            try test.addPassword("account \(number)")
        }
    }

    private func queries(_ count: Int, _ search: (SearchList) throws -> Int) throws -> [String] {
        _ = Statements.shared
        let test = try TestKeychain()
        try addIdentities(count, to: test)
        let list = SearchList(locals: [test.keychain])
        // The rows' checksums are checked once per opening of a file.
        _ = try search(list)
        return try Statements.shared.queries(of: test.path) {
            let found = try search(list)
            #expect(found == count)
        }
    }

    private func tables(_ queries: [String]) -> [String: Int] {
        let named = queries.compactMap { query in
            query.split(separator: " ").drop { $0 != "FROM" }.dropFirst().first.map(String.init)
        }
        return Dictionary(named.map { ($0, 1) }, uniquingKeysWith: +)
    }

    @Test(arguments: [1, 7]) func aListingOfAClassIsOneQuery(_ count: Int) throws {
        for itemClass in [ItemClass.certificate, .key, .genericPassword] {
            let queries = try queries(count) { try $0.items(matching: Query(itemClass, limit: .all)).found.count }
            #expect(tables(queries) == [itemClass.rawValue: 1], "\(queries)")
        }
    }

    @Test(arguments: [1, 7]) func aListingOfIdentitiesIsOneQueryATable(_ count: Int) throws {
        let queries = try queries(count) { try $0.identities(matching: Query(.identity, limit: .all)).found.count }
        #expect(tables(queries) == ["cert": 1, "keys": 1], "\(queries)")
    }
}
