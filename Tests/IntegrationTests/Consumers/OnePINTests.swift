import Foundation
import SystemCrypto
import TestSupport
import Testing
import VirtualCard

/// A day with one card: programs that know nothing of each other use it through the session's host, and the PIN is asked for once.
@Suite struct OnePINTests {
    private let card: ConsumerCard
    private let host: SessionHost
    /// The variables of every program; the host itself asks for the PIN.
    private let prompt: [String: String]

    init() throws {
        card = try ConsumerCard(["9A": .ecP256, "9C": .ecP256])
        try card.writePinentry()
        prompt = ["PINENTRY_PROGRAM": card.path("pinentry"), "TOKENKIT_HOST": "session"]
        host = SessionHost(at: card.path("run"), card.environment.merging(prompt) { $1 })
        try host.start()
    }

    private func questions() throws -> Int { try card.pinentryQuestions.count }

    /// URIs without a PIN.
    private static let key = "\(ConsumerCard.token);id=%01;type=private"
    private static let certificate = "\(ConsumerCard.token);id=%01;type=cert"

    @Test func onePINCountsForAllPrograms() throws {
        defer { host.stop() }
        let ssh = try OpenSSHCard(card)
        let engine = EngineCard(card)
        let server = try ssh.startServer(admitting: "9A.pub")
        for _ in 1...3 { try server.signIn(["-I", ConsumerCard.module], ssh.asking.merging(prompt) { $1 }) }
        #expect(try questions() == 1)
        #expect(ssh.questions.isEmpty, "ssh itself asks nothing")
        #expect(try card.pinentryPermissions.count == 2, "the program that gave the PIN is allowed")

        let demanding = try DemandingServer(engine)
        let url = "https://localhost:\(demanding.port)/"
        let page = try card.succeed(
            [
                "curl", "--silent", "--show-error", "--noproxy", "*", "--cacert", demanding.certificate, "--resolve",
                "localhost:\(demanding.port):127.0.0.1", "--engine", "pkcs11", "--cert-type", "ENG", "--key-type",
                "ENG",
                "--cert", Self.certificate, "--key", Self.key, url,
            ], EngineCard.variables.merging(prompt) { $1 })
        demanding.expect(page, version: "1.3")

        for _ in 1...2 {
            try engine.openssl(
                [
                    "cms", "-sign", "-binary", "-md", "sha256", "-in", card.path("message"), "-signer",
                    card.path("9A.pem"),
                ]
                    + EngineCard.form + ["-inkey", Self.key, "-outform", "DER", "-out", card.path("document.p7s")],
                prompt)
            try card.succeed([
                "openssl", "cms", "-verify", "-binary", "-inform", "DER", "-in", card.path("document.p7s"), "-content",
                card.path("message"), "-CAfile", card.path("ca.pem"), "-purpose", "any", "-out", "/dev/null",
            ])
        }
        let reply = try card.succeed(
            [
                "gnutls-cli", "--provider", ConsumerCard.module, "--x509cafile", demanding.certificate,
                "--x509certfile", Self.certificate, "--x509keyfile", Self.key, "-p", "\(demanding.port)", "localhost",
            ], prompt, input: "GET / HTTP/1.0\r\n\r\n")
        demanding.expect(reply, version: "1.3")
        try card.succeed(
            [
                "pkcs11-tool", "--module", ConsumerCard.module, "--login", "--sign", "--mechanism", "ECDSA-SHA256",
                "--id",
                "01", "--signature-format", "openssl", "--input-file", card.path("message"), "--output-file",
                card.path("signature"),
            ], prompt)
        try engine.expectSignature(by: "9A")
        try card.succeed(
            [Program.command, "sign", "-k", "9A", "-o", card.path("signature"), card.path("message")], prompt)
        try engine.expectSignature(by: "9A")
        #expect(try questions() == 1)
        #expect(try card.pinentryPermissions.count == 8)
        #expect(try card.pinentryPermissions.last?.contains("tokenctl") == true)
        #expect(host.privateHosts == 0)
        let status = try card.succeed([Program.command, "host", "status"], prompt)
        #expect(status.contains("The PIN of the card in 'Virtual PCD 00 00' counts for all programs."), "\(status)")
    }

