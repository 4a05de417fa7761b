import Foundation
import SystemCrypto
import TestSupport
import Testing

/// OpenSSL uses a card's keys through the module and libp11's engine. Its results are checked without either.
@Suite struct EngineTests {
    /// An EC key in 9D is for key agreement, and does not sign.
    private static let signers = OpenSSHTests.kinds.flatMap { kind in
        if case .rsa = kind { [(kind, "9A"), (kind, "9D")] } else { [(kind, "9A"), (kind, "9E")] }
    }

    @Test(arguments: signers) func signsAndRequests(kind: KeyKind, reference: String) throws {
        let engine = try EngineCard([reference: kind])
        let (card, key) = (engine.card, engine.key(reference))
        for digest in ["sha256", "sha384", "sha512"] {
            try engine.openssl(
                ["dgst", "-\(digest)"] + EngineCard.form
                    + ["-sign", key, "-out", card.path("signature"), card.path("message")])
            try engine.expectSignature(by: reference, digest: digest)
        }
        let request = card.path("request")
        try engine.openssl(["req", "-new"] + EngineCard.form + ["-key", key, "-subj", "/CN=Jo", "-out", request])
        #expect(try card.succeed(["openssl", "req", "-in", request, "-verify", "-noout"]).contains("verify OK"))
        let certificate = ["openssl", "x509", "-in", card.path("\(reference).pem"), "-noout", "-pubkey"]
        let requested = ["openssl", "req", "-in", request, "-noout", "-pubkey"]
        #expect(try card.output(of: certificate) == card.output(of: requested))
    }

    @Test func signsWithProbabilisticPadding() throws {
        let engine = try EngineCard(["9A": .rsa(bits: 2048)])
        for (digest, salt) in [("sha256", "32"), ("sha256", "20"), ("sha512", "64")] {
            let padding = ["-sigopt", "rsa_padding_mode:pss", "-sigopt", "rsa_pss_saltlen:\(salt)"]
            try engine.openssl(
                ["dgst", "-\(digest)"] + EngineCard.form + padding
                    + ["-sign", engine.key("9A"), "-out", engine.card.path("signature"), engine.card.path("message")])
            try engine.expectSignature(by: "9A", digest: digest, padding)
        }
    }

    @Test func takesThePINFromAFile() throws {
        let engine = try EngineCard(["9A": .ecP256])
        let key = "\(ConsumerCard.token);id=%01;type=private?pin-source=\(engine.card.path("pin"))"
        try engine.openssl(
            ["dgst", "-sha256"] + EngineCard.form
                + ["-sign", key, "-out", engine.card.path("signature"), engine.card.path("message")])
        try engine.expectSignature(by: "9A")
    }

    @Test(arguments: OpenSSHTests.kinds) func signsDocuments(kind: KeyKind) throws {
        let engine = try EngineCard(["9A": kind])
        let signature = engine.card.path("document.p7s")
        var forms = [[], ["-cades"]]
        if case .rsa = kind { forms.append(["-keyopt", "rsa_padding_mode:pss"]) }
        for options in forms {
            try engine.openssl(
                [
                    "cms", "-sign", "-binary", "-md", "sha256", "-in", engine.card.path("message"), "-signer",
                    engine.card.path("9A.pem"),
                ] + EngineCard.form + ["-inkey", engine.key("9A")] + options + ["-outform", "DER", "-out", signature])
            let answer = try engine.card.succeed(
                [
                    "openssl", "cms", "-verify", "-binary", "-inform", "DER", "-in", signature, "-content",
                    engine.card.path("message"), "-CAfile", engine.card.path("ca.pem"), "-purpose", "any", "-out",
                    "/dev/null",
                ] + options.filter { $0 == "-cades" })
            #expect(answer.contains("erification successful"))
        }
    }

    @Test(arguments: OpenSSHTests.kinds) func decryptsDocuments(kind: KeyKind) throws {
        let engine = try EngineCard(["9D": kind])
        let (recipient, encrypted) = (engine.card.path("9D.pem"), engine.card.path("encrypted"))
        var forms: [[String]] = [[]]
        if case .rsa = kind { forms.append(["-keyopt", "rsa_padding_mode:oaep"]) }
        for options in forms {
            try engine.card.succeed(
                [
                    "openssl", "cms", "-encrypt", "-binary", "-aes256", "-in", engine.card.path("message"), "-outform",
                    "DER", "-out", encrypted, "-recip", recipient,
                ] + options)
            try engine.openssl(
                ["cms", "-decrypt", "-binary", "-inform", "DER", "-in", encrypted, "-recip", recipient]
                    + EngineCard.form + ["-inkey", engine.key("9D"), "-out", engine.card.path("decrypted")])
            #expect(try engine.card.folder.read("decrypted") == ClientCard.message)
        }
    }

    /// libp11 asks a person for the PIN of such a key, even if the URI has the PIN.
    @Test(arguments: OpenSSHTests.kinds) func signsWithAKeyThatWantsThePINEachTime(kind: KeyKind) throws {
        let engine = try EngineCard(["9C": kind])
        let command =
            ["openssl", "dgst", "-sha256"] + EngineCard.form
            + ["-sign", engine.key("9C"), "-out", engine.card.path("signature"), engine.card.path("message")]
        let dialogue = """
            set timeout 60
            spawn -noecho {*}$argv
            expect "PIN for Digital Signature:" { send "\(ConsumerCard.pin)\\r" } timeout { exit 90 } eof { exit 91 }
            expect eof
            exit [lindex [wait] 3]
            """
        let script = try engine.card.folder.write("dialogue", dialogue)
        try engine.card.succeed(["expect", "-f", script] + command, EngineCard.variables)
        try engine.expectSignature(by: "9C")
    }

