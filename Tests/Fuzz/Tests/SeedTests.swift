import Foundation
import FuzzTargets
import TestSupport
import Testing

/// Runs the seeds of fuzzing, and the inputs that it has found, in every test run.
@Suite struct SeedTests {
    private static let folder = Program.packageRoot.appending(path: "Tests/Fuzz/Seeds")

    @Test func thereAreSeedsForEachTargetAndForNothingElse() throws {
        let folders = try FileManager.default.contentsOfDirectory(atPath: Self.folder.path(percentEncoded: false))
        // The module's seeds run in ModuleTests and FalseHostTests, by programs in C.
        #expect(folders.sorted() == (FuzzTarget.allCases.map(\.rawValue) + ["module", "falseHost"]).sorted())
    }

    @Test(arguments: FuzzTarget.allCases)
    func isSafeOnItsSeedsAndWhatIsNearThem(target: FuzzTarget) throws {
        for seed in try seeds(of: target) {
            try target.run(seed)
            // Each input of these targets has a host of its own, which takes milliseconds.
            let step = [.calls, .keychainCalls, .agentSession].contains(target) ? 40 : 1
            let all = neighbours(of: seed)
            for index in stride(from: 0, to: all.count, by: step) { try target.run(all[index]) }
        }
    }

    @Test(arguments: FuzzTarget.allCases)
    func isSafeOnInputsOfUpToTwoBytes(target: FuzzTarget) throws {
        try target.run([])
        for first in UInt8.min...UInt8.max {
            try target.run([first])
            for second in UInt8.min...UInt8.max { try target.run([first, second]) }
        }
    }

    private func seeds(of target: FuzzTarget) throws -> [[UInt8]] {
        let folder = Self.folder.appending(path: target.rawValue)
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path(percentEncoded: false))
        return try names.map { Array(try Data(contentsOf: folder.appending(path: $0))) }
    }

    /// The input cut short at every length, longer by a byte, and with each of its first bytes at the edges of its range.
    private func neighbours(of seed: [UInt8]) -> [[UInt8]] {
        let cut = seed.indices.map { Array(seed[..<$0]) }
        let changed = seed.indices.prefix(256).flatMap { index in
            [0x00, 0x7F, 0x80, 0xFF, seed[index] &+ 1, seed[index] &- 1].map { byte in
                var copy = seed
                copy[index] = byte
                return copy
            }
        }
        return cut + changed + [seed + [0x00]]
    }
}
