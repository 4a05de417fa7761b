import Foundation

/// A folder that goes away with the last reference to it.
public final class TemporaryFolder: Sendable {
    /// The folder's URL.
    public let url: URL

    /// Makes a folder that only this user can enter.
    public init() throws {
        url = FileManager.default.temporaryDirectory.appending(path: "tokenkit-\(UUID().uuidString)")
        try FileManager.default.createDirectory(
            at: url, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    }

    deinit {
        try? FileManager.default.removeItem(at: url)
    }

    /// The folder's path.
    public var path: String { url.path(percentEncoded: false) }

    /// The path of a file in the folder.
    public func path(_ name: String) -> String { url.appending(path: name).path(percentEncoded: false) }

    /// Writes a file.
    @discardableResult public func write(_ name: String, _ text: String) throws -> String {
        try write(name, Array(text.utf8))
    }

    /// Writes a file.
    @discardableResult public func write(_ name: String, _ bytes: [UInt8]) throws -> String {
        try Data(bytes).write(to: url.appending(path: name))
        return path(name)
    }

    /// Writes a shell script that can be run.
    ///
    /// Another process writes it: a program that another thread starts at that moment would inherit the open file, which could
    /// not be run for as long (execve(2), `ETXTBSY`).
    public func writeProgram(_ name: String, _ body: String) throws {
        let result = try Program.run(
            ["sh", "-c", "umask 077 && cat >\"$0\" && chmod 700 \"$0\"", path(name)],
            input: Array("#!/bin/sh\n\(body)\n".utf8))
        guard result.status == 0 else { throw CocoaError(.fileWriteUnknown) }
    }

    /// The content of a file.
    public func read(_ name: String) throws -> [UInt8] { Array(try Data(contentsOf: url.appending(path: name))) }
}