    /// The module asks by itself, without a terminal.
    @Test(arguments: OpenSSHTests.kinds) func signsWithSuchAKeyWhereTheModuleAsks(kind: KeyKind) throws {
        let engine = try EngineCard(["9C": kind])
        try engine.card.writePinentry()
        let prompt = ["TOKENKIT_PKCS11_PROMPT": "openssl", "PINENTRY_PROGRAM": engine.card.path("pinentry")]
        try engine.openssl(
            ["dgst", "-sha256"] + EngineCard.form
                + [
                    "-sign", "\(ConsumerCard.token);id=%02;type=private", "-out", engine.card.path("signature"),
                    engine.card.path("message"),
                ], prompt)
        try engine.expectSignature(by: "9C")
        #expect(try engine.card.pinentryQuestions.count == 1)
        // One start may be the check whether pinentry works.
        #expect(try engine.card.pinentryStarts <= 2)
    }

    @Test(arguments: ["9A", "9C", "9D"]) func whoCancelsIsNotAskedAgain(reference: String) throws {
        let engine = try EngineCard(["9A": .ecP256, "9C": .ecP256, "9D": .rsa(bits: 2048)])
        try engine.card.writePinentry(answering: "ERR 83886179 cancelled")
        let prompt = ["TOKENKIT_PKCS11_PROMPT": "openssl", "PINENTRY_PROGRAM": engine.card.path("pinentry")]
        let key = String(engine.key(reference).prefix { $0 != "?" })
        let arguments =
            ["dgst", "-sha256"] + EngineCard.form
            + ["-sign", key, "-out", engine.card.path("signature"), engine.card.path("message")]
        _ = try engine.card.fail(["openssl"] + arguments, EngineCard.variables.merging(prompt) { $1 })
        #expect(try engine.card.pinentryQuestions.count == 1)
    }

    /// The engine becomes OpenSSL's default, also for computations of the module with OpenSSL.
    @Test(arguments: OpenSSHTests.kinds) func usesKeysOfAKeychain(kind: KeyKind) throws {
        let engine = try EngineCard(["9A": .ecP256])
        let card = engine.card
        let tokenctl = Program.command
        try card.succeed([tokenctl, "create-keychain", "-p", "secret"])
        let options =
            switch kind {
            case .rsa: ["-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"]
            default: ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:\(kind == .ecP256 ? "P-256" : "P-384")"]
            }
        try card.succeed(["openssl", "genpkey", "-out", card.path("key.pem")] + options)
        try card.succeed(["openssl", "pkey", "-in", card.path("key.pem"), "-pubout", "-out", card.path("key.pub")])
        try card.succeed(
            [tokenctl, "import", card.path("key.pem"), "-l", "key", "--pin-source", "env:TEST_PASSWORD"],
            ["TEST_PASSWORD": "secret"])
        try engine.openssl(
            ["dgst", "-sha256"] + EngineCard.form
                + [
                    "-sign", "pkcs11:token=login;object=key;type=private?pin-value=secret", "-out",
                    card.path("signature"),
                    card.path("message"),
                ])
        #expect(
            try card.succeed([
                "openssl", "dgst", "-sha256", "-verify", card.path("key.pub"), "-signature", card.path("signature"),
                card.path("message"),
            ]).contains("Verified OK"))
    }
}

/// A card as OpenSSL's engine uses it.
struct EngineCard {
    let card: ConsumerCard

    static let variables = ["PKCS11_MODULE_PATH": ConsumerCard.module]

    /// The options that make OpenSSL take a key from the engine.
    static let form = ["-engine", "pkcs11", "-keyform", "engine"]

    init(_ keys: KeyValuePairs<String, KeyKind>) throws {
        self.init(try ConsumerCard(keys))
    }

    init(_ card: ConsumerCard) {
        self.card = card
    }

    /// The URI of a private key, and of the PIN.
    func key(_ reference: String) -> String {
        "\(ConsumerCard.token);id=%\(OpenSCCard.identifiers[reference] ?? "");type=private?pin-value=\(ConsumerCard.pin)"
    }

    @discardableResult
    func openssl(
        _ arguments: [String], _ variables: [String: String] = [:], input: String = "",
        at location: SourceLocation = #_sourceLocation
    ) throws -> String {
        try card.succeed(["openssl"] + arguments, Self.variables.merging(variables) { $1 }, input: input, at: location)
    }

    /// Checks the signature of the message with the certificate's key.
    func expectSignature(
        by reference: String, digest: String = "sha256", _ options: [String] = [],
        at location: SourceLocation = #_sourceLocation
    ) throws {
        let certificate = ["x509", "-in", card.path("\(reference).pem"), "-noout", "-pubkey"]
        let publicKey = try card.folder.write("key.pub", card.output(of: ["openssl"] + certificate, at: location))
        let answer = try card.succeed(
            ["openssl", "dgst", "-\(digest)", "-verify", publicKey] + options
                + ["-signature", card.path("signature"), card.path("message")], at: location)
        #expect(answer.contains("Verified OK"), sourceLocation: location)
    }
}
