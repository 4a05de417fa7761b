import Foundation
import HostAPI
import HostConnection
import KeychainModel
import Localization
import SecureBytes
import TestSupport

/// Starts `tokenkitd` for a client in this process alone.
struct PrivateHost: Sendable {
    /// The command that runs the host, such as one that changes what the host sees.
    var command: [String] = [Program.host, "--private"]
    let environment: [String: String]

    /// Asks nobody, and answers each question with the card's PIN.
    struct TypesPIN: Prompter {
        let canAsk = true
        let canAskAgain = false

        func ask(_ request: PromptRequest) throws(KeychainError) -> Secret {
            Secret(copying: Array("123456".utf8).span)
        }

        func confirm(_ question: String) throws(KeychainError) -> Bool { false }
    }

    /// A client with these options.
    ///
    /// - Parameters:
    ///   - variables: further variables of its hello; nil for one without any.
    ///   - trace: the path of a file for the trace.
    func client(
        _ options: HostOptions = .standard, _ variables: [String: String]? = [:], trace: String? = nil
    ) throws -> any KeychainService {
        let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
        let all = variables.map { environment.merging(["PATH": path]) { $1 }.merging($0) { $1 } } ?? [:]
        let trace = trace.map { open($0, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o600) }
        return SocketClient(
            of: [SocketClient.Host { () throws(KeychainError) in try start() }], prompter: TypesPIN(),
            environment: all.map { Array("\($0)=\($1)".utf8) }, options: options, trace: trace
        ).service
    }

    /// The client's end of the socket to a new host.
    private func start() throws(KeychainError) -> Int32 {
        var ends: [Int32] = [-1, -1]
        let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        let nothing = open("/dev/null", O_RDWR | O_CLOEXEC)
        defer { close(nothing) }
        guard socketpair(AF_UNIX, kind, 0, &ends) == 0,
            let child = try? ChildProcess(
                command, environment: environment, streams: [nothing, nothing, nothing, ends[1]])
        else { throw KeychainError(.internal, "no host can be started") }
        close(ends[1])
        Thread { child.wait() }.start()
        return ends[0]
    }
}
