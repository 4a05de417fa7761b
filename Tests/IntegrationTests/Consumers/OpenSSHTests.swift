import Foundation
import SystemCrypto
import TestSupport
import Testing
import VirtualCard

/// OpenSSH signs in, signs files and keeps keys in its agent with a card behind the module.
@Suite struct OpenSSHTests {
    static let kinds: [KeyKind] = [.rsa(bits: 2048), .ecP256, .ecP384]

    @Test func listsPublicKeysWithoutAPIN() throws {
        let ssh = try OpenSSHCard(.rsa(bits: 2048), signing: .ecP384)
        let module = ConsumerCard.module
        let keys = try ssh.card.output(of: ["ssh-keygen", "-D", module], ssh.asking).split(separator: "\n")
        #expect(keys.map { $0.split(separator: " ").first } == ["ssh-rsa", "ecdsa-sha2-nistp384"])
        #expect(
            keys.map { $0.split(separator: " ", maxSplits: 2).last } == ["PIV Authentication", "Digital Signature"])
        #expect(ssh.questions.isEmpty)
        // The listed keys are those of the certificates.
        for reference in ["9A", "9C"] {
            let pem = try ssh.card.output(
                of: ["ssh-keygen", "-e", "-m", "pkcs8", "-f", ssh.card.path("\(reference).pub")])
            let certificate = ["x509", "-in", ssh.card.path("\(reference).pem"), "-noout", "-pubkey"]
            #expect(try pem == ssh.card.output(of: ["openssl"] + certificate))
        }
    }

    /// Digital Signature needs the PIN before each use, and ssh gives it once: the login counts for the next signature.
    @Test(arguments: kinds, ["9A", "9C"])
    func signsIn(kind: KeyKind, reference: String) throws {
        let ssh = try OpenSSHCard(kind)
        let server = try ssh.startServer(admitting: "\(reference).pub")
        let module = ConsumerCard.module
        try server.signIn(["-I", module], ssh.asking)
        #expect(ssh.questions == ["Enter PIN for '\(ConsumerCard.label)': "])
        let chosen = [
            "-o", "PKCS11Provider=\(module)", "-o", "IdentitiesOnly=yes", "-i", ssh.card.path("\(reference).pub"),
        ]
        try server.signIn(chosen, ssh.asking)
        #expect(ssh.questions.count == 2)
    }

    @Test func doesNotSpendTwoTriesOnOneWrongPIN() throws {
        let ssh = try OpenSSHCard(.ecP256, answer: "000000")
        try ssh.card.folder.write("both.pub", ssh.card.text("9A.pub") + ssh.card.text("9C.pub"))
        let server = try ssh.startServer(admitting: "both.pub")
        try server.refuse(["-I", ConsumerCard.module], ssh.asking)
        #expect(try ssh.card.triesLeft == 2)
    }

    @Test(arguments: kinds) func signsThroughTheAgent(kind: KeyKind) throws {
        let ssh = try OpenSSHCard(kind)
        let server = try ssh.startServer(admitting: "9A.pub")
        let agent = try ssh.startAgent()
        #expect(try agent.add("-s", agent.module).contains("Card added"))
        #expect(try ssh.card.output(of: ["ssh-add", "-L"], agent.variables).split(separator: "\n").count == 2)
        try agent.add("-T", ssh.card.path("9A.pub"))
        try agent.sign(with: "9A.pub")
        try server.signIn([], agent.variables)
        #expect(ssh.questions == ["Enter passphrase for PKCS#11: "])
        #expect(try agent.add("-e", agent.module).contains("Card removed"))
        #expect(try ssh.card.fail(["ssh-add", "-l"], agent.variables).contains("no identities"))
        // The module can be loaded a second time.
        try agent.add("-s", agent.module)
        try agent.sign(with: "9A.pub")
    }

    @Test func agentForgetsTheKeysInTime() throws {
        let ssh = try OpenSSHCard(.ecP256)
        let agent = try ssh.startAgent()
        try agent.add("-t", "2", "-s", agent.module)
        try agent.sign(with: "9A.pub")
        let listing = ["ssh-add", "-l"]
        try eventually { try ssh.card.run(listing, agent.variables).status != 0 }
        #expect(try ssh.card.fail(listing, agent.variables).contains("no identities"))
        #expect(try ssh.card.fail(["ssh-add", "-T", ssh.card.path("9A.pub")], agent.variables).isEmpty == false)
    }

    @Test func agentAsksBeforeEachUseWhereItWasToldTo() throws {
        let ssh = try OpenSSHCard(.ecP256)
        let agent = try ssh.startAgent(ssh.asking)
        try agent.add("-c", "-s", agent.module)
        try ssh.card.folder.writeProgram("askpass", "echo \"$1\" >>'\(ssh.card.path("asked"))'; echo yes")
        try agent.sign(with: "9A.pub")
        #expect(ssh.questions.count { $0.hasPrefix("Allow use of key") } == 1)
        try ssh.card.folder.writeProgram("askpass", "exit 1")
        let refused = try ssh.card.fail(["ssh-add", "-T", ssh.card.path("9A.pub")], agent.variables)
        #expect(refused.contains("agent refused operation"))
    }

    @Test func agentUsesAKeyForTheServerAloneThatItIsFor() throws {
        let ssh = try OpenSSHCard(.ecP256)
        let server = try ssh.startServer(admitting: "9A.pub")
        let agent = try ssh.startAgent()
        try agent.add("-H", ssh.card.path("known"), "-h", "[127.0.0.1]:\(server.port)", "-s", agent.module)
        try server.signIn([], agent.variables)
        try agent.add("-e", agent.module)
        // Another server's key, under a name of its own.
        try ssh.card.folder.write("others", "elsewhere " + ssh.card.text("9C.pub"))
        try agent.add("-H", ssh.card.path("others"), "-h", "elsewhere", "-s", agent.module)
        try server.refuse([], agent.variables)
    }

    @Test func aServerShowsACardsKeyThroughTheAgent() throws {
        let ssh = try OpenSSHCard(.ecP256)
        let agent = try ssh.startAgent()
        try agent.add("-s", agent.module)
        let server = try ssh.startServer(admitting: "9A.pub", hostKey: ("9A.pub", agent))
        try server.signIn([], agent.variables)
        #expect(try ssh.card.text("known").contains("ecdsa-sha2-nistp256"))
    }

    /// The agent cannot give a second PIN: it refuses a key that needs the PIN each time, and goes on with the others.
    @Test func agentGoesOnAfterAKeyThatItCannotUse() throws {
        let ssh = try OpenSSHCard(.ecP256)
        let agent = try ssh.startAgent()
        try agent.add("-s", agent.module)
        let refused = try ssh.card.fail(["ssh-add", "-T", ssh.card.path("9C.pub")], agent.variables)
        #expect(refused.contains("agent refused operation"))
        try agent.add("-T", ssh.card.path("9A.pub"))
    }

    @Test(arguments: kinds) func agentUsesEveryKeyWhereTheModuleAsks(kind: KeyKind) throws {
        let ssh = try OpenSSHCard(kind)
        let server = try ssh.startServer(admitting: "9C.pub")
        try ssh.card.writePinentry()
        let agent = try ssh.startAgent([
            "TOKENKIT_PKCS11_PROMPT": "ssh-pkcs11-helper", "PINENTRY_PROGRAM": ssh.card.path("pinentry"),
        ])
        // The answer to ssh-add is not the PIN, and must not be tried as one.
        try ssh.card.folder.writeProgram("askpass", "echo 000000")
        try agent.add("-s", agent.module)
        #expect(try ssh.card.pinentryQuestions.isEmpty)
        try agent.add("-T", ssh.card.path("9C.pub"))
        try agent.sign(with: "9C.pub")
        try server.signIn([], agent.variables)
        let questions = try ssh.card.pinentryQuestions
        #expect(questions.count == 3)
        #expect(questions.allSatisfy { $0.contains(ConsumerCard.label) && $0.contains("key 9C, 3 tries left") })
        try agent.sign(with: "9A.pub")
    }

    /// ssh-add tries the PIN on every token of a module.
    @Test func givesThePINToNoOtherTokenWhereTheModulesNameSaysCards() throws {
        let ssh = try OpenSSHCard(.ecP256)
        try ssh.card.succeed([Program.command, "create-keychain", "-p", "secret"])
        let log = ssh.card.path("calls")
        let cardsOnly = URL(filePath: ssh.card.path("libtokenkit-pkcs11-cards.so")).resolvingSymlinksInPath().path()
        try ModuleProgram.copy(to: cardsOnly)
        for (module, logins) in [(ConsumerCard.module, 2), (cardsOnly, 1)] {
            let agent = try ssh.startAgent(["TOKENKIT_DEBUG": log], module: module)
            try agent.add("-s", module)
            let calls = try ssh.card.text("calls").split(separator: "\n").filter { $0.contains(" C_Login ") }
            #expect(calls.count == logins, "\(calls)")
            try agent.sign(with: "9A.pub")
            try FileManager.default.removeItem(atPath: log)
        }
    }

    @Test func certifiesUsersKeys() throws {
        let ssh = try OpenSSHCard(.rsa(bits: 2048), signing: .ecP256)
        try ssh.card.succeed(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", ssh.card.path("user")])
        for authority in ["9A.pub", "9C.pub"] {
            try ssh.card.succeed(
                [
                    "ssh-keygen", "-D", ConsumerCard.module, "-s", ssh.card.path(authority), "-I", "Jo", "-n", "jo",
                    ssh.card.path("user.pub"),
                ], ssh.asking)
            let certificate = try ssh.card.succeed(["ssh-keygen", "-L", "-f", ssh.card.path("user-cert.pub")])
            let fingerprint = try ssh.card.output(of: ["ssh-keygen", "-l", "-f", ssh.card.path(authority)])
            #expect(certificate.contains(try #require(fingerprint.split(separator: " ").dropFirst().first)))
        }
    }
}

