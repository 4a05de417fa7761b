import Foundation
import KeychainStore
import TestSupport
import Testing
import TokenKit

@testable import KeychainHost
@testable import KeychainModel

/// Four processes that add, update and delete, and are killed at random moments.
@Suite struct KilledWritersTests {
    /// The steps of one process before it was killed.
    private struct Record {
        let prefix: String
        let stepsReported: Int
    }

    @Test func fiveHundredRoundsOfKillsLoseTearAndDoubleNothing() throws {
        let test = try TestKeychain()
        var generator = SystemRandomNumberGenerator()
        var records: [Record] = []
        for round in 0..<500 {
            let prefixes = (0..<4).map { "r\(round)p\($0)" }
            let processes = try prefixes.map { try WriterProcess(["mix", test.path, $0]) }
            for process in processes { #expect(process.nextLine() == "ready") }
            // Five steps of one process are awaited, so that the kills hit processes at work even on a slow machine.
            let watched = Int.random(in: 0..<4, using: &generator)
            for step in 0..<5 { #expect(processes[watched].nextLine() == String(step)) }
            for index in (0..<4).shuffled(using: &generator) {
                usleep(UInt32.random(in: 0..<6000, using: &generator))
                processes[index].kill()
            }
            for (index, process) in processes.enumerated() {
                let steps = Self.steps(process, after: index == watched ? 5 : 0)
                records.append(Record(prefix: prefixes[index], stepsReported: steps))
            }
            if round % 100 == 99 { try checkIntegrity(test) }
        }
        #expect(records.count == 2000)
        try checkIntegrity(test)
        try check(records, in: test)
    }

    /// The number of steps that a process reported, including `known` ones that were read before.
    private static func steps(_ process: WriterProcess, after known: Int) -> Int {
        let lines = process.remainingLines()
        let count = known + lines.count
        #expect(lines == (known..<count).map(String.init))
        return count
    }

    private func checkIntegrity(_ test: TestKeychain) throws {
        let database = try test.database()
        let integrity = try database.value("PRAGMA integrity_check")
        #expect(integrity == .text("ok"))
        let doubles = try database.value("SELECT count(*) - count(DISTINCT CAST(acct AS BLOB)) FROM genp")
        #expect(doubles == .integer(0))
    }

    /// Checks that each process has left the result of its reported steps, or of those and the one in which it was killed.
    private func check(_ records: [Record], in test: TestKeychain) throws {
        let keychain = try test.reopened()
        try keychain.unlock(password: .of("correct"))
        let result = try keychain.items(matching: Query(.genericPassword, limit: .all))
        #expect(result.missing.isEmpty)
        var stored: [String: [String: String]] = [:]
        for item in result.found {
            let account = try #require(item[.account]?.string)
            let secret = try #require(try keychain.secretText(item.reference))
            #expect(secret == "\(item.label ?? "") secret of \(account)", "an item is torn")
            let prefix = account.prefix { $0 != "-" }
            stored[String(prefix), default: [:]][account] = item.label
        }
        #expect(stored.removeValue(forKey: "contested")?.count ?? 0 <= 8)
        for record in records {
            let found = stored.removeValue(forKey: record.prefix) ?? [:]
            let possible = [0, 1].map { Self.content(record.prefix, after: record.stepsReported + $0) }
            #expect(possible.contains(found), "\(record)")
        }
        #expect(stored.isEmpty)
    }

    /// The labels by account after a number of steps of `KeychainWriter mix`.
    private static func content(_ prefix: String, after steps: Int) -> [String: String] {
        var content: [String: String] = [:]
        for step in 0..<steps {
            let (a, b) = ("\(prefix)-\(step / 5)a", "\(prefix)-\(step / 5)b")
            switch step % 5 {
            case 0: content[a] = "old"
            case 1: content[b] = "old"
            case 2: content[a] = "new"
            case 3: content[b] = nil
            default: break
            }
        }
        return content
    }
}
