import Foundation
import TestSupport
import Testing
import TokenKit

@testable import KeychainHost
@testable import KeychainStore

/// Looks for the key of a keychain in the memory of a process that has used it, and in every file.
@Suite struct KeyInMemoryTests {
    private let test: TestKeychain
    private let key: [UInt8]

    init() throws {
        test = try TestKeychain()
        for number in 0..<20 { try test.addPassword("\(number)", secret: "a secret of some length, number \(number)") }
        key = try WrappedKey(readingFrom: test.database()).unwrap(password: .of("correct"), of: "test").copiedBytes
        test.keychain.lock()
    }

    private func places(in process: Int32) throws -> [OtherProcessMemory.Mapping] {
        try OtherProcessMemory.mappings(of: process, with: key)
    }

    private func files() throws -> [Data] {
        try FileManager.default.contentsOfDirectory(atPath: test.folder.path).map {
            try Data(contentsOf: URL(filePath: test.folder.path($0)))
        }
    }

    @Test func theKeyIsInMemoryOnceWhileUnlockedInPagesThatAreNotDumped() throws {
        let process = try WriterProcess(["hold", test.path, "keep"])
        defer { process.kill() }
        #expect(process.nextLine() == "unlocked")
        let places = try places(in: process.identifier)
        #expect(places.count == 1)
        #expect(places.allSatisfy { $0.flags.contains("dd") }, "a crash would write the key to a core file")
    }

    @Test func afterLockingTheKeyIsNotInMemory() throws {
        let process = try WriterProcess(["hold", test.path, "lock"])
        defer { process.kill() }
        #expect(process.nextLine() == "locked")
        #expect(try places(in: process.identifier).isEmpty)
    }

    @Test func afterACrashTheKeyIsInNoFile() throws {
        let process = try WriterProcess(["hold", test.path, "keep"])
        #expect(process.nextLine() == "unlocked")
        process.kill()
        _ = process.remainingLines()
        let files = try files()
        #expect(!files.isEmpty)
        #expect(files.allSatisfy { $0.range(of: Data(key)) == nil })
    }
}
