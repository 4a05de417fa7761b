import Foundation
import Platform
import TestSupport
import Testing

@testable import KeychainHost
@testable import KeychainModel

/// Settings that are read again once they have changed.
@Suite struct KnownSettingsTests {
    private let user: TestUser
    private var path: String { user.directories.configuration + "/keychains.conf" }

    init() throws { user = try TestUser() }

    private func list() throws -> [String] { try user.preferences.searchList() }

    @Test func aChangeCountsAtOnce() throws {
        #expect(try list().isEmpty)
        for name in ["/a", "/b", "/c"] {
            try user.write("keychain = \(name)\n")
            #expect(try list() == [name] && list() == [name])
        }
        try FileManager.default.removeItem(atPath: path)
        #expect(try list().isEmpty)
    }

    @Test func aChangeOfASettledFileCountsAtOnce() async throws {
        try user.write("keychain = /a\n")
        _ = try user.create("new")
        try user.write("keychain = /a\n")
        try await Task.sleep(for: .seconds(4))
        #expect(try list() == ["/a"] && list() == ["/a"])
        // In its place, of the same length.
        let handle = try #require(FileHandle(forWritingAtPath: path))
        try handle.write(contentsOf: Data("keychain = /b\n".utf8))
        try handle.close()
        #expect(try list() == ["/b"])
        try await Task.sleep(for: .seconds(4))
        #expect(try list() == ["/b"] && list() == ["/b"])
        chmod(path, 0o666)
        #expect(throws: KeychainError(.noAccessForItem)) { try list() }
        chmod(path, 0o600)
        #expect(try list() == ["/b"])
        try FileManager.default.removeItem(atPath: path)
        let own = user.path("new")
        #expect(try list() == [own] && list() == [own])
        try FileManager.default.removeItem(atPath: own)
        #expect(try list().isEmpty)
    }
}
