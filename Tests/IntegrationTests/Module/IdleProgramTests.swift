import Foundation
import Synchronization
import TestSupport
import Testing

/// The shared host of a session, with many idle programs.
@Suite struct IdleProgramTests {
    /// Threads of the host itself.
    private static let ownThreads = 12

    /// The KiB by which the host may grow.
    private static let memory = 20_000

    @Test(arguments: [false, true])
    func aThousandIdleProgramsHaveNoThreadAndLittleMemory(withKeychain hasKeychain: Bool) throws {
        let folder = try TemporaryFolder()
        let environment = ModuleProgram.environment(in: folder).merging(["PCSCLITE_CSOCK_NAME": folder.path("none")]) {
            $1
        }
        if hasKeychain { try ModuleProgram.createKeychain(in: folder, environment) }
        let program = try ModuleProgram.compile("idle", in: folder)
        let host = SessionHost(in: folder, environment)
        try host.start()
        defer { host.stop() }
        let process = try #require(try host.process)
        let before = Mutex(0)
        let result = try ModuleProgram.run(program, ["1000"], in: folder, service: folder.path("none")) { wish in
            let isWithoutThreads = eventually { Self.number("Threads", of: process) <= Self.ownThreads }
            #expect(isWithoutThreads, "\(wish): \(Self.number("Threads", of: process)) threads")
            let memory = Self.number("RssAnon", of: process)
            if wish == "one" { before.withLock { $0 = memory } }
            let grown = memory - before.withLock { $0 }
            #expect(grown <= Self.memory, "\(wish): the host has grown by \(grown) KiB, from \(memory - grown) KiB")
            #expect(host.privateHosts == 0)
        }
        #expect(result.status == 0, "\(result)")
    }

    /// A number that Linux tells of a process: proc(5), `status`.
    private static func number(_ name: String, of process: Int32) -> Int {
        let lines = (try? String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8))?.split(separator: "\n")
        let line = lines?.first { $0.hasPrefix(name + ":") }
        return line.flatMap { Int($0.dropFirst(name.count + 1).filter(\.isNumber)) } ?? .max
    }
}
