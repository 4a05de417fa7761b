import Foundation
import SystemCrypto
import TestSupport
import Testing

/// A card, the host of its session, and the variables of programs that use the host as their agent.
struct OwnAgent {
    let ssh: OpenSSHCard
    let host: SessionHost
    let variables: [String: String]
    /// The host where the test has started it itself.
    private let process: ConsumerService?

    var card: ConsumerCard { ssh.card }
    var socket: String { card.path("run/tokenkit/ssh.sock") }

    /// A card with keys of a kind at 9A and 9C.
    init(_ kind: KeyKind = .ecP256) throws { try self.init(ConsumerCard(["9A": kind, "9C": kind])) }

    /// - Parameters:
    ///   - program: the host's file.
    ///   - more: further variables of the host, which the command would not give it.
    init(_ card: ConsumerCard, host program: String = Program.host, variables more: [String: String] = [:]) throws {
        ssh = try OpenSSHCard(card)
        try card.writePinentry()
        variables = [
            "PINENTRY_PROGRAM": card.path("pinentry"), "TOKENKIT_HOST": "session",
            "SSH_AUTH_SOCK": card.path("run/tokenkit/ssh.sock"),
        ]
        host = SessionHost(at: card.path("run"), card.environment.merging(variables) { $1 })
        guard !more.isEmpty else {
            process = nil
            try host.start()
            return
        }
        process = try card.serve([program], variables.merging(more) { $1 }, named: "tokenkitd") { [card] in
            Loopback.accepts(card.path("run/tokenkit/ssh.sock"))
        }
    }

    @discardableResult
    func add(_ options: String..., at location: SourceLocation = #_sourceLocation) throws -> String {
        try card.succeed(["ssh-add"] + options, variables, at: location)
    }

    @discardableResult
    func refuse(_ options: String..., at location: SourceLocation = #_sourceLocation) throws -> String {
        try card.fail(["ssh-add"] + options, variables, at: location)
    }

    /// Runs the command, and returns its output.
    @discardableResult
    func tokenctl(_ arguments: String..., at location: SourceLocation = #_sourceLocation) throws -> String {
        try card.output(of: [Program.command] + arguments, variables, at: location)
    }

    /// Makes a keychain, unlocked and the default one, of which pinentry knows the password.
    func createKeychain(at location: SourceLocation = #_sourceLocation) throws {
        let password = try card.folder.write("password", ConsumerCard.pin)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: password)
        try tokenctl("create-keychain", "--pin-source", "file:\(password)", at: location)
    }

    /// The path of a script beside this file.
    static func script(_ name: String) -> String {
        URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Scripts/\(name).py")
            .path(percentEncoded: false)
    }

    /// The keys that the agent lists, each as a line of `authorized_keys`.
    func keys() throws -> [String] {
        try card.output(of: ["ssh-add", "-L"], variables).split(separator: "\n").map(String.init)
    }

    /// Makes a key pair "NAME" and "NAME.pub" in files.
    func makeKey(_ name: String, _ kind: String = "ed25519") throws {
        try card.succeed(["ssh-keygen", "-q", "-t", kind, "-N", "", "-C", name, "-f", card.path(name)])
    }

    /// Signs the message with a key of the agent, and has the signature checked.
    func sign(with key: String, at location: SourceLocation = #_sourceLocation) throws {
        try? FileManager.default.removeItem(atPath: card.path("message.sig"))
        try card.succeed(
            ["ssh-keygen", "-Y", "sign", "-U", "-n", "file", "-f", card.path(key), card.path("message")], variables,
            at: location)
        try ssh.verify(key, at: location)
    }
}
