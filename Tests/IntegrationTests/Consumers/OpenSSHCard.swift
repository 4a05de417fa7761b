import Foundation
import SystemCrypto
import TestSupport
import Testing

/// A card as OpenSSH uses it: its public keys in files, a program that knows the PIN, a server and an agent.
final class OpenSSHCard: Sendable {
    let card: ConsumerCard

    /// Keys at 9A and 9C, "9A.pub" and "9C.pub" their public halves.
    ///
    /// - Parameter answer: The answer of the program that is asked for the PIN.
    convenience init(_ kind: KeyKind, signing: KeyKind? = nil, answer: String = ConsumerCard.pin) throws {
        try self.init(ConsumerCard(["9A": kind, "9C": signing ?? kind]), answer: answer)
    }

    init(_ card: ConsumerCard, answer: String = ConsumerCard.pin) throws {
        self.card = card
        try card.folder.writeProgram("askpass", "echo \"$1\" >>'\(card.path("asked"))'; echo \(answer)")
        let keys = try card.output(of: ["ssh-keygen", "-D", ConsumerCard.module]).split(separator: "\n")
        try #require(keys.count >= 2, "\(keys)")
        try card.folder.write("9A.pub", keys[0] + "\n")
        try card.folder.write("9C.pub", keys[1] + "\n")
    }

    /// The variables that make OpenSSH ask the program instead of a terminal.
    var asking: [String: String] { ["SSH_ASKPASS": card.path("askpass"), "SSH_ASKPASS_REQUIRE": "force"] }

    /// The questions that the program was asked so far.
    var questions: [String] {
        (try? card.text("asked"))?.split(separator: "\n").map(String.init) ?? []
    }

    // MARK: - A server

