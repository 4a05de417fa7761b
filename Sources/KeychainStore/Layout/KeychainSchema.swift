internal import KeychainModel
internal import Localization
internal import SecureBytes
internal import SystemCrypto

/// The tables and indexes that a keychain file consists of. A file with anything more, less or other was not written by this
/// program: a trigger would undo changes, a view or another index would hide items.
enum KeychainSchema {
    /// SHA-256 of the schema of each layout from ``Migrations/oldestReadableVersion`` on.
    static let digests: [Int64: String] = [
        7: "FA532DECBEE51E7708000CFFB33749836A330FE22539FB2279C121354AEBA7E9",
        8: "5CBB5FBD13FBCA0FF0C6436224363F5EF63600906B7B6E017A47E30D7CFF4B4D",
        9: "5CBB5FBD13FBCA0FF0C6436224363F5EF63600906B7B6E017A47E30D7CFF4B4D",
        10: "DC404E1BBA25E8288A051F7CFAD8FD071801D1443BC882F18F7B4A0F72BEF572",
        11: "DC404E1BBA25E8288A051F7CFAD8FD071801D1443BC882F18F7B4A0F72BEF572",
        12: "9A7967A09671A5EE479EDD41BF50ACE2C91DC34F0C58AF40EBC5FBF510CB2D70",
    ]

    private struct Object: Hashable {
        /// The columns `type`, `name`, `tbl_name` and `sql` of `sqlite_schema`.
        let columns: [String]

        var name: String { columns[1] }
        /// The object's type, from a fixed list: text from the file is not passed on.
        var noun: String {
            ["table", "index", "trigger", "view"].first { $0 == columns[0] } ?? "object"
        }
    }

    /// - Throws: `errSecInvalidKeychain` unless the schema of the file is that of its layout.
    static func check(_ database: borrowing Database) throws(KeychainError) {
        let found = try objects(in: database)
        let layout = try Migrations.checkedVersion(of: database)
        guard try digest(of: found) != digests[layout] else { return }
        // Another release of SQLite may word its changes to a table differently.
        let expected = Set(try objects(ofLayout: layout))
        guard let difference = difference(of: found, from: expected) else { return }
        throw KeychainError(
            .invalidKeychain, "the keychain file was changed by another program: \(difference)",
            remedy: "restore it from a backup")
    }

    /// The digest of the schema of a layout as this release of SQLite writes it.
    static func digest(ofLayout layout: Int64) throws(KeychainError) -> String {
        try digest(of: objects(ofLayout: layout))
    }

    private static func difference(of found: [Object], from expected: Set<Object>) -> String? {
        if let foreign = found.first(where: { !expected.contains($0) }) {
            let isKnown = expected.contains { $0.name == foreign.name }
            return isKnown
                ? "its \(foreign.noun) '\(foreign.name)' has another definition"
                : "it has \(foreign.noun == "trigger" || foreign.noun == "view" ? "a" : "another") \(foreign.noun)"
        }
        let missing = expected.subtracting(found).min { $0.name < $1.name }
        return missing.map { "its \($0.noun) '\($0.name)' is missing" }
    }

    private static func objects(ofLayout layout: Int64) throws(KeychainError) -> [Object] {
        let database = try KeychainError.mapping { () throws(SQLiteError) in
            try Database(path: ":memory:", access: .readWrite, busyTimeout: 0)
        }
        try database.makeKeychain(layout: layout)
        return try objects(in: database)
    }

    private static func objects(in database: borrowing Database) throws(KeychainError) -> [Object] {
        try KeychainError.mapping { () throws(SQLiteError) in
            let rows = try database.prepare("SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name")
            var objects: [Object] = []
            while try rows.step() { objects.append(Object(columns: (0..<4).map { rows[$0].text ?? "" })) }
            return objects
        }
    }

    /// Each text is preceded by its length, so that no two schemas have the same bytes.
    private static func digest(of objects: [Object]) throws(KeychainError) -> String {
        var bytes: [UInt8] = []
        for text in objects.flatMap(\.columns) {
            let length = UInt32(clamping: text.utf8.count)
            for shift in stride(from: 24, through: 0, by: -8) {
                bytes.append(UInt8(truncatingIfNeeded: length >> shift))
            }
            bytes += text.utf8
        }
        return try KeychainError.mapping { () throws(CryptoError) in
            Hex.encode(try Digest.hash(bytes, using: .sha256))
        }
    }
}
