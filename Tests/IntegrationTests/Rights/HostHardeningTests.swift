import Foundation
import TestSupport
import Testing

/// The host's process as other programs of the user see it.
@Suite struct HostHardeningTests {
    /// A program with none of root's rights, also where it has root's number.
    private static let plain = ["setpriv", "--bounding-set=-all", "--inh-caps=-all", "--ambient-caps=-all"]

    private let folder: TemporaryFolder
    private let environment: [String: String]
    private let host: SessionHost

    init() throws {
        folder = try TemporaryFolder()
        environment = ModuleProgram.environment(in: folder).merging([
            "PCSCLITE_CSOCK_NAME": folder.path("none"), "TOKENKIT_HOST": "session",
        ]) { $1 }
        host = SessionHost(in: folder, environment)
    }

    private func run(_ command: String...) throws -> ProgramResult {
        try Program.run((geteuid() == 0 ? Self.plain : []) + command, environment: environment)
    }

    /// Whether another program can read files about a process that need the right to trace it. A debug build can be debugged.
    private func isTraceable(_ process: Int32) throws -> Bool {
        let results = try ["environ", "maps"].map { try run("cat", "/proc/\(process)/\($0)") }
        #expect(Set(results.map(\.status)).count == 1, "\(results)")
        return results.allSatisfy { $0.status == 0 }
    }

    @Test func noOtherProgramReadsItsMemory() throws {
        defer { host.stop() }
        let started = try run(Program.command, "host", "start")
        try #require(started.status == 0, "\(started)")
        let process = try #require(try host.process)
        #expect(try isTraceable(process) == (Program.prefix == nil))
        let stopped = try run(Program.command, "host", "stop")
        #expect(stopped.status == 0, "\(stopped)")
        // Another program with as few rights is traceable.
        let other = try run("sh", "-c", "sleep 60 & cat /proc/$!/environ >/dev/null && kill $!")
        #expect(other.status == 0, "\(other)")
    }

    @Test func itWritesNoCoreDumpAndGivesNoRights() throws {
        defer { host.stop() }
        try host.start()
        let process = try #require(try host.process)
        func lines(_ name: String) throws -> String {
            try String(contentsOfFile: "/proc/\(process)/\(name)", encoding: .utf8)
        }
        #expect(try lines("limits").contains(#/Max core file size +0 +0 /#))
        #expect(try lines("status").contains("NoNewPrivs:\t1\n"))
    }
}
