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

    /// A mapping in a process's memory, as /proc reports it.
    private struct Mapping {
        let range: Range<UInt64>
        let isReadable: Bool
        var flags: [Substring] = []
    }

    private func mappings(of process: Int32) throws -> [Mapping] {
        var mappings: [Mapping] = []
        // The file's size is reported as 0, so it is read to its end.
        let file = try #require(FileHandle(forReadingAtPath: "/proc/\(process)/smaps"))
        let text = String(decoding: try file.readToEnd() ?? Data(), as: UTF8.self)
        for line in text.split(separator: "\n") {
            let words = line.split(separator: " ")
            let ends = words[0].split(separator: "-").compactMap { UInt64($0, radix: 16) }
            if ends.count == 2 {
                mappings.append(Mapping(range: ends[0]..<ends[1], isReadable: words[1].hasPrefix("r")))
            } else if words[0] == "VmFlags:", !mappings.isEmpty {
                mappings[mappings.count - 1].flags = Array(words.dropFirst())
            }
        }
        return mappings
    }

    /// The mappings of a process that hold the key.
    private func places(in process: Int32) throws -> [Mapping] {
        let memory = open("/proc/\(process)/mem", O_RDONLY | O_CLOEXEC)
        try #require(memory >= 0)
        defer { close(memory) }
        return try mappings(of: process).filter { mapping in
            guard mapping.isReadable else { return false }
            var (offset, rest) = (mapping.range.lowerBound, [UInt8]())
            while offset < mapping.range.upperBound {
                var part = [UInt8](repeating: 0, count: min(1 << 20, Int(mapping.range.upperBound - offset)))
                let count = pread(memory, &part, part.count, off_t(truncatingIfNeeded: offset))
                guard count > 0 else { return false }
                let bytes = rest + part.prefix(count)
                if Data(bytes).range(of: Data(key)) != nil { return true }
                rest = Array(bytes.suffix(key.count - 1))
                offset += UInt64(count)
            }
            return false
        }
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