/// Git signs commits and tags with a card's key, through OpenSSH.
@Suite struct GitTests {
    @Test(arguments: OpenSSHTests.kinds) func signsCommitsAndTags(kind: KeyKind) throws {
        let ssh = try OpenSSHCard(kind)
        let agent = try ssh.startAgent()
        try agent.add("-s", agent.module)
        try ssh.card.folder.write("allowed", "jo@example.com " + ssh.card.text("9A.pub"))
        let repository = ssh.card.path("repository")
        let settings = [
            "user.name=Jo", "user.email=jo@example.com", "gpg.format=ssh", "user.signingkey=" + ssh.card.path("9A.pub"),
            "gpg.ssh.allowedSignersFile=" + ssh.card.path("allowed"),
        ]
        func git(_ arguments: String...) throws -> String {
            let command = ["git", "-C", repository] + settings.flatMap { ["-c", $0] } + arguments
            return try ssh.card.succeed(command, agent.variables)
        }
        try ssh.card.succeed(["git", "init", "--quiet", repository])
        _ = try git("commit", "--gpg-sign", "--allow-empty", "--message=One")
        _ = try git("tag", "--sign", "--message=Two", "two")
        let good = "Good \"git\" signature for jo@example.com"
        #expect(try git("verify-commit", "--verbose", "HEAD").contains(good))
        #expect(try git("verify-tag", "two").contains(good))
        #expect(try git("log", "--show-signature").contains(good))
    }
}
