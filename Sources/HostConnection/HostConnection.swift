@_exported public import HostAPI
@_exported public import KeychainModel
internal import Localization
internal import Platform
@_exported public import SecureBytes
@_exported public import SystemCrypto
internal import Wire

/// A Swift program's access to the host, which runs in a process of its own: no card, file or secret key is opened in the program. The
/// module re-exports the modules with the types of the host's interface.
///
///     let host = HostConnection.open()
///     for identity in try host.identities(.identities.where(.canSign, true)).found { … }
public enum HostConnection {
    /// The host that the programs of the session share, or else one of this program alone, which is started by the first request and ends
    /// with the program. `tokenkitd` is looked for beside the program's file, in `../libexec`, and where it is installed.
    ///
    /// A program with more rights than its user has a host of its own, and gives it no environment.
    ///
    /// - Parameter prompter: asks where a request leaves questions to its client; by default nobody. The host asks all others.
    public static func open(asking prompter: (any Prompter)? = nil) -> any KeychainService {
        client(.standard, asking: prompter).service
    }

    /// The host that the programs of the session share: `tokenctl host start`, or the systemd user unit.
    ///
    /// - Parameter prompter: as ``open(asking:)`` takes it.
    /// - Throws: `errSecNotAvailable` where no host serves the session, or it serves other folders or another card service.
    public static func connect(asking prompter: (any Prompter)? = nil) throws(KeychainError) -> any KeychainService {
        let client = try client(ofSession: nil, prompter)
        try client.connect()
        return client.service
    }

    /// Starts the host that the programs of the session share, unless it runs.
    ///
    /// - Throws: `errSecNotAvailable` where it cannot be started, or does not serve this program.
    package static func startSession() throws(KeychainError) {
        // A host that is the SSH agent of the session stays for programs that cannot start it.
        let agent = Array("SSH_AUTH_SOCK=".utf8)
        let start = SessionStart(
            environment: ClientEnvironment.variables.filter { HostVariables.includes($0) || $0.starts(with: agent) })
        try client(ofSession: start, nil).connect()
    }

    /// - Parameter start: starts the host where there is none; nil to look for one alone.
    private static func client(
        ofSession start: SessionStart?, _ prompter: (any Prompter)?
    ) throws(KeychainError) -> SocketClient {
        guard let runtime else {
            throw KeychainError(.notAvailable, "the session has no folder for sockets (set XDG_RUNTIME_DIR)")
        }
        return client(of: [.session(runtime, startedBy: start)], prompter, .standard, ClientEnvironment.variables)
    }

    /// A client with options of its own, of the host that ``open(asking:)`` describes.
    ///
    /// - Parameters:
    ///   - prompter: as ``open(asking:)`` takes it.
    ///   - variables: variables for the host, each as `NAME=value`.
    ///   - trace: the descriptor of a file for the trace of commands to cards, which the client closes at its end. The client then has a
    ///     host of its own.
    ///   - session: the use of the host that the programs of the session share.
    package static func client(
        _ options: HostOptions, asking prompter: (any Prompter)? = nil,
        environment variables: [[UInt8]] = ClientEnvironment.variables, trace: Int32? = nil,
        session: SessionUse = .whereItServes
    ) -> SocketClient {
        let ofHost = variables.filter(HostVariables.includes)
        let own: SocketClient.Host = .ownStarted(by: HostStart(environment: ofHost))
        var hosts = [own]
        if trace == nil, let runtime {
            switch session {
            case .never: break
            case .whereItServes: hosts = [.session(runtime, startedBy: nil), own]
            case .started: hosts = [.session(runtime, startedBy: SessionStart(environment: ofHost)), own]
            }
        }
        return client(of: hosts, prompter, options, variables, trace: trace)
    }

    /// The use that a client makes of the session's host. A client that the session's host does not serve has one of its own.
    package enum SessionUse: Sendable {
        /// The client has a host of its own.
        case never
        case whereItServes
        /// The session's host is started where there is none.
        case started
    }

    private static func client(
        of hosts: [SocketClient.Host], _ prompter: (any Prompter)?, _ options: HostOptions, _ variables: [[UInt8]],
        trace: Int32? = nil
    ) -> SocketClient {
        var options = options
        options.hasMoreRights = Environment.isUntrusted
        return SocketClient(
            of: hosts, prompter: prompter ?? NoPrompter(),
            environment: options.modules == .none ? variables.filter(HostVariables.includes) : variables,
            options: options, trace: trace)
    }

    /// The folder of the session's sockets.
    private static var runtime: String? {
        Environment.variable("XDG_RUNTIME_DIR").flatMap { $0.hasPrefix("/") ? $0 : nil }
    }
}
