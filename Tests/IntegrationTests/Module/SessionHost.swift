import Foundation
import TestSupport
import Testing

/// The shared host of a session, with the folders of a test.
struct SessionHost: Sendable {
    private let runtime: String
    private let environment: [String: String]

    init(in folder: TemporaryFolder, _ environment: [String: String]) { self.init(at: folder.path, environment) }

    /// - Parameter runtime: the folder for sockets.
    init(at runtime: String, _ environment: [String: String]) {
        (self.runtime, self.environment) = (runtime, environment)
    }

    private func tokenctl(_ arguments: String...) throws -> ProgramResult {
        try Program.run([Program.command] + arguments, environment: environment)
    }

    func start() throws {
        let result = try tokenctl("host", "start")
        try #require(result.status == 0, "\(result)")
    }

    func stop() {
        _ = try? tokenctl("host", "stop")
    }

    /// The process of the host that listens; nil without one, or for a service manager.
    var process: Int32? {
        get throws {
            struct Status: Decodable {
                let process: Int32?
            }
            return try JSONDecoder().decode(Status.self, from: Data(tokenctl("host", "--json").text.utf8)).process
        }
    }

    /// The path of the host's socket.
    var socket: String { runtime + "/tokenkit/host" }

    /// The number of hosts that programs of the test have started for themselves.
    var privateHosts: Int { hosts("--private").count }

    /// The hosts of the test's session, also those that are about to begin or to end.
    var sessionHosts: [Int32] { hosts("--session") }

    private func hosts(_ option: String) -> [Int32] {
        let processes = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        return processes.compactMap { Int32($0) }.filter { process in
            guard let words = text("/proc/\(process)/cmdline") else { return false }
            return words.contains("tokenkitd\0\(option)")
                && text("/proc/\(process)/environ")?.contains("HOME=\(environment["HOME"] ?? "")\0") == true
        }
    }

    private func text(_ path: String) -> String? {
        FileManager.default.contents(atPath: path).map { String(decoding: $0, as: UTF8.self) }
    }
}
