import Foundation

/// A socket that leads to a private card service. A process in a user namespace of its own may not look into that of the service, where
/// `/proc/PID/root` leads.
public final class CardServiceRelay: Sendable {
    /// The path of the socket.
    public let path: String
    private let program: ChildProcess

    private struct NotThere: Error {}

    /// - Parameters:
    ///   - service: the path of the service's socket.
    ///   - folder: the folder for the relay's.
    public init(to service: String, in folder: TemporaryFolder) throws {
        let path = folder.path("pcscd")
        self.path = path
        program = try ChildProcess(
            ["socat", "UNIX-LISTEN:\(path),fork,mode=666", "UNIX-CONNECT:\(service)"], streams: [])
        guard eventually({ FileManager.default.fileExists(atPath: path) }) else { throw NotThere() }
    }

    deinit {
        kill(program.identifier, SIGTERM)
        program.wait()
    }
}
