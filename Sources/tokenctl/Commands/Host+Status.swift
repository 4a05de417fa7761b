internal import ArgumentParser
internal import Glibc
internal import HostAPI
internal import HostConnection
internal import KeychainModel
internal import Localization
internal import Platform

extension Host {
    struct Status: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "status", abstract: "Show whether one serves this session, and which programs use it.")

        @OptionGroup var output: OutputOptions

        func run() throws {
            let session = try HostSession()
            let listener = session.listener
            guard case .process(let process) = listener else {
                guard !output.json else { return try Listing.showJSON(State(session, listener)) }
                return StandardOutput.line(
                    localized: listener == .none
                        ? "No host serves this session. The next command that needs one starts it."
                        : "A host listens at \(session.path), and does not answer: many programs wait for it.")
            }
            let status: HostStatus
            do throws(KeychainError) {
                status = try HostConnection.connect().hostStatus(.silent)
            } catch {
                guard !output.json else { return try Listing.showJSON(State(session, listener)) }
                StandardOutput.line(localized: "A host serves this session at \(session.path) (process \(process)).")
                return StandardOutput.line(localized: "It does not serve this command: \(error.reason).")
            }
            guard !output.json else { return try Listing.showJSON(State(session, listener, status)) }
            show(status, session)
        }

        private func show(_ status: HostStatus, _ session: HostSession) {
            StandardOutput.line(localized: "A host serves this session at \(session.path) (process \(status.process)).")
            StandardOutput.line(
                localized: "It is of version \(status.version), and runs since \(Clock.text(status.start)).")
            for reader in status.readersWithPIN {
                StandardOutput.line(localized: "The PIN of the card in '\(reader)' counts for all programs.")
            }
            for path in status.unlockedKeychains { StandardOutput.line(localized: "The keychain \(path) is unlocked.") }
            let programs = status.otherPrograms
            guard !programs.isEmpty else { return StandardOutput.line(localized: "No other program uses it.") }
            StandardOutput.line(localized: "Programs that use it:")
            for client in programs {
                let program = "\(client.program) (\(client.process))"
                let line: LocalizedText = client.count > 1 ? "\(program), \(client.count) times" : "\(program)"
                StandardOutput.line("  \(line)")
            }
        }
    }

    /// The state of the session's host, as JSON.
    struct State: Encodable {
        struct Client: Encodable {
            let process: Int32
            let program: String
            let count: Int
        }

        let socket: String
        let isServed: Bool
        /// The host's process; nil where a service manager listens in its place.
        let process: Int32?
        let version: String?
        let started: String?
        /// The programs that use the host, without this command; nil where the host does not tell.
        let clients: [Client]?
        /// The readers with a card whose PIN counts for all programs; nil where the host does not tell.
        let readersWithPIN: [String]?
        let unlockedKeychains: [String]?

        init(_ session: HostSession, _ listener: HostSocket.Listener, _ status: HostStatus? = nil) {
            (socket, isServed) = (session.path, listener != .none)
            process = status?.process ?? session.host(listener)
            version = status?.version
            started = status.map { Clock.text($0.start) }
            (readersWithPIN, unlockedKeychains) = (status?.readersWithPIN, status?.unlockedKeychains)
            clients = status?.otherPrograms.map { Client(process: $0.process, program: $0.program, count: $0.count) }
        }
    }
}

extension HostStatus {
    /// The programs without this one.
    fileprivate var otherPrograms: [Client] { clients.filter { $0.process != getpid() } }
}
