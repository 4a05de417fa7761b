import SystemCrypto
import TestSupport
import Testing

/// Programs make keys in a keychain, and find them again by the id that they gave them.
@Suite struct KeyGenerationTests {
    private static let tokenctl = Program.command
    private static let password = "secret"

    /// A home with a keychain, the one token that programs are shown.
    private let card: ConsumerCard

    init() throws {
        card = try ConsumerCard(["9A": .ecP256], variables: ["TOKENKIT_PKCS11_TOKENS": "keychains"])
        try card.succeed([Self.tokenctl, "create-keychain", "-p", Self.password])
    }

    @discardableResult
    private func pkcs11Tool(_ options: String...) throws -> String {
        try card.succeed(
            ["pkcs11-tool", "--module", ConsumerCard.module, "--login", "--pin", Self.password] + options)
    }

    private func sign(_ id: String) throws {
        try pkcs11Tool(
            "--sign", "--id", id, "--mechanism", "ECDSA-SHA256", "--signature-format", "openssl", "-i",
            card.path("message"), "-o", card.path("signature"))
        try pkcs11Tool("--read-object", "--type", "pubkey", "--id", id, "-o", card.path("key.der"))
        let verdict = try card.succeed([
            "openssl", "dgst", "-sha256", "-verify", card.path("key.der"), "-keyform", "DER", "-signature",
            card.path("signature"), card.path("message"),
        ])
        #expect(verdict.contains("Verified OK"))
    }

    @Test func withPKCS11ToolWhichAlsoChangesTheId() throws {
        try pkcs11Tool("--keypairgen", "--key-type", "EC:prime256v1", "--id", "01", "--label", "mine")
        try sign("01")
        try pkcs11Tool("--type", "privkey", "--id", "01", "--set-id", "02")
        try sign("02")
        let uris = try card.uris("find-key", "login")
        #expect(uris.count == 2)
        #expect(uris.allSatisfy { $0.contains(";id=%02;") }, "\(uris)")
    }

    @Test func withGnuTLS() throws {
        try card.succeed(
            [
                "p11tool", "--provider", ConsumerCard.module, "--login", "--generate-ecc", "--curve", "secp256r1",
                "--id", "05", "--label", "mine", "--outfile", card.path("key.pem"), "pkcs11:token=login",
            ], ["GNUTLS_PIN": Self.password])
        try sign("05")
        let uri = "pkcs11:token=login;id=%05;type=private?pin-value=\(Self.password)"
        try card.succeed([Self.tokenctl, "sign", "--key", uri, "-o", card.path("signature"), card.path("message")])
    }

    /// Java makes a key, a certificate of it, and names both by the alias.
    @Test func withJavaWhichSignsWithThem() throws {
        let slots = try card.succeed(["pkcs11-tool", "--module", ConsumerCard.module, "--list-token-slots"])
        let slot = try #require(slots.firstMatch(of: /Slot 0 \(0x([0-9a-f]+)\)/).flatMap { Int($0.1, radix: 16) })
        let settings = card.path("java.cfg")
        try card.folder.write("java.cfg", "name = Keychain\nlibrary = \(ConsumerCard.module)\nslot = \(slot)\n")
        let store = [
            "-keystore", "NONE", "-storetype", "PKCS11", "-storepass", Self.password, "-providerClass",
            "sun.security.pkcs11.SunPKCS11", "-providerArg", settings,
        ]
        try card.succeed(
            ["keytool", "-genkeypair", "-alias", "web", "-keyalg", "EC", "-groupname", "secp256r1", "-dname", "CN=web"]
                + store)
        let listing = try card.succeed(["keytool", "-list"] + store)
        #expect(listing.contains("web, PrivateKeyEntry"), "\(listing)")
        let archive = card.path("archive.jar")
        try card.succeed(["jar", "--create", "--file", archive, "-C", card.folder.path, "message"])
        try card.succeed(["jarsigner"] + store + [archive, "web"])
        #expect(try card.succeed(["jarsigner", "-verify", archive]).contains("jar verified."))
        #expect(try card.uris("find-identity").contains { $0.contains(";id=%77%65%62") })
        try card.succeed(["keytool", "-delete", "-alias", "web"] + store)
        #expect(try card.succeed(["keytool", "-list"] + store).contains("contains 0 entries"))
    }
}
