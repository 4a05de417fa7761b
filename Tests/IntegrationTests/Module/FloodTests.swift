import Foundation
import Synchronization
import TestSupport
import Testing
import VirtualCard

/// The shared host of a session, while one program floods it with connections. Scripts/bench-host measures how much longer the
/// others wait.
@Suite struct FloodTests {
    /// The threads and descriptors that the host may have in addition to those before the flood: for connections without a hello,
    /// for the clients that one process may have, and some for the card and the keychain. Each connection also has a descriptor of its
    /// process.
    private static let allowance = (threads: 110, descriptors: 110 + 64 + 16)

    @Test(arguments: ["cards", "keychains"])
    func anHonestProgramGetsItsSignaturesAndTheHostStaysSmall(tokens: String) throws {
        let folder = try TemporaryFolder()
        let holder = try DaemonWithCard(VirtualCardBuilder(profile: .generic, fourKeys: .p256).build())
        let environment = ModuleProgram.environment(in: folder).merging(holder.daemon.environment) { $1 }
        try ModuleProgram.createKeychain(in: folder, environment, password: "123456")
        let made = try Program.run(
            [
                Program.command, "create-keypair", "-a", "ec", "-s", "256", "--pin-source",
                "file:" + folder.path("password"), "key",
            ], environment: environment)
        try #require(made.status == 0, "\(made)")
        let flood = Flood(try ModuleProgram.compile("flood", in: folder), folder, environment)
        let program = try ModuleProgram.compile("flooded", ["-Wno-deprecated-declarations", "-lcrypto"], in: folder)
        let host = SessionHost(in: folder, environment)
        try host.start()
        defer { host.stop() }
        let process = try #require(try host.process)
        let before = Mutex(Size(of: process))
        let result = try ModuleProgram.run(
            program, in: folder, service: holder.daemon.socketPath, ["TOKENKIT_PKCS11_TOKENS": tokens]
        ) { wish in
            if wish == "flood" {
                before.withLock { $0 = Size(of: process) }
                try flood.start(host.socket)
            } else if wish == "end" {
                let most = try flood.end()
                let before = before.withLock { $0 }
                #expect(most.threads <= before.threads + Self.allowance.threads)
                #expect(most.descriptors <= before.descriptors + Self.allowance.descriptors)
                // The host notices closed connections one after the other.
                let isSmall = eventually {
                    let size = Size(of: process)
                    return size.threads <= before.threads && size.descriptors <= before.descriptors
                }
                #expect(isSmall, "\(before), \(Size(of: process))")
            }
            #expect(host.privateHosts == 0)
        }
        #expect(result.status == 0, "\(result)")
        #expect(try host.process == process)
    }

    /// The numbers of a process's threads and descriptors.
    private struct Size {
        var threads = 0
        var descriptors = 0

        init(threads: Int, descriptors: Int) {
            (self.threads, self.descriptors) = (threads, descriptors)
        }

        init(of process: Int32) {
            let names = FileManager.default
            threads = (try? names.contentsOfDirectory(atPath: "/proc/\(process)/task").count) ?? .max
            descriptors = (try? names.contentsOfDirectory(atPath: "/proc/\(process)/fd").count) ?? .max
        }
    }

    /// The program that floods.
    private final class Flood: Sendable {
        private let program: String
        private let environment: [String: String]
        private let said: String
        private let process = Mutex<ChildProcess?>(nil)

        init(_ program: String, _ folder: TemporaryFolder, _ environment: [String: String]) {
            (self.program, self.environment) = (program, environment)
            said = folder.path("flood.log")
        }

        /// Returns once the program has opened all its connections for the first time.
        func start(_ socket: String) throws {
            try Data().write(to: URL(filePath: said))
            let (nothing, output) = try (
                FileHandle(forReadingFrom: URL(filePath: "/dev/null")),
                FileHandle(forWritingTo: URL(filePath: said))
            )
            let streams = [nothing.fileDescriptor, output.fileDescriptor, output.fileDescriptor]
            let child = try ChildProcess([program, socket, "2"], environment: environment, streams: streams)
            process.withLock { $0 = child }
            eventually { lines.first == "flooding" }
        }

        /// Waits for the program's end, and returns the maximum size of the host.
        func end() throws -> Size {
            let status = process.withLock { $0?.wait() }
            #expect(status == 0, "\(lines)")
            let numbers = try #require(lines.last).split(separator: " ").compactMap { Int($0) }
            try #require(numbers.count == 4)
            return Size(threads: numbers[2], descriptors: numbers[3])
        }

        private var lines: [String] {
            ((try? String(contentsOfFile: said, encoding: .utf8)) ?? "").split(separator: "\n").map(String.init)
        }
    }
}
