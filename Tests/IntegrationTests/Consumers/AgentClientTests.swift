import Foundation
import SystemCrypto
import TestSupport
import Testing
import VirtualCard

/// Other programs than OpenSSH's with the SSH agent of the session's host.
@Suite struct AgentClientTests {
    private let session: OwnAgent
    private var card: ConsumerCard { session.card }

    /// The kinds of keys in the order of the agent's list: three of the card, of which two want the PIN, and three of a keychain.
    private static let kinds = [
        "ssh-rsa", "ecdsa-sha2-nistp256", "ssh-ed25519", "ssh-ed25519", "ssh-rsa", "ecdsa-sha2-nistp384",
    ]

    init() throws {
        session = try OwnAgent(
            ConsumerCard(["9A": .rsa(bits: 2048), "9C": .ecP256, "9E": .ed25519], profile: .yubiKey57))
        try session.createKeychain()
        for (name, options) in [("ed", ["ed25519"]), ("rsa", ["rsa"]), ("ec", ["ecdsa", "-b", "384"])] {
            try card.succeed(["ssh-keygen", "-q", "-N", "", "-f", card.path(name), "-t"] + options)
            try session.tokenctl("ssh", "add", "--keep", card.path(name))
        }
        try card.folder.write("all", session.keys().joined(separator: "\n") + "\n")
    }

    @Test func paramikoSignsInWithEachKeyOfCardAndKeychain() throws {
        defer { session.host.stop() }
        let listed = try session.keys().compactMap { $0.split(separator: " ").first.map(String.init) }
        #expect(listed.sorted() == Self.kinds.sorted())
        let server = try session.ssh.startServer(admitting: "all")
        let said = try card.output(
            of: ["/usr/bin/python3", OwnAgent.script("paramiko-agent"), "\(server.port)", card.path("known")],
            session.variables)
        let expected = listed.flatMap { kind in
            (kind == "ssh-rsa" ? ["rsa-sha2-512", "rsa-sha2-256"] : [kind]).map { "\(kind) \($0)" }
        }
        #expect(said == (expected + ["all keys signed in", ""]).joined(separator: "\n"))
    }

    /// Version 1.10 of libssh2 has RSA keys sign with SHA-1 alone, which neither the agent does nor a server accepts.
    @Test func libssh2SignsInWithEachKeyThatItHasAnAlgorithmFor() throws {
        defer { session.host.stop() }
        let program = try ModuleProgram.compile(
            "libssh2-agent", of: "IntegrationTests/Consumers/Scripts", libraries: ["-lssh2"], in: card.folder)
        let listed = try session.keys().compactMap { $0.split(separator: " ").first.map(String.init) }
        let server = try session.ssh.startServer(admitting: "all")
        let lines = try card.output(of: [program, "\(server.port)", NSUserName()], session.variables)
            .split(separator: "\n").map(String.init)
        let hasSHA2 = lines.contains("ssh-rsa signed in")
        #expect(lines == listed.map { "\($0) \($0 == "ssh-rsa" && !hasSHA2 ? "refused" : "signed in")" })
    }
}
