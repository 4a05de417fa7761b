import SystemCrypto
import TestSupport
import Testing

/// Programs make keys in a keychain, and find them again by the id that they gave them.
@Suite struct KeyGenerationTests {
    private static let tokenctl = Program.command
    private static let password = "secret"

    /// A home with a keychain, the only token that programs see.
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

    /// A file that is encrypted and decrypted again.
    private func encrypt(_ id: String) throws {
        let how = ["--mechanism", "AES-CBC-PAD", "--iv", "000102030405060708090a0b0c0d0e0f", "--id", id]
        let tool = ["pkcs11-tool", "--module", ConsumerCard.module, "--login", "--pin", Self.password]
        try card.succeed(tool + ["--encrypt", "-i", card.path("message"), "-o", card.path("encrypted")] + how)
        try card.succeed(tool + ["--decrypt", "-i", card.path("encrypted"), "-o", card.path("decrypted")] + how)
        #expect(try card.folder.read("decrypted") == card.folder.read("message"))
    }

    @Test func ofSecretKeysWithPKCS11ToolWhichBringsWrapsAndUnwrapsThemToo() throws {
        try pkcs11Tool("--keygen", "--key-type", "AES:32", "--id", "07", "--label", "generated")
        try encrypt("07")
        // With the imported key the plaintext of SP 800-38A encrypts to 7649abac….
        try card.folder.write("aes.key", [UInt8](hex: "2b7e151628aed2a6abf7158809cf4f3c"))
        try pkcs11Tool(
            "--write-object", card.path("aes.key"), "--type", "secrkey", "--key-type", "AES:16", "--id", "08",
            "--label", "brought", "--extractable")
        try encrypt("08")
        try card.folder.write("block", [UInt8](hex: "6bc1bee22e409f96e93d7e117393172a"))
        try pkcs11Tool(
            "--encrypt", "--mechanism", "AES-CBC", "--iv", "000102030405060708090a0b0c0d0e0f", "--id", "08", "-i",
            card.path("block"), "-o", card.path("out"))
        #expect(try card.folder.read("out") == .init(hex: "7649abac8119b246cee98e9b12e9197d"))
        try pkcs11Tool("--keypairgen", "--key-type", "rsa:2048", "--id", "09", "--label", "wrapping")
        try pkcs11Tool(
            "--wrap", "--mechanism", "RSA-PKCS", "--id", "09", "--application-id", "08", "-o", card.path("wrapped"))
        try pkcs11Tool(
            "--unwrap", "--mechanism", "RSA-PKCS", "--id", "09", "-i", card.path("wrapped"), "--key-type", "AES:",
            "--application-id", "0a", "--application-label", "unwrapped", "--extractable")
        try encrypt("0a")
        let listing = try pkcs11Tool("--list-objects", "--type", "secrkey")
        for label in ["generated", "brought", "unwrapped"] { #expect(listing.contains(label), "\(listing)") }
        try pkcs11Tool("--delete-object", "--type", "secrkey", "--id", "08")
        #expect(try !pkcs11Tool("--list-objects", "--type", "secrkey").contains("brought"))
        let uris = try card.uris("find-key", "login")
        #expect(uris.contains { $0.contains(";id=%07;") && $0.contains("type=secret-key") }, "\(uris)")
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

    /// Java makes a key and its certificate, and names both by the alias.
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