    @Test func aDeveloperOfAnRSAKeyGivesOnePINADay() throws {
        host.stop()
        let card = try ConsumerCard(["9A": .rsa(bits: 2048), "9C": .ecP256])
        try card.writePinentry()
        let variables = [
            "PINENTRY_PROGRAM": card.path("pinentry"), "TOKENKIT_HOST": "session",
            "SSH_AUTH_SOCK": card.path("run/tokenkit/ssh.sock"), "PKCS11_MODULE_PATH": ConsumerCard.module,
        ]
        let host = SessionHost(at: card.path("run"), card.environment.merging(variables) { $1 })
        try host.start()
        defer { host.stop() }
        let ssh = try OpenSSHCard(card)
        let server = try ssh.startServer(admitting: "9A.pub")
        for _ in 1...3 { try server.signIn([], variables) }

        let repository = card.path("repository")
        try card.folder.write("allowed", "jo@example.com " + card.text("9A.pub"))
        let git = ["git", "-C", repository, "-c", "user.name=Jo", "-c", "user.email=jo@example.com"]
        let withSSH = [
            "-c", "gpg.format=ssh", "-c", "user.signingkey=" + card.path("9A.pub"), "-c",
            "gpg.ssh.allowedSignersFile=" + card.path("allowed"),
        ]
        try card.succeed(["git", "init", "--quiet", repository])
        try card.succeed(git + withSSH + ["commit", "-S", "--allow-empty", "--message=One"], variables)
        let verified = try card.succeed(git + withSSH + ["verify-commit", "--verbose", "HEAD"], variables)
        #expect(verified.contains("Good \"git\" signature for jo@example.com"))
        try card.folder.writeProgram(
            "git-cms",
            """
            openssl cms -sign -binary -md sha256 -signer '\(card.path("9A.pem"))' \(EngineCard.form.joined(separator: " ")) \
                -inkey '\(Self.key)' -outform PEM | sed 's/ CMS-/ SIGNED MESSAGE-/'
            echo '[GNUPG:] SIG_CREATED ' >&2
            """)
        let withCMS = ["-c", "gpg.format=x509", "-c", "gpg.x509.program=" + card.path("git-cms")]
        try card.succeed(git + withCMS + ["commit", "-S", "--allow-empty", "--message=Two"], variables)
        let commit = try card.output(of: git + ["cat-file", "commit", "HEAD"])
        #expect(commit.contains("gpgsig -----BEGIN SIGNED MESSAGE-----"), "\(commit)")

        let database = "sql:" + card.path("home")
        try card.succeed(["certutil", "-N", "-d", database, "--empty-password"])
        try card.succeed([
            "certutil", "-A", "-d", database, "-n", "Issuer", "-t", "CT,C,C", "-a", "-i", card.path("ca.pem"),
        ])
        try card.succeed(
            ["modutil", "-dbdir", database, "-add", "TokenKit", "-libfile", ConsumerCard.module, "-force"], variables)
        let (document, signed) = (try card.folder.write("in.pdf", ConsumerFiles.pdf), card.path("out.pdf"))
        try card.succeed(
            [
                // NSS wants a password of pdfsig also for a token that asks by itself, which does not get it.
                "pdfsig", "-nssdir", database, "-nss-pwd", "none", "-add-signature", "-nick",
                "\(ConsumerCard.label):\(CardSlotName.authentication.label)", document, signed,
            ], variables)
        let report = try card.succeed(["pdfsig", "-nssdir", database, "-no-ocsp", signed], variables)
        #expect(report.contains("Signature is Valid"), "\(report)")

        #expect(try card.pinentryQuestions.count == 1)
        #expect(ssh.questions.isEmpty)
        #expect(host.privateHosts == 0)
    }

    /// The programs of one session use the PIN of one card, while it is in.
    @Test func itEndsWithTheCardAndWithALock() throws {
        defer { host.stop() }
        func sign() throws {
            try card.succeed(
                [Program.command, "sign", "-k", "9A", "-o", card.path("signature"), card.path("message")], prompt)
        }
        for count in 1...2 {
            for _ in 1...2 { try sign() }
            #expect(try questions() == count)
            try card.replug()
        }
        try sign()
        #expect(try questions() == 3)
        try card.succeed([Program.command, "lock-keychain", "-a"], prompt)
        try sign()
        #expect(try questions() == 4)
    }

    @Test func aKeyThatWantsItEachTimeAsksEachTime() throws {
        defer { host.stop() }
        for count in 1...2 {
            try card.succeed(
                [Program.command, "sign", "-k", "9C", "-o", card.path("signature"), card.path("message")], prompt)
            #expect(try questions() == count)
        }
    }

    /// The host that keeps a PIN does not end for want of clients, and its end has the card forget the PIN.
    @Test func theHostsEndIsTheLogout() throws {
        try card.succeed(
            [Program.command, "sign", "-k", "9A", "-o", card.path("signature"), card.path("message")], prompt)
        let commands = card.holder.link.commandCount
        let process = try #require(try host.process)
        host.stop()
        #expect(eventually { kill(process, 0) != 0 })
        #expect(card.holder.link.commandCount > commands)
    }
}
