import Foundation
import TestSupport
import Testing
import TokenKit

@testable import KeychainHost

@Suite struct FileTokenMemoryTests {
    private let folder: TemporaryFolder
    private let memory: FileTokenMemory
    private let token = TokenID(driver: "piv", instance: "7b13d0e6")

    init() throws {
        folder = try TemporaryFolder()
        memory = FileTokenMemory(directory: folder.path("cache/tokens"))
    }

    private var directory: String { folder.path("cache/tokens") }
    private var files: [String] { (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? [] }
    private var file: String { "\(directory)/\(files.first ?? "")" }

    private func mode(_ path: String) throws -> Int {
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        return try #require(attributes[.posixPermissions] as? Int)
    }

    private func change(mode: Int, of path: String) throws {
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
    }

    @Test func whatIsRememberedIsRecalled() {
        #expect(memory.recall(token) == nil)
        memory.remember([1, 2, 3], for: token)
        #expect(memory.recall(token) == [1, 2, 3])
        #expect(FileTokenMemory(directory: directory).recall(token) == [1, 2, 3])
        memory.remember([4], for: token)
        #expect(memory.recall(token) == [4])
        #expect(memory.recall(TokenID(driver: "piv", instance: "another")) == nil)
        #expect(files.count == 1)
    }

    @Test func nobodyElseCanRead() throws {
        memory.remember([1], for: token)
        #expect(try mode(directory) == 0o700)
        #expect(try mode(folder.path("cache")) == 0o700)
        #expect(try mode(file) == 0o600)
    }

    @Test(arguments: ["../../escape", "a/b", "", String(repeating: "x", count: 5000), "\u{0}\n"])
    func noNameLeavesTheFolder(instance: String) {
        let strange = TokenID(driver: "piv", instance: instance)
        memory.remember([7], for: strange)
        #expect(memory.recall(strange) == [7])
        #expect(files.count == 1)
        #expect(files.allSatisfy { $0.count == 64 })
    }

    @Test func longNamesAreToldApart() {
        let ids = ["a", "b"].map { TokenID(driver: "piv", instance: String(repeating: "x", count: 300) + $0) }
        for (number, id) in ids.enumerated() { memory.remember([UInt8(number)], for: id) }
        #expect(ids.map(memory.recall) == [[0], [1]])
    }

    @Test func sizesHaveALimit() throws {
        memory.remember([UInt8](repeating: 9, count: 4096), for: token)
        #expect(memory.recall(token)?.count == 4096)
        memory.remember([UInt8](repeating: 1, count: 4097), for: token)
        #expect(memory.recall(token)?.first == 9)
        try Data(count: 4097).write(to: URL(fileURLWithPath: file))
        #expect(memory.recall(token) == nil)
        try Data().write(to: URL(fileURLWithPath: file))
        #expect(memory.recall(token) == nil)
    }

    @Test func aLinkIsNotFollowed() throws {
        memory.remember([1], for: token)
        let target = try folder.write("elsewhere", [5])
        try change(mode: 0o600, of: target)
        let path = file
        try FileManager.default.removeItem(atPath: path)
        try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: target)
        #expect(memory.recall(token) == nil)
        memory.remember([2], for: token)
        #expect(memory.recall(token) == [2])
        #expect(try folder.read("elsewhere") == [5])
    }

    @Test(arguments: [0o620, 0o602]) func aFileThatOthersCanWriteIsNotBelieved(mode: Int) throws {
        memory.remember([1], for: token)
        try change(mode: mode, of: file)
        #expect(memory.recall(token) == nil)
    }

    @Test(arguments: [0o770, 0o777]) func aFolderThatOthersCanWriteIsNotUsed(mode: Int) throws {
        memory.remember([1], for: token)
        try change(mode: mode, of: directory)
        #expect(memory.recall(token) == nil)
        memory.remember([2], for: TokenID(driver: "piv", instance: "another"))
        #expect(files.count == 1)
    }

    @Test func aPipeInItsPlaceKeepsNobodyWaiting() throws {
        memory.remember([1], for: token)
        let path = file
        try FileManager.default.removeItem(atPath: path)
        #expect(mkfifo(path, 0o600) == 0)
        #expect(memory.recall(token) == nil)
    }

    @Test func aFolderThatCannotBeMadeIsNoFailure() throws {
        let path = try folder.write("file", [1])
        let memory = FileTokenMemory(directory: path + "/tokens")
        memory.remember([1], for: token)
        #expect(memory.recall(token) == nil)
    }

    @Test func manyWritersLeaveOneWholeFile() async throws {
        await withTaskGroup(of: Void.self) { group in
            for number in UInt8(0)..<16 {
                group.addTask {
                    memory.remember([UInt8](repeating: number, count: 1000), for: token)
                }
            }
        }
        let bytes = try #require(memory.recall(token))
        #expect(bytes.count == 1000)
        #expect(Set(bytes).count == 1)
        #expect(files.count == 1)
    }
}
