import TestSupport
import Testing
import VirtualCard

/// Programs put keys and certificates on a blank card, as its security officer.
@Suite struct SecurityOfficerTests {
    private static let key = "010203040506070801020304050607080102030405060708"
    static let profiles: [CardProfile] = [.yubiKey57, .generic, .canoKey]

    /// A blank card, and an empty home.
    private struct Desk {
        let card: ClientCard
        let home: String

        init(_ profile: CardProfile) throws {
            card = try ClientCard(profile)
            home = card.folder.path("home")
            try card.succeed(["mkdir", "-m", "700", home, home + "/run"])
        }

        private func environment(_ variables: [String: String]) -> [String] {
            let places = ["HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"].map { "\($0)=\(home)" }
            let host = ["XDG_RUNTIME_DIR=\(home)/run", "TOKENKIT_HOST=private", "TOKENKIT_PKCS11_TOKENS=cards"]
            return ["env"] + places + host + variables.map { "\($0.key)=\($0.value)" }
        }

        @discardableResult
        func run(
            _ command: [String], _ variables: [String: String] = [:], at location: SourceLocation = #_sourceLocation
        ) throws -> String {
            try card.succeed(environment(variables) + command, at: location)
        }

        func fail(_ command: [String], at location: SourceLocation = #_sourceLocation) throws -> String {
            try card.fail(environment([:]) + command, at: location)
        }

        func path(_ name: String) -> String { card.folder.path(name) }
    }

    private static let tool = ["pkcs11-tool", "--module", ConsumerCard.module]
    private static let officer = tool + ["--login", "--login-type", "so", "--so-pin", key]
    private static let user = tool + ["--login", "--pin", "123456"]

    @Test(arguments: profiles) func withPKCS11ToolFromABlankCardToASignature(_ profile: CardProfile) throws {
        let desk = try Desk(profile)
        let made = try desk.run(Self.officer + ["--keypairgen", "--key-type", "EC:prime256v1", "--id", "01"])
        #expect(made.contains("Key pair generated"), "\(made)")
        let again = try desk.fail(Self.officer + ["--keypairgen", "--key-type", "EC:prime256v1", "--id", "01"])
        #expect(again.contains("CKR_ATTRIBUTE_VALUE_INVALID"), "\(again)")
        try desk.run(Self.tool + ["--read-object", "--type", "pubkey", "--id", "01", "-o", desk.path("key.der")])
        try desk.card.openssl([
            "pkey", "-pubin", "-inform", "DER", "-in", desk.path("key.der"), "-out", desk.path("key.pem"),
        ])
        let certificate = try desk.card.certificate(for: desk.path("key.pem"), named: "Jo")
        try desk.card.openssl(["x509", "-in", certificate, "-outform", "DER", "-out", desk.path("jo.der")])
        try desk.run(Self.officer + ["--write-object", desk.path("jo.der"), "--type", "cert", "--id", "01"])
        #expect(try desk.run(Self.tool + ["--list-objects", "--type", "cert"]).contains("CN=Jo"))
        try desk.run(
            Self.user + [
                "--sign", "--id", "01", "--mechanism", "ECDSA-SHA256", "--signature-format", "openssl", "-i",
                desk.path("message"), "-o", desk.path("signature"),
            ])
        let verdict = try desk.card.openssl([
            "dgst", "-sha256", "-verify", desk.path("key.pem"), "-signature", desk.path("signature"),
            desk.path("message"),
        ])
        #expect(verdict.contains("Verified OK"))
    }

    @Test func withPKCS11ToolWhichBringsAKeyAndDeletesIt() throws {
        let desk = try Desk(.yubiKey57)
        for (kind, id) in [("rsa:2048", "01"), ("EC", "03")] {
            let options =
                kind == "EC"
                ? ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-384"]
                : ["-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"]
            try desk.card.openssl(["genpkey"] + options + ["-outform", "DER", "-out", desk.path("key.der")])
            try desk.run(Self.officer + ["--write-object", desk.path("key.der"), "--type", "privkey", "--id", id])
            let listing = try desk.run(Self.user + ["--list-objects", "--type", "privkey"])
            #expect(listing.contains("ID:         \(id)"), "\(listing)")
            try desk.run(Self.officer + ["--delete-object", "--type", "privkey", "--id", id])
            #expect(try !desk.run(Self.user + ["--list-objects", "--type", "privkey"]).contains("ID:         \(id)"))
        }
    }

    @Test func withPKCS11ToolAWrongManagementKeyIsRefused() throws {
        let desk = try Desk(.yubiKey57)
        let wrong = Self.tool + ["--login", "--login-type", "so", "--so-pin", String(repeating: "A5", count: 24)]
        let said = try desk.fail(wrong + ["--keypairgen", "--key-type", "EC:prime256v1", "--id", "01"])
        #expect(said.contains("CKR_PIN_INCORRECT"), "\(said)")
        let user = try desk.fail(Self.user + ["--keypairgen", "--key-type", "EC:prime256v1", "--id", "01"])
        #expect(user.contains("not supported"), "\(user)")
    }

