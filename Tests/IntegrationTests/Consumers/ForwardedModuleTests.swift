import Foundation
import SystemCrypto
import TestSupport
import Testing

/// The module on another machine, to which ssh forwards a socket of the session's host: the card stays at the desk.
@Suite struct ForwardedModuleTests {
    private let session: OwnAgent
    private var card: ConsumerCard { session.card }
    /// The other machine's folders.
    private var far: String { card.path("far") }
    private var forwardedSocket: String { "\(far)/run/tokenkit/forwarded" }

    init() throws {
        session = try OwnAgent()
        for folder in ["far", "far/run", "far/run/tokenkit"] {
            try FileManager.default.createDirectory(
                atPath: card.path(folder), withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        }
    }

    private func startServer() throws -> OpenSSHCard.Server {
        let server = try session.ssh.startServer(admitting: "9A.pub", named: "build7")
        try FileManager.default.createDirectory(
            atPath: card.path("home/.ssh"), withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        try card.folder.write("home/.ssh/known_hosts", "build7 " + card.text("build7.pub"))
        return server
    }

    /// A command on the other machine, which has neither a card nor a keychain, with the socket forwarded.
    private func remote(_ server: OpenSSHCard.Server, _ command: [String], _ options: [String] = []) -> [String] {
        let variables = ["HOME=\(far)", "XDG_RUNTIME_DIR=\(far)/run", "PCSCLITE_CSOCK_NAME=\(far)/none"]
        let forwarding = [
            "-o", "ExitOnForwardFailure=yes", "-R", "\(forwardedSocket):\(card.path("run/tokenkit/remote"))",
        ]
        return server.command(
            forwarding + options,
            OpenSSHCard.Server.quoted(["env"] + variables + command) + "; code=$?; rm \(forwardedSocket); exit $code")
    }

    private func tool(_ arguments: String...) -> [String] {
        ["pkcs11-tool", "--module", ConsumerCard.module] + arguments
    }

    private func sign(_ name: String = "signature") -> [String] {
        tool(
            "--sign", "--mechanism", "ECDSA-SHA256", "--signature-format", "openssl", "--id", "01", "--input-file",
            card.path("message"), "--output-file", card.path(name))
    }

    private func verify(_ name: String = "signature") throws {
        let key = ["openssl", "x509", "-in", card.path("9A.pem"), "-noout", "-pubkey", "-out", card.path("9A.key")]
        try card.succeed(key)
        let verdict = try card.succeed([
            "openssl", "dgst", "-sha256", "-verify", card.path("9A.key"), "-signature", card.path(name),
            card.path("message"),
        ])
        #expect(verdict.contains("Verified OK"))
    }

    /// The questions about another machine so far, and those before an answer holds from now on.
    private func questions() throws -> [String] {
        try card.pinentryPermissions.filter { $0.contains("nother machine") || $0.contains("this machine") }
    }

    @Test func signsWithACardAtTheDesk() throws {
        defer { session.host.stop() }
        let server = try startServer()
        let listing = try card.succeed(remote(server, tool("--list-objects")), session.variables)
        #expect(listing.contains("PIV AUTH") || listing.contains("Certificate"), "\(listing)")
        #expect(try card.pinentryQuestions.count == 1, "the login of ssh")
        #expect(try questions().isEmpty, "a listing asks nothing")
        try card.succeed(remote(server, sign()), session.variables)
        try verify()
        let asked = try questions()
        #expect(asked.count == 1, "\(asked)")
        #expect(asked.first?.hasPrefix("Another machine wants to sign with a key.%0AFrom: build7%0AKey: ") == true)
        // Each use is asked about.
        try card.succeed(remote(server, sign()), session.variables)
        #expect(try questions().count == 2)
        #expect(try card.pinentryQuestions.count == 1)
    }

    @Test func aMachineMayBeAllowedAlways() throws {
        defer { session.host.stop() }
        let server = try startServer()
        try card.writePinentry(allowingAlways: true)
        try card.succeed(remote(server, sign()), session.variables)
        #expect(try questions().count == 2, "the question, and that before the answer holds from now on")
        try card.succeed(remote(server, sign()), session.variables)
        #expect(try questions().count == 2)
        #expect(try session.tokenctl("access").contains("machine build7"))
        // The allowance is the machine's, whichever way it asks.
        try card.succeed(server.forwarding(["ssh-add", "-T", card.path("9A.pub")]), session.variables)
        #expect(try questions().count == 2)
    }

    @Test func aMachineThatIsUnknownIsAskedAboutEachTime() throws {
        defer { session.host.stop() }
        try session.makeKey("own")
        let server = try session.ssh.startServer(admitting: "own.pub")
        try card.writePinentry(allowingAlways: true)
        let options = ["-i", card.path("own"), "-o", "IdentitiesOnly=yes", "-o", "IdentityAgent=none"]
        for _ in 0..<2 {
            try card.folder.write("permissions", "")
            let said = try card.run(remote(server, sign(), options), session.variables)
            // Nothing is offered for later, so that the first answer of this person is a denial.
            #expect("\(said)".contains("CKR_FUNCTION_CANCELED"), "\(said)")
            let asked = try questions()
            #expect(asked.count == 1 && asked[0].contains("From: the other end of 'ssh -F none"), "\(asked)")
        }
        let questions = try card.pinentryQuestions
        #expect(questions.contains { $0.contains("the other end of 'ssh") }, "\(questions)")
    }

    @Test func givesNoPINAndChangesNothing() throws {
        defer { session.host.stop() }
        let server = try startServer()
        let login = try card.fail(
            remote(server, tool("--login", "--pin", "000000", "--list-objects")), session.variables)
        #expect(login.contains("CKR_ARGUMENTS_BAD"), "\(login)")
        let tries = try session.tokenctl("card", "pin", "status")
        #expect(!tries.contains("2 of 3"), "\(tries)")
        try session.createKeychain()
        for change in [
            tool("--write-object", card.path("message"), "--type", "data", "--label", "new"),
            tool("--write-object", card.path("9A.pem"), "--type", "cert", "--id", "01"),
            tool(
                "--login", "--login-type", "so", "--so-pin", "010203040506070801020304050607080102030405060708",
                "--list-objects"),
        ] {
            let said = try card.fail(remote(server, change), session.variables)
            #expect(said.contains("CKR_TOKEN_WRITE_PROTECTED"), "\(change): \(said)")
        }
    }

    /// A socket that ssh has left behind is in nobody's way.
    @Test func withoutTheOtherMachineTheModuleHasItsOwnHost() throws {
        defer { session.host.stop() }
        try card.succeed(["python3", "-c", "import socket; socket.socket(socket.AF_UNIX).bind('\(forwardedSocket)')"])
        let variables = ["XDG_RUNTIME_DIR": card.path("far/run")]
        let listing = try card.succeed(tool("--list-slots"), variables)
        #expect(listing.contains(ConsumerCard.label), "\(listing)")
    }
}
