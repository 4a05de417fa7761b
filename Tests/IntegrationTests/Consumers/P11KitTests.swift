import Foundation
import SystemCrypto
import TestSupport
import Testing

/// p11-kit shows the module to programs: in their own process, and in another process that only p11-kit talks to.
@Suite struct P11KitTests {
    static let lines = ["module: \(ConsumerCard.module)", "remote: |p11-kit remote \(ConsumerCard.module)"]

    @Test func readsTheFileThatIsInstalled() throws {
        let card = try ConsumerCard(["9A": .ecP256])
        let installed = try Repository.text("Sources/PKCS11Module/tokenkit.module")
        let file = installed.replacing("@MODULE@", with: ConsumerCard.module)
        let listing = try card.succeed(configured(card, file, ["p11-kit", "list-modules"]))
        #expect(listing.contains("token: \(ConsumerCard.label)"))
        #expect(listing.contains("serial-number: 7654321"))
    }

    @Test(arguments: lines) func showsTheModuleToItsPrograms(line: String) throws {
        let card = try ConsumerCard(["9A": .rsa(bits: 2048), "9C": .ecP256])
        #expect(
            try card.succeed(configured(card, line, ["p11-kit", "list-modules"])).contains(
                "token: \(ConsumerCard.label)"))
        let certificates = try card.succeed(
            configured(card, line, ["p11tool", "--list-all-certs", ConsumerCard.token]))
        #expect(certificates.contains("Label: PIV Authentication"))
        #expect(certificates.contains("Label: Digital Signature"))
    }

    @Test(arguments: lines) func signsThroughTheProxy(line: String) throws {
        let card = try ConsumerCard(["9A": .rsa(bits: 2048), "9C": .ecP256])
        for (reference, identifier) in [("9A", "01"), ("9C", "02")] {
            try sign(card, reference, identifier, through: .p11KitProxy) { configured(card, line, $0) }
        }
    }

    @Test func signsThroughAServer() throws {
        let card = try ConsumerCard(["9A": .rsa(bits: 2048), "9C": .ecP256])
        let address = card.path("p11-kit")
        // The server prints its address once it listens. A test connection would disturb the next one.
        let server = try card.serve(
            [
                "p11-kit", "server", "--foreground", "--provider", ConsumerCard.module, "-n", address,
                ConsumerCard.token,
            ],
            named: "p11-kit-server"
        ) { try card.text("p11-kit-server.log").contains("P11_KIT_SERVER_PID") }
        let client = ["P11_KIT_SERVER_ADDRESS": "unix:path=\(address)"]
        for (reference, identifier) in [("9A", "01"), ("9C", "02")] {
            try sign(card, reference, identifier, through: .p11KitClient, client) { $0 }
        }
        let write = [
            "pkcs11-tool", "--module", PKCS11Module.p11KitClient.path, "--login", "--pin", ConsumerCard.pin,
            "--write-object", card.path("message"), "--type", "data", "--label", "message",
        ]
        #expect(try card.fail(write, client).contains("CKR_TOKEN_WRITE_PROTECTED"))
        #expect(server.isRunning)
    }

    private func sign(
        _ card: ConsumerCard, _ reference: String, _ identifier: String, through module: PKCS11Module,
        _ variables: [String: String] = [:], _ configured: ([String]) -> [String]
    ) throws {
        // p11-kit 0.24 does not pass on ECDSA mechanisms that digest.
        let digest = ["openssl", "dgst", "-sha256", "-binary", "-out", card.path("digest"), card.path("message")]
        try card.succeed(digest)
        let (mechanism, input) = reference == "9A" ? ("SHA256-RSA-PKCS", "message") : ("ECDSA", "digest")
        try card.succeed(
            configured([
                "pkcs11-tool", "--module", module.path, "--token-label", ConsumerCard.label, "--login", "--pin",
                ConsumerCard.pin, "--id", identifier, "--sign", "--mechanism", mechanism, "--signature-format",
                "openssl", "-i", card.path(input), "-o", card.path("signature"),
            ]), variables)
        let certificate = ["openssl", "x509", "-in", card.path("\(reference).pem"), "-noout", "-pubkey"]
        let publicKey = try card.folder.write("key.pub", card.output(of: certificate))
        let answer = try card.succeed([
            "openssl", "dgst", "-sha256", "-verify", publicKey, "-signature", card.path("signature"),
            card.path("message"),
        ])
        #expect(answer.contains("Verified OK"))
    }

    private func configured(_ card: ConsumerCard, _ configuration: String, _ command: [String]) -> [String] {
        card.configured("tokenkit", configuration, command)
    }
}

extension ConsumerCard {
    /// The command that runs another one where p11-kit knows only one module.
    ///
    /// - Parameters:
    ///   - name: the name of the module in p11-kit.
    ///   - configuration: the text of the module's file.
    func configured(_ name: String, _ configuration: String, _ command: [String]) -> [String] {
        P11KitSettings.command(command, knowing: name, configuration, in: path("."))
    }
}
