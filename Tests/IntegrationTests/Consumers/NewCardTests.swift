import Foundation
import TestSupport
import Testing
import VirtualCard

/// A card as its maker delivers it, made ready by `tokenctl card setup` alone, by single steps, or by a security officer of the module, in
/// its first uses.
@Suite struct NewCardTests {
    private static let profiles = CardProfile.all.filter {
        $0.transport.interface == .contact && !$0.quirks.contains(.noManagementKey)
    }

    @Test(arguments: profiles) func isUsedByEveryProgramAfterItsSetup(profile: CardProfile) throws {
        let new = try NewCard(profile)
        defer { new.host.stop() }
        #expect(try new.questions == ["Do this with the card?", "new PIN:", "new PUK:"])
        try useByEveryProgram(new)
        // The PIN of the setup counts for all programs. The others are questions whether a program may use a key.
        #expect(try new.questionsForSecrets == ["new PIN:", "new PUK:"])
    }

    @Test(arguments: profiles) func isUsedByEveryProgramAfterSingleSteps(profile: CardProfile) throws {
        let new = try NewCard(profile) { try $0.takeSteps(Self.isForRSA(profile) ? "rsa2048" : "p256") }
        defer { new.host.stop() }
        try useByEveryProgram(new)
        // The PIN for the first certificate counts for all programs. The key in 9C wants its own for each use.
        #expect(try new.questionsForSecrets == ["PIN:", "PIN:"])
    }

    @Test(arguments: profiles) func isUsedByEveryProgramAfterASecurityOfficer(profile: CardProfile) throws {
        let new = try NewCard(profile) { try $0.beOfficer(Self.isForRSA(profile) ? "rsa:2048" : "EC:prime256v1") }
        defer { new.host.stop() }
        #expect(try new.questions.isEmpty)
        try useByEveryProgram(new)
        #expect(try new.questionsForSecrets == ["PIN:"])
    }

    /// Whether the card's EC keys are weak (EUCLEAK), or want to hash by themselves, so that they sign no certificate.
    static func isForRSA(_ profile: CardProfile) -> Bool {
        profile.quirks.contains(.hashesOnCard) || [.yubiKey54, .yubiKey531].contains(profile)
    }

    /// Signs in by SSH, signs with git, shows a server the certificate, and decrypts a file.
    private func useByEveryProgram(_ new: NewCard) throws {
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
    }
}

/// A card that was made ready, with the answers of pinentry, and the session's host, which the programs use it through.
private struct NewCard {
    let card: ConsumerCard
    let ssh: OpenSSHCard
    let host: SessionHost
    let variables: [String: String]

    /// - Parameter makeReady: makes the card ready in another way than by `card setup`.
    init(_ profile: CardProfile, by makeReady: ((Maker) throws -> Void)? = nil) throws {
        card = try ConsumerCard(new: profile)
        // Without a setup the PIN stays the factory's.
        try Self.writePinentry(card, pin: makeReady == nil ? ClientCard.newPIN : ConsumerCard.pin)
        variables = [
            "PINENTRY_PROGRAM": card.path("pinentry"), "TOKENKIT_HOST": "session",
            "SSH_AUTH_SOCK": card.path("run/tokenkit/ssh.sock"),
        ]
        host = SessionHost(at: card.path("run"), card.environment.merging(variables) { $1 })
        try host.start()
        if let makeReady {
            try makeReady(Maker(card: card, variables: variables))
        } else {
            // An EC key that wants to hash by itself does not sign its own certificate.
            let kind = profile.quirks.contains(.hashesOnCard) ? ["-a", "rsa2048"] : []
            try card.succeed([Program.command, "card", "setup", "-c", "Key 9A"] + kind, variables)
        }
        ssh = try OpenSSHCard(card)
    }

    /// Writes the certificates of the card to files, where other programs of a consumer expect them.
    func exportCertificates() throws {
        try card.succeed([Program.command, "export-smartcard", "-e", card.path("card")], variables)
        // A key that has certified itself has itself as its authority.
        for file in ["9A.pem", "ca.pem"] where !FileManager.default.fileExists(atPath: card.path(file)) {
            try card.folder.write(file, card.text("card/9A.crt"))
        }
    }

    /// Writes "pinentry", which gives a PIN, a new PUK and any consent, and writes down the questions.
    private static func writePinentry(_ card: ConsumerCard, pin: String) throws {
        try card.folder.write("questions", "")
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
                        case $prompt in *PUK*) echo 'D 11122233' ;; *) echo 'D \(pin)' ;; esac ;;
                    BYE) exit ;;
                esac
                echo OK
            done
            """)
    }

    /// The questions that were asked so far.
    var questions: [String] { get throws { try card.text("questions").split(separator: "\n").map(String.init) } }

    /// Those for a PIN or PUK, without the questions whether a program may use a key.
    var questionsForSecrets: [String] { get throws { try questions.filter { $0.hasSuffix(":") } } }
}

/// Makes a card ready without `card setup`.
private struct Maker {
    let card: ConsumerCard
    let variables: [String: String]

    private static let managementKey = String(repeating: "0102030405060708", count: 3)
    /// The slots with the numbers of their keys in the module.
    private static let slots = ["9A": "01", "9C": "02", "9D": "03"]

    /// Each key and its certificate by a command of its own.
    func takeSteps(_ kind: String) throws {
        try card.folder.write("management", Self.managementKey)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: card.path("management"))
        let source = ["--management-key-source", "file:" + card.path("management")]
        for slot in Self.slots.keys.sorted() {
            try card.succeed([Program.command, "card", "generate", slot, "-a", kind] + source, variables)
            try card.succeed([Program.command, "card", "self-sign", slot, "-c", "Key \(slot)"] + source, variables)
        }
    }

    /// Keys and certificates by `pkcs11-tool`, which has the certificates from an authority.
    func beOfficer(_ kind: String) throws {
        let tool = ["pkcs11-tool", "--module", ConsumerCard.module]
        let officer = tool + ["--login", "--login-type", "so", "--so-pin", Self.managementKey]
        let variables = variables.merging(["TOKENKIT_PKCS11_TOKENS": "cards"]) { $1 }
        try card.succeed([
            "openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=Authority", "-keyout",
            card.path("ca.key"), "-out", card.path("ca.pem"),
        ])
        for (slot, id) in Self.slots.sorted(by: { $0.key < $1.key }) {
            let (key, file) = (card.path("\(slot).der"), card.path("\(slot).pem"))
            try card.succeed(officer + ["--keypairgen", "--key-type", kind, "--id", id], variables)
            try card.succeed(tool + ["--read-object", "--type", "pubkey", "--id", id, "-o", key], variables)
            try card.succeed(["openssl", "pkey", "-pubin", "-inform", "DER", "-in", key, "-out", key + ".pem"])
            let request = ["openssl", "req", "-new", "-key", card.path("ca.key"), "-subj", "/CN=Key \(slot)", "-out"]
            try card.succeed(request + [key + ".csr"])
            try card.succeed([
                "openssl", "x509", "-req", "-in", key + ".csr", "-force_pubkey", key + ".pem", "-CA",
                card.path("ca.pem"),
                "-CAkey", card.path("ca.key"), "-days", "30", "-out", file,
            ])
            try card.succeed(["openssl", "x509", "-in", file, "-outform", "DER", "-out", key])
            try card.succeed(officer + ["--write-object", key, "--type", "cert", "--id", id], variables)
        }
    }
}