    /// Starts a server that lets this user in with one key.
    ///
    /// - Parameters:
    ///   - name: the name of the file of its key, and of its others.
    ///   - hostKey: the server's own key, as a public half whose private half an agent has; nil for a key in a file.
    ///   - authority: the file of the key that certifies the server's, and by which clients know the server; nil for none.
    func startServer(
        admitting key: String, named name: String = "host", hostKey: (file: String, agent: Agent)? = nil,
        certifiedBy authority: String? = nil
    ) throws -> Server {
        try card.succeed(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", card.path(name)])
        if let authority {
            // The client wants a name, and the agent a pattern of the name with its port.
            try card.succeed(
                ["ssh-keygen", "-q", "-s", card.path(authority), "-I", "host", "-h", "-n", "127.0.0.1,*127.0.0.1*"]
                    + [card.path(name + ".pub")])
        }
        let shown =
            hostKey.map { ["HostKey \(card.path($0.file))", "HostKeyAgent \($0.agent.socket)"] }
            ?? ["HostKey \(card.path(name))"]
        let (service, port) = try card.serve(named: "\(name)-sshd") { port in
            let settings =
                [
                    "Port \(port)", "ListenAddress 127.0.0.1", "PidFile none",
                    "AuthorizedKeysFile \(card.path(key))", "StrictModes no", "UsePAM no", "PasswordAuthentication no",
                    // The check whether it is up connects often without a login.
                    "KbdInteractiveAuthentication no", "MaxStartups 1000",
                ] + shown + (authority == nil ? [] : ["HostCertificate \(card.path(name + "-cert.pub"))"])
            let command = [
                "/usr/sbin/sshd", "-D", "-e", "-f",
                try card.folder.write("\(name)-sshd_config", settings.joined(separator: "\n") + "\n"),
            ]
            // As root it needs a folder of the system, which it gets in its own namespace.
            guard getuid() == 0 else { return command }
            let prepare = "mount -t tmpfs tmpfs /run && mkdir /run/sshd && exec \"$@\""
            return ["unshare", "--mount", "sh", "-c", prepare, "sh"] + command
        }
        let known = try authority.map { try "@cert-authority *127.0.0.1* " + card.text($0 + ".pub") }
        let others = (try? card.text("known")) ?? ""
        try card.folder.write(
            "known", others + (known ?? "[127.0.0.1]:\(port) " + card.text(hostKey?.file ?? name + ".pub")))
        return Server(card: card, name: name, service: service, port: port)
    }

    struct Server {
        let card: ConsumerCard
        let name: String
        let service: ConsumerService
        let port: Int

        /// Signs in, which has to succeed.
        func signIn(
            _ options: [String], _ variables: [String: String], at location: SourceLocation = #_sourceLocation
        ) throws {
            let said = try said(options, variables)
            #expect(said.contains("the other side"), "\(said)", sourceLocation: location)
        }

        /// Tries to sign in, which has to fail.
        func refuse(
            _ options: [String], _ variables: [String: String], at location: SourceLocation = #_sourceLocation
        ) throws {
            let said = try said(options, variables)
            #expect(said.contains("Permission denied (publickey)"), "\(said)", sourceLocation: location)
        }

        /// The output of both sides.
        private func said(_ options: [String], _ variables: [String: String]) throws -> String {
            try card.run(command(options), variables).description + card.text(name + "-sshd.log")
        }

        /// The command that signs in and runs another there.
        func command(_ options: [String], _ other: String = "echo the other side") -> [String] {
            ["ssh", "-F", "none", "-o", "UserKnownHostsFile=\(card.path("known"))", "-o", "StrictHostKeyChecking=yes"]
                + ["-p", "\(port)"] + options + ["\(NSUserName())@127.0.0.1", other]
        }

        /// The command that signs in with the agent forwarded, and runs another there.
        func forwarding(_ other: [String], _ options: [String] = []) -> [String] {
            command(["-A"] + options, Server.quoted(other))
        }

        /// A command as the shell of another machine takes it.
        static func quoted(_ command: [String]) -> String {
            command.map { "'\($0.replacing("'", with: "'\\''"))'" }.joined(separator: " ")
        }
    }

    // MARK: - An agent

    /// Starts an agent that may load the module.
    ///
    /// - Parameter module: The module's path, as the agent resolves it.
    func startAgent(_ variables: [String: String] = [:], module: String = ConsumerCard.module) throws -> Agent {
        let socket = card.path("agent")
        let service = try card.serve(["ssh-agent", "-D", "-a", socket, "-P", module], variables, named: "ssh-agent") {
            Loopback.accepts(socket)
        }
        return Agent(card: self, service: service, socket: socket, module: module)
    }

    struct Agent {
        let card: OpenSSHCard
        let service: ConsumerService
        let socket: String
        let module: String

        var variables: [String: String] { card.asking.merging(["SSH_AUTH_SOCK": socket]) { $1 } }

        @discardableResult
        func add(_ options: String..., at location: SourceLocation = #_sourceLocation) throws -> String {
            try card.card.succeed(["ssh-add"] + options, variables, at: location)
        }

        /// Signs the message with a key of the agent, and has the signature checked.
        func sign(with key: String, at location: SourceLocation = #_sourceLocation) throws {
            let folder = card.card.folder
            try? FileManager.default.removeItem(atPath: folder.path("message.sig"))
            try card.card.succeed(
                ["ssh-keygen", "-Y", "sign", "-n", "file", "-f", folder.path(key), folder.path("message")], variables,
                at: location)
            try card.verify(key, at: location)
        }
    }

    /// Checks the signature of the message.
    func verify(_ key: String, at location: SourceLocation = #_sourceLocation) throws {
        try card.folder.write("allowed", "jo@example.com " + card.text(key))
        let answer = try card.succeed(
            [
                "ssh-keygen", "-Y", "verify", "-f", card.path("allowed"), "-I", "jo@example.com", "-n", "file", "-s",
                card.path("message.sig"),
            ], input: card.text("message"), at: location)
        #expect(answer.contains("Good \"file\" signature for jo@example.com"), sourceLocation: location)
    }
}
