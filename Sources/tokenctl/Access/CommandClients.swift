internal import HostAPI
internal import HostConnection
internal import Localization
internal import Platform
internal import Synchronization

/// The clients of a command: those with equal options share one, and so a host.
enum CommandClients {
    private struct Choice: Hashable {
        let options: HostOptions
        let environment: [[UInt8]]
        let trace: String?
    }

    private static let clients = Mutex<[Choice: SocketClient]>([:])

    /// - Parameter trace: the file for the trace of commands to cards; nil for none.
    static func client(_ options: HostOptions, trace: String?) throws -> SocketClient {
        let choice = Choice(options: options, environment: ClientEnvironment.variables, trace: trace)
        if let client = clients.withLock({ $0[choice] }) { return client }
        let session = try sessionUse
        let client = HostConnection.client(
            options, environment: choice.environment, trace: try trace.map(TraceFile.open), session: session)
        clients.withLock { $0[choice] = client }
        return client
    }

    /// The use of the session's host, as `TOKENKIT_HOST` chooses it.
    private static var sessionUse: HostConnection.SessionUse {
        get throws(CommandError) {
            switch Environment.variable("TOKENKIT_HOST") ?? "" {
            case "", "session": return .started
            case "private": return .never
            case let other:
                throw CommandError(
                    "TOKENKIT_HOST is \(ShellText.quoted(other))", "there is no such kind of host",
                    advice: "set it to 'session' or 'private', or unset it")
            }
        }
    }

    /// Ends the clients, and returns once their cards and files are released for other programs. The next command starts with no PIN and no
    /// password given.
    static func end() {
        let ended = clients.withLock { clients in
            defer { clients = [:] }
            return Array(clients.values)
        }
        for client in ended { client.end() }
    }
}
