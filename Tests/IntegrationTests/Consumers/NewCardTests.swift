import Foundation
import TestSupport
import Testing
import VirtualCard

/// A card as its maker delivers it, made ready by `tokenctl card setup` alone, in its first uses.
@Suite struct NewCardTests {
    private static let profiles = CardProfile.all.filter {
        $0.transport.interface == .contact && !$0.quirks.contains(.noManagementKey)
    }

    @Test(arguments: profiles) func signsInWithSSH(profile: CardProfile) throws {
        let card = try NewCard(profile)
        defer { card.host.stop() }
        #expect(card.questionsOfSetup == ["Do this with the card?", "new PIN:", "new PUK:"])
        let server = try card.ssh.startServer(admitting: "9A.pub")
        try server.signIn([], card.variables)
    }

    @Test(arguments: [CardProfile.yubiKey57, .pivApplet]) func isUsedByEveryProgram(profile: CardProfile) throws {
        let new = try NewCard(profile)
        defer { new.host.stop() }
        let (card, ssh) = (new.card, new.ssh)
        try ssh.startServer(admitting: "9A.pub").signIn([], new.variables)

        try card.folder.write("allowed", "jo@example.com " + card.text("9A.pub"))
        let git = [
            "git", "-C", card.path("repository"), "-c", "user.name=Jo", "-c", "user.email=jo@example.com", "-c",
            "gpg.format=ssh", "-c", "user.signingkey=" + card.path("9A.pub"), "-c",
            "gpg.ssh.allowedSignersFile=" + card.path("allowed"),
        ]
        try card.succeed(["git", "init", "--quiet", card.path("repository")])
        try card.succeed(git + ["commit", "-S", "--allow-empty", "--message=One"], new.variables)
        #expect(
            try card.succeed(git + ["verify-commit", "--verbose", "HEAD"], new.variables)
                .contains("Good \"git\" signature for jo@example.com"))

        try new.exportCertificates()
        let engine = EngineCard(card)
        let server = try DemandingServer(engine)
        let page = try engine.openssl(
            [
                "s_client", "-connect", "127.0.0.1:\(server.port)", "-quiet", "-servername", "localhost", "-CAfile",
                server.certificate, "-verify_return_error", "-cert", card.path("9A.pem"),
            ] + EngineCard.form + ["-key", "pkcs11:id=%01;type=private"], new.variables,
            input: "GET / HTTP/1.0\r\n\r\n")
        server.expect(page, version: "1.3")

        let (recipient, encrypted) = (card.path("card/9D.crt"), card.path("encrypted"))
        try card.succeed([
            "openssl", "cms", "-encrypt", "-binary", "-aes256", "-in", card.path("message"), "-outform", "DER", "-out",
            encrypted, "-recip", recipient,
        ])
        try engine.openssl(
            ["cms", "-decrypt", "-binary", "-inform", "DER", "-in", encrypted, "-recip", recipient] + EngineCard.form
                + ["-inkey", "pkcs11:id=%03;type=private", "-out", card.path("decrypted")], new.variables)
        #expect(try card.folder.read("decrypted") == ClientCard.message)
        // The PIN of the setup counts for all programs. The others are questions whether a program may use a key.
        #expect(try new.questions.filter { $0.hasSuffix(":") } == ["new PIN:", "new PUK:"])
    }
}

/// A card that was set up with the answers of pinentry, and the session's host, which the programs use it through.
private struct NewCard {
    let card: ConsumerCard
    let ssh: OpenSSHCard
    let host: SessionHost
    let variables: [String: String]

    /// The questions that the setup asked.
    let questionsOfSetup: [String]

    init(_ profile: CardProfile) throws {
        card = try ConsumerCard(new: profile)
        try Self.writePinentry(card)
        variables = [
            "PINENTRY_PROGRAM": card.path("pinentry"), "TOKENKIT_HOST": "session",
            "SSH_AUTH_SOCK": card.path("run/tokenkit/ssh.sock"),
        ]
        host = SessionHost(at: card.path("run"), card.environment.merging(variables) { $1 })
        try host.start()
        // An EC key that wants to hash by itself does not sign its own certificate.
        let kind = profile.quirks.contains(.hashesOnCard) ? ["-a", "rsa2048"] : []
        try card.succeed([Program.command, "card", "setup", "-c", "Key 9A"] + kind, variables)
        questionsOfSetup = try Self.questions(of: card)
        ssh = try OpenSSHCard(card)
    }

    /// Writes the certificates of the card to files, where other programs of a consumer expect them.
    func exportCertificates() throws {
        try card.succeed([Program.command, "export-smartcard", "-e", card.path("card")], variables)
        // The key has certified itself: whoever trusts it has its certificate.
        for file in ["9A.pem", "ca.pem"] { try card.folder.write(file, card.text("card/9A.crt")) }
    }

    /// Writes "pinentry", which gives a new PIN, a new PUK and any consent, and writes down the questions.
    private static func writePinentry(_ card: ConsumerCard) throws {
        try card.folder.writeProgram(
            "pinentry",
            """
            echo 'OK ready'
            while read -r command text; do
                case $command in
                    SETDESC) question=$text ;;
                    SETPROMPT) prompt=$text ;;
                    SETREPEAT) repeated='S PIN_REPEATED' ;;
                    CONFIRM) echo "$question" >>'\(card.path("questions"))' ;;
                    GETPIN)
                        echo "$prompt" >>'\(card.path("questions"))'
                        [ -z "$repeated" ] || echo "$repeated"
                        case $prompt in *PUK*) echo 'D 11122233' ;; *) echo 'D 111222' ;; esac ;;
                    BYE) exit ;;
                esac
                echo OK
            done
            """)
    }

    /// The questions that were asked so far.
    var questions: [String] { get throws { try Self.questions(of: card) } }

    private static func questions(of card: ConsumerCard) throws -> [String] {
        try card.text("questions").split(separator: "\n").map(String.init)
    }
}
