/// The beginning of a keychain's file, which is an SQLite database (SQLite database file format, 1.3).
package enum KeychainFileHeader {
    /// The `application_id` of keychains and their backups: "TKKC".
    package static let applicationID: Int64 = 0x544B_4B43

    /// The bytes up to the end of the `application_id`.
    package static let length = 72

    /// Whether a file that begins with these bytes is a keychain or a backup, even a damaged one.
    package static func isKeychain(_ header: [UInt8]) -> Bool {
        guard header.count >= length, header.starts(with: Array("SQLite format 3\0".utf8)) else { return false }
        return header[68..<length].reduce(0) { $0 << 8 | Int64($1) } == applicationID
    }
}
