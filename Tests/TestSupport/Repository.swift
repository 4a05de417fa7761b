import Glibc

/// The files of this repository, for tests of their text.
public enum Repository {
    private static var root: String {
        #filePath.split(separator: "/").dropLast(3).map { "/" + $0 }.joined()
    }

    /// The text of a file.
    public static func text(_ path: String) throws -> String {
        guard let file = unsafe fopen(root + "/" + path, "re") else { throw Missing(path: path) }
        defer { unsafe fclose(file) }
        var bytes: [UInt8] = []
        while case let byte = unsafe getc(file), byte != EOF { bytes.append(UInt8(truncatingIfNeeded: byte)) }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Replaces the text of a file.
    public static func write(_ text: String, to path: String) throws {
        guard let file = unsafe fopen(root + "/" + path, "we") else { throw Missing(path: path) }
        defer { unsafe fclose(file) }
        guard unsafe fputs(text, file) >= 0 else { throw Missing(path: path) }
    }

    struct Missing: Error {
        let path: String
    }
}
