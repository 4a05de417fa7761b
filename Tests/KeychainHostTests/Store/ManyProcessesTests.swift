import Foundation
import KeychainStore
import TestSupport
import Testing
import TokenKit

@testable import KeychainHost
@testable import KeychainModel

@Suite struct ManyProcessesTests {
    @Test func severalProcessesWriteAtOnceAndLoseNothing() throws {
        let test = try TestKeychain()
        let (processes, rows) = (4, 50)
        let writers = try (0..<processes).map {
            try WriterProcess(["write", test.path, "p\($0)", "\(rows)"])
        }
        var reported: [String] = []
        for writer in writers {
            let lines = writer.remainingLines()
            #expect(writer.exitStatus == 0, "\(lines.last ?? "")")
            reported += lines.filter { $0 != "ready" }
        }
        #expect(reported.count == processes * rows)
        let items = try test.passwords([.service: "writer"])
        #expect(Set(items.compactMap { $0[.account]?.string }) == Set(reported))
        #expect(items.count == reported.count)
        for item in items {
            #expect(try test.secretText(item) == "secret of \(item[.account]?.string ?? "")")
        }
    }

    @Test func twoProcessesAddingTheSameItemMakeOne() throws {
        let test = try TestKeychain()
        let writers = try (0..<3).map { _ in try WriterProcess(["write", test.path, "same", "1"]) }
        let outcomes = writers.map { ($0.remainingLines(), $0.exitStatus) }
        #expect(outcomes.count { $0.1 == 0 } == 1)
        #expect(outcomes.count { $0.0.last?.contains("errSecDuplicateItem") == true } == 2)
        #expect(try test.passwords().count == 1)
    }

    /// SIGKILL at a random one of 200 writes, in 15 rounds on one file.
    @Test func aKilledWriterLosesNothingItReported() throws {
        let test = try TestKeychain()
        var generator = SystemRandomNumberGenerator()
        var reported: Set<String> = []
        for round in 0..<15 {
            let writer = try WriterProcess(["write", test.path, "r\(round)", "200"])
            var lines: [String] = []
            let stop = Int.random(in: 0..<200, using: &generator)
            while lines.count <= stop, let line = writer.nextLine() { lines.append(line) }
            // The kill comes a little after a reported write, to hit the next one in the middle.
            usleep(UInt32.random(in: 0..<1500, using: &generator))
            writer.kill()
            lines += writer.remainingLines()
            reported.formUnion(lines.filter { $0 != "ready" })

            let keychain = try test.reopened()
            try keychain.unlock(password: .of("correct"))
            let result = try keychain.items(matching: Query(.genericPassword, limit: .all))
            #expect(result.missing.isEmpty)
            let stored = Set(result.found.compactMap { $0[.account]?.string })
            #expect(reported.isSubset(of: stored), "round \(round), killed after line \(stop)")
            #expect(stored.count <= reported.count + round + 1, "at most one unreported write for each kill")
        }
        for item in try test.passwords() {
            #expect(try test.secretText(item) == "secret of \(item[.account]?.string ?? "")")
        }
        let check = try test.database().value("PRAGMA integrity_check")
        #expect(check == .text("ok"))
    }

    @Test func thePasswordChangesWhileOthersWrite() throws {
        let test = try TestKeychain()
        let writers = try (0..<2).map { try WriterProcess(["write", test.path, "p\($0)", "60"]) }
        for writer in writers { #expect(writer.nextLine() == "ready") }
        for number in 0..<10 {
            let (old, new) = (number == 0 ? "correct" : "new \(number - 1)", "new \(number)")
            try test.keychain.changePassword(from: .of(old), to: .of(new), cost: .negligible)
        }
        for writer in writers { #expect(writer.remainingLines().count == 60) }
        let keychain = try test.reopened()
        try keychain.unlock(password: .of("new 9"))
        let items = try keychain.items(matching: Query(.genericPassword, limit: .all)).found
        #expect(items.count == 120)
        for item in items { #expect(try keychain.secretText(item.reference) != nil) }
    }

    @Test func whatOneOpeningWritesAnotherSeesAtOnce() throws {
        let test = try TestKeychain()
        let other = try test.reopened()
        try other.unlock(password: .of("correct"))
        let item = try test.addPassword("a", secret: "1")
        #expect(try other.secretText(item.reference) == "1")
        try other.update(matching: Query(item.reference), to: ItemChanges([.label: "x"], secret: .of("2")))
        #expect(try test.secretText(item) == "2")
        #expect(try test.passwords().first?.label == "x")
        try test.keychain.delete(matching: Query(item.reference))
        #expect(throws: KeychainError(.itemNotFound)) { try other.secretText(item.reference) }
    }

    @Test func aKilledCreatorLeavesAWholeKeychainOrNone() throws {
        let folder = try TemporaryFolder()
        var generator = SystemRandomNumberGenerator()
        for round in 0..<40 {
            let path = folder.path("\(round)")
            let writer = try WriterProcess(["create", path])
            _ = writer.nextLine()
            usleep(UInt32.random(in: 0..<20_000, using: &generator))
            writer.kill()
            let isReported = writer.remainingLines() == ["created"]
            let exists = FileManager.default.fileExists(atPath: path)
            #expect(exists || !isReported)
            if exists { try LocalKeychain.open(path).unlock(password: .of("correct")) }
        }
    }

    @Test func ofSeveralCreatorsOfOneNameOneWins() throws {
        let folder = try TemporaryFolder()
        let writers = try (0..<4).map { _ in try WriterProcess(["create", folder.path("k")]) }
        let outcomes = writers.map { $0.remainingLines().last ?? "" }
        #expect(outcomes.count { $0 == "created" } == 1)
        #expect(outcomes.count { $0.contains("errSecDuplicateKeychain") } == 3)
        try LocalKeychain.open(folder.path("k")).unlock(password: .of("correct"))
        // The thread of the lock timer may be the last to close the file.
        let deadline = ContinuousClock.now + .seconds(60)
        while FileManager.default.fileExists(atPath: folder.path("k-wal")), ContinuousClock.now < deadline {
            usleep(1000)
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["k"])
    }

    @Test func aWrongPasswordOnStandardInputIsRefused() throws {
        let test = try TestKeychain()
        let writer = try WriterProcess(["write", test.path, "x", "1"], password: "wrong")
        #expect(writer.remainingLines().last?.contains("errSecAuthFailed") == true)
        #expect(writer.exitStatus == 1)
    }
}
