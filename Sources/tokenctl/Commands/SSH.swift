internal import ArgumentParser
internal import FoundationEssentials
internal import Glibc
internal import HostConnection
internal import KeychainModel
internal import Localization
internal import Platform
internal import SSHAgent
internal import SecureBytes
internal import SystemCrypto

struct SSH: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ssh", abstract: "Use the session's host as an SSH agent.",
        discussion: """
            ssh, git and other programs use the agent that SSH_AUTH_SOCK names in their environment. The host's has the keys of all cards \
            and keychains, and those that 'ssh-add' adds. It asks for a PIN when a key needs one.
            """,
        subcommands: [Status.self, Keys.self, Add.self, Enable.self], defaultSubcommand: Status.self)

    private static let variable = "SSH_AUTH_SOCK"

    /// The line by which a shell has its programs use the agent.
    private static let line = "export \(variable)=\"$XDG_RUNTIME_DIR/tokenkit/ssh.sock\""

    /// Whether the programs of this shell use the agent.
    static var isChosen: Bool {
        get throws { try chosen == HostSocket.path(in: HostSession().runtime, .agent) }
    }

    /// Whether `ssh enable` has written what the programs of the next session use the agent by.
    static var isEnabled: Bool { unsafe access(file, F_OK) == 0 }

    private static var folder: String { "\(Directories().userConfiguration)/environment.d" }
    private static var file: String { "\(folder)/50-tokenkit-ssh.conf" }

    /// The socket of the agent that the programs of this shell use; nil for none.
    private static var chosen: String? {
        Environment.variable(variable).flatMap { $0.isEmpty ? nil : $0 }
    }

    // MARK: Status

    struct Status: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "status",
            abstract: "Show whether it serves this session, and whether this shell's programs use it.")

        @OptionGroup var output: OutputOptions

        private struct State: Encodable {
            let socket: String
            let isServed: Bool
            /// The agent of this shell's programs; nil for none.
            let chosenSocket: String?
            let isChosen: Bool
        }

        func run() throws {
            let session = try HostSession()
            let path = HostSocket.path(in: session.runtime, .agent)
            let listener = HostSocket.listener(in: session.runtime, .agent)
            let chosen = SSH.chosen
            guard !output.json else {
                return try Listing.showJSON(
                    State(
                        socket: path, isServed: listener != .none, chosenSocket: chosen, isChosen: chosen == path))
            }
            StandardOutput.line(
                localized: listener == .none
                    ? "No SSH agent of the host serves this session. 'tokenctl host start' starts it."
                    : "The host serves this session as an SSH agent at \(DisplayText.line(path)).")
            switch chosen {
            case path: StandardOutput.line(localized: "Programs of this shell use it.")
            case let other?:
                StandardOutput.line(
                    localized: "Programs of this shell do not use it: \(SSH.variable) names \(DisplayText.line(other))."
                )
            case nil:
                StandardOutput.line(localized: "Programs of this shell do not use it: \(SSH.variable) is not set.")
            }
            guard chosen != path else { return }
            if SSH.isEnabled {
                StandardOutput.line(
                    localized: "Those of the next session use it, as 'tokenctl ssh enable' has it; in this shell:")
                StandardOutput.line("  \(SSH.line)")
            } else {
                StandardOutput.line(localized: "'tokenctl ssh enable' tells how they do.")
            }
        }
    }

    // MARK: Keys

    struct Keys: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "keys", abstract: "Print the public keys that ssh can use, as lines of authorized_keys.",
            discussion: "No PIN is asked for. Certificates of keys are left out: 'ssh-add -L' prints them too.")

        @OptionGroup var output: OutputOptions

        private struct Key: Encodable {
            let line: String
            let comment: String
            let fingerprint: String
        }

        func run() throws {
            guard case .identities(let identities) = try SSH.answer(to: SSH.list.span) else {
                throw SSH.noAnswer
            }
            let keys = try identities.compactMap { identity -> Key? in
                guard let key = try? PublicKey(openSSH: identity.key) else { return nil }
                let comment = String(decoding: identity.comment, as: UTF8.self)
                return Key(
                    line: String(try OpenSSHPublicKeys.line(key, comment: comment).dropLast()), comment: comment,
                    fingerprint: AgentAnswer.fingerprint(of: identity.key))
            }
            guard !keys.isEmpty else {
                throw KeychainError(
                    .itemNotFound, "there is no key that ssh can use",
                    remedy:
                        "insert a card, or type 'ssh-add -X' where the agent was locked; 'tokenctl' tells what is there"
                )
            }
            guard !output.json else { return try Listing.showJSON(keys) }
            for key in keys { StandardOutput.line(key.line) }
        }
    }

    /// The answer of the session's agent, which is started where none serves.
    ///
    /// - Parameter message: a request behind its length.
    /// - Throws: ``CommandError`` where none can be started, or it does not answer.
    static func answer(to message: Span<UInt8>) throws -> AgentAnswer {
        let session = try HostSession()
        if session.listener == .none {
            do throws(KeychainError) { try HostConnection.startSession() } catch {
                throw CommandError("there is no SSH agent", "\(error.reason)")
            }
        }
        let path = HostSocket.path(in: session.runtime, .agent)
        var connected = HostSocket.connect(in: session.runtime, .agent)
        // A host that has just been started makes this socket after its own.
        for _ in 0..<100 where connected == nil {
            usleep(20_000)
            connected = HostSocket.connect(in: session.runtime, .agent)
        }
        guard let socket = connected else {
            throw CommandError("there is no SSH agent", "nothing listens at \(path)", advice: "tokenctl ssh status")
        }
        defer { close(socket) }
        do {
            try Descriptor.send(message, to: socket)
            let length = Int(UInt32(bigEndianBytes: try read(4, from: socket)))
            guard length <= AgentRequest.maximumLength else { throw MalformedMessage() }
            let answer = try read(length, from: socket)
            return try AgentAnswer(parsing: answer.span)
        } catch {
            throw noAnswer
        }
    }

    private static var list: [UInt8] {
        let request = AgentRequest.listIdentities.encoded()
        return UInt32(clamping: request.count).bigEndianBytes + request
    }

    private static let noAnswer = CommandError(
        "the SSH agent does not answer", "it ended the connection, or sent something else")

    private static func read(_ count: Int, from socket: Int32) throws -> [UInt8] {
        var bytes: [UInt8] = []
        while bytes.count < count {
            var part = [UInt8](repeating: 0, count: count - bytes.count)
            let length = unsafe part.withUnsafeMutableBytes { unsafe recv(socket, $0.baseAddress, $0.count, 0) }
            if length < 0, errno == EINTR { continue }
            guard length > 0 else { throw MalformedMessage() }
            bytes += part.prefix(length)
        }
        return bytes
    }

    // MARK: Enable

    struct Enable: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "enable", abstract: "Have the programs of the session use it.",
            discussion: String(
                localized: """
                    Writes a file of environment.d(5), from which systemd sets \(SSH.variable) for the programs of the next session, and prints \
                    what else there is to do. To undo it, remove the file.
                    """))

        @Flag(help: "Write nothing, and print what would be written.")
        var dryRun = false

        @OptionGroup var output: OutputOptions

        private struct Change: Encodable {
            let file: String
            let content: String
            let isWritten: Bool
            /// The line for a shell's start-up file.
            let shellLine: String
            /// The command that starts the agent.
            let command: String
        }

        func run() throws {
            let (folder, file) = (SSH.folder, SSH.file)
            let text = "\(SSH.variable)=${XDG_RUNTIME_DIR}/tokenkit/ssh.sock\n"
            let hasSystemd = unsafe access("/run/systemd/system", F_OK) == 0
            let runtime = (try? HostSession())?.runtime
            func isServed(_ name: HostSocket.Name) -> Bool {
                runtime.map { HostSocket.listener(in: $0, name) != .none } ?? false
            }
            let command = Enable.command(
                hasSystemd: hasSystemd, isHostServed: isServed(.host), isAgentServed: isServed(.agent))
            if !dryRun { try write(text, to: file, in: folder) }
            guard !output.json else {
                return try Listing.showJSON(
                    Change(file: file, content: text, isWritten: !dryRun, shellLine: SSH.line, command: command))
            }
            if dryRun {
                StandardOutput.line(localized: "Would write \(DisplayText.line(file)):")
                StandardOutput.line("  " + text.dropLast())
            } else {
                StandardOutput.line(
                    localized:
                        "Wrote \(DisplayText.line(file)): desktop programs use the agent from the next session on.")
            }
            StandardOutput.line(localized: "For shells, add to ~/.profile or the like:")
            StandardOutput.line("  \(SSH.line)")
            StandardOutput.line(localized: hasSystemd ? "To have it started when it is needed:" : "To start it:")
            StandardOutput.line("  \(command)")
        }

        /// The command that starts the agent.
        ///
        /// systemd refuses to open a socket of a service that is active ("Socket service … already active, refusing"), such as that of
        /// another version, which has no socket for an agent. Both are stopped first: the socket alone would start the service anew.
        static func command(hasSystemd: Bool, isHostServed: Bool, isAgentServed: Bool) -> String {
            guard hasSystemd else { return "tokenctl host start" }
            let enable = "systemctl --user enable --now tokenkit.socket tokenkit-ssh.socket"
            guard isHostServed, !isAgentServed else { return enable }
            return "systemctl --user stop tokenkit.socket tokenkit.service && \(enable)"
        }

        private func write(_ text: String, to file: String, in folder: String) throws {
            do {
                try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
                try AtomicFile.replace(file, with: Array(text.utf8).span, mode: .new(0o644))
            } catch let error as SystemError {
                throw CommandError("cannot write \(file)", "\(error.reason)")
            } catch {
                throw CommandError("cannot write \(file)", "its folder cannot be made")
            }
        }
    }
}