    @Test(arguments: profiles) func withGnuTLSWhichGivesItsOwnIds(_ profile: CardProfile) throws {
        let desk = try Desk(profile)
        let tool = ["p11tool", "--provider", ConsumerCard.module]
        // The card gets its serial number, if it had none, with its first key.
        func token() throws -> String {
            let tokens = try desk.run(tool + ["--list-token-urls"])
            return try #require(tokens.split(separator: "\n").first { $0.hasPrefix("pkcs11:") }.map(String.init))
        }
        try desk.run(
            tool + [
                "--so-login", "--generate-ecc", "--curve", "secp256r1", "--label", "mine", "--outfile",
                desk.path("key.pem"), token(),
            ], ["GNUTLS_SO_PIN": Self.key])
        let certificate = try desk.card.certificate(for: desk.path("key.pem"), named: "Jo")
        try desk.run(
            tool + [
                "--so-login", "--write", "--load-certificate", certificate, "--no-mark-private", "--label", "mine",
                token(),
            ], ["GNUTLS_SO_PIN": Self.key])
        let listing = try desk.run(tool + ["--list-all-certs"])
        #expect(listing.contains("id=%01"), "\(listing)")
    }

    // MARK: Programs that know no security officer

    /// A card that keeps its management key, with a free slot, 9E, for a further key.
    private static func cardWithItsKey() throws -> Desk {
        let desk = try Desk(.yubiKey57)
        let source = try desk.card.secret("pin", ConsumerHome.pin)
        try desk.run(
            [Program.command, "card", "set-management-key", "--pin-source", source, "--management-key-source"]
                + [desk.card.secret("management", key)])
        return desk
    }

    @Test func withNSSAKeyIsMadeAndItsCertificatePutOnTheCard() throws {
        let desk = try Self.cardWithItsKey()
        let database = "sql:" + desk.path("nss")
        try desk.card.folder.write("password", "123456\n")
        try desk.run(["mkdir", desk.path("nss")])
        try desk.run(["certutil", "-N", "-d", database, "--empty-password"])
        try desk.run(["modutil", "-dbdir", database, "-add", "TokenKit", "-libfile", ConsumerCard.module, "-force"])
        let tokens = try desk.run(["certutil", "-U", "-d", database])
        let token = try #require(tokens.firstMatch(of: /slot: Virtual[^\n]*\n\s*token: ([^\n]+)/)?.1, "\(tokens)")
        let administers = ["TOKENKIT_PKCS11_ADMINISTER": "keytool,certutil"]
        let card = ["-d", database, "-h", String(token), "-f", desk.path("password")]
        try desk.card.folder.write("noise", String(repeating: "noise", count: 100))
        try desk.run(
            ["certutil", "-R"] + card + ["-k", "ec", "-q", "nistp256", "-s", "CN=Jo", "-a", "-z", desk.path("noise")]
                + ["-o", desk.path("jo.csr")], administers)
        try desk.card.openssl([
            "x509", "-req", "-in", desk.path("jo.csr"), "-CA", desk.path("ca.pem"), "-CAkey", desk.path("ca.key"),
            "-days", "30", "-out", desk.path("jo.pem"),
        ])
        try desk.run(
            ["certutil", "-A"] + card + ["-n", "jo", "-t", "u,u,u", "-a", "-i", desk.path("jo.pem")], administers)
        let listing = try desk.run(["certutil", "-L", "-d", database, "-h", "all"])
        #expect(listing.contains(/PIV Authentication +u,u,u/), "\(listing)")
        let others = try desk.fail(
            ["certutil", "-R"] + card + ["-k", "ec", "-q", "nistp256", "-s", "CN=Jo", "-z", desk.path("noise")])
        #expect(others.contains("certutil: "), "\(others)")
    }

    @Test func withJavaAKeyIsMadeAndCertified() throws {
        let desk = try Self.cardWithItsKey()
        try desk.card.folder.write(
            "java.cfg",
            """
            name = Card
            library = \(ConsumerCard.module)
            slotListIndex = 0
            attributes(generate,CKO_PRIVATE_KEY,*) = { CKA_TOKEN = true }
            """)
        let store = [
            "-keystore", "NONE", "-storetype", "PKCS11", "-addprovider", "SunPKCS11", "-providerArg",
            desk.path("java.cfg"), "-storepass", "123456",
        ]
        let administers = ["TOKENKIT_PKCS11_ADMINISTER": "keytool,certutil"]
        try desk.run(
            ["keytool", "-genkeypair", "-alias", "jo", "-keyalg", "EC", "-groupname", "secp256r1", "-dname", "CN=Jo"]
                + store, administers)
        let listing = try desk.run(["keytool", "-list"] + store)
        let alias = try #require(listing.firstMatch(of: /(?m)^([^\n]+), PrivateKeyEntry/)?.1, "\(listing)")
        // A card attests only what it has made itself.
        #expect(try desk.run([Program.command, "card", "attest", "9A"]).contains("BEGIN CERTIFICATE"))
        let archive = desk.path("archive.jar")
        try desk.run(["jar", "--create", "--file", archive, "-C", desk.card.folder.path, "message"])
        try desk.run(["jarsigner"] + store + [archive, String(alias)])
        #expect(try desk.run(["jarsigner", "-verify", archive]).contains("jar verified."))
    }
}
