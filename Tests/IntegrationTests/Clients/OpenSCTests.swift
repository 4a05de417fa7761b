import Foundation
import TestSupport
import Testing
import VirtualCard

/// OpenSC takes the virtual card for a PIV card: it administers it, lists it, and uses its keys.
@Suite struct OpenSCTests {
    @Test func namesTheCard() throws {
        let card = try ClientCard(.generic)
        #expect(try card.succeed(["opensc-tool", "--name"]).contains("Personal Identity Verification Card"))
        #expect(try card.succeed(["opensc-tool", "--atr"]).contains("3b:dc:18:ff:81:91:fe:1f"))
        #expect(try card.succeed(["piv-tool", "--name"]).contains("Personal Identity Verification Card"))
    }

    @Test func listsKeysAndReadsCertificates() throws {
        let filled = try OpenSCCard(keys: ["9A": "07", "9C": "11", "9E": "14"])
        let listing = try filled.card.pkcs11(.openSC, ["--list-objects", "--login", "--pin", "123456"])
        for (reference, kind) in ["9A": "RSA", "9C": "EC", "9E": "EC"] {
            let identifier = try #require(OpenSCCard.identifiers[reference])
            #expect(listing.contains("DN: CN=Key \(reference)"))
            #expect(listing.contains(try Regex("Private Key Object; \(kind)[^\n]*\n(  [^\n]*\n)*  ID: +\(identifier)")))
            let file = filled.card.folder.path("read-\(reference)")
            _ = try filled.card.pkcs11(.openSC, ["--read-object", "--type", "cert", "--id", identifier, "-o", file])
            let subject = try filled.card.openssl(["x509", "-inform", "der", "-in", file, "-noout", "-subject"])
            #expect(subject.contains("CN = Key \(reference)"))
        }
    }

    @Test func readsACertificateByItsObject() throws {
        let filled = try OpenSCCard(keys: ["9A": "11"])
        let text = try filled.card.succeed(["pkcs15-tool", "--read-certificate", "01"])
        #expect(text.contains("BEGIN CERTIFICATE"))
    }

    @Test(arguments: [
        ("SHA256-RSA-PKCS", [String]()),
        ("SHA256-RSA-PKCS-PSS", ["-sigopt", "rsa_padding_mode:pss", "-sigopt", "rsa_pss_saltlen:digest"]),
    ])
    func signsWithRSA(mechanism: String, options: [String]) throws {
        let filled = try OpenSCCard(keys: ["9A": "07"])
        try sign(filled, "9A", mechanism, [])
        try filled.card.expectSignature("signature", by: filled.publicKey("9A"), options)
    }

    @Test(arguments: [("9A", "11"), ("9A", "14"), ("9C", "11"), ("9C", "14")])
    func signsWithAnEllipticCurve(reference: String, algorithm: String) throws {
        let filled = try OpenSCCard(keys: [reference: algorithm])
        let digest = algorithm == "11" ? "SHA256" : "SHA384"
        try sign(filled, reference, "ECDSA-\(digest)", ["--signature-format", "openssl"])
        try filled.card.expectSignature("signature", by: filled.publicKey(reference), digest: digest)
    }

    @Test func signsWithTheCardAuthenticationKeyWithoutAPIN() throws {
        let filled = try OpenSCCard(keys: ["9E": "11"])
        let folder = filled.card.folder
        try filled.card.openssl([
            "dgst", "-sha256", "-binary", "-out", folder.path("digest"), folder.path("message"),
        ])
        try filled.card.succeed([
            "pkcs15-crypt", "--sign", "--key", "04", "--sha-256", "--signature-format", "openssl", "--input",
            folder.path("digest"), "--output", folder.path("signature"),
        ])
        try filled.card.expectSignature("signature", by: filled.publicKey("9E"))
    }

    @Test(arguments: [
        (["--mechanism", "RSA-PKCS"], [String]()),
        (
            ["--mechanism", "RSA-PKCS-OAEP", "--hash-algorithm", "SHA-1", "--mgf", "MGF1-SHA1"],
            ["-pkeyopt", "rsa_padding_mode:oaep"]
        ),
    ])
    func decryptsWithRSA(mechanism: [String], options: [String]) throws {
        let filled = try OpenSCCard(keys: ["9D": "07"])
        let encrypted = try filled.card.encrypt(to: filled.publicKey("9D"), options)
        _ = try filled.card.pkcs11(
            .openSC,
            ["--login", "--pin", "123456", "--id", "03", "--decrypt"] + mechanism
                + ["-i", encrypted, "-o", filled.card.folder.path("decrypted")])
        #expect(try filled.card.folder.read("decrypted") == ClientCard.message)
    }

    @Test(arguments: [("11", "P-256"), ("14", "P-384")])
    func agreesOnASecret(algorithm: String, curve: String) throws {
        let filled = try OpenSCCard(keys: ["9D": algorithm])
        let folder = filled.card.folder
        let (ours, public_) = (folder.path("ours"), folder.path("ours.der"))
        try filled.card.openssl(["genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:\(curve)", "-out", ours])
        try filled.card.openssl(["pkey", "-in", ours, "-pubout", "-outform", "der", "-out", public_])
        _ = try filled.card.pkcs11(
            .openSC,
            [
                "--login", "--pin", "123456", "--id", "03", "--derive", "--mechanism", "ECDH1-COFACTOR-DERIVE", "-i",
                public_, "-o", folder.path("theirs"),
            ])
        try filled.card.openssl([
            "pkeyutl", "-derive", "-inkey", ours, "-peerkey", filled.publicKey("9D"), "-out", folder.path("secret"),
        ])
        #expect(try folder.read("theirs") == folder.read("secret"))
    }

    @Test func losesATryWithAWrongPINAndBlocksAfterTheLast() throws {
        let card = try ClientCard(.generic)
        let login = ["pkcs11-tool", "--module", PKCS11Module.openSC.path, "--login", "--list-objects", "--pin"]
        #expect(try card.fail(login + ["000000"]).contains("CKR_PIN_INCORRECT"))
        try card.succeed(login + ["123456"])
        for _ in 0..<3 { try card.fail(login + ["000000"]) }
        #expect(try card.fail(login + ["123456"]).contains("CKR_PIN_LOCKED"))
    }

    @Test func changesAndUnblocksThePIN() throws {
        let card = try ClientCard(.generic)
        try card.succeed(["pkcs15-tool", "--change-pin", "--auth-id", "01", "--pin", "123456", "--new-pin", "654321"])
        let login = ["pkcs11-tool", "--module", PKCS11Module.openSC.path, "--login", "--list-objects", "--pin"]
        try card.fail(login + ["123456"])
        try card.succeed(login + ["654321"])
        try card.succeed([
            "pkcs15-tool", "--unblock-pin", "--auth-id", "01", "--puk", "12345678", "--new-pin", "111111",
        ])
        try card.succeed(login + ["111111"])
    }

    @Test func passesItsOwnTests() throws {
        let filled = try OpenSCCard(keys: ["9A": "07", "9C": "11", "9D": "07"])
        let report = try filled.card.pkcs11(.openSC, ["--test", "--login", "--pin", "123456"])
        #expect(report.contains("No errors"), "\(report)")
    }

    @Test(arguments: [CardProfile.genericExtended, .genericShort, .genericT0])
    func worksInEachMannerOfTransport(profile: CardProfile) throws {
        let filled = try OpenSCCard(profile, keys: ["9A": "07"])
        try sign(filled, "9A", "SHA256-RSA-PKCS", [])
        try filled.card.expectSignature("signature", by: filled.publicKey("9A"))
    }

    /// Signs the message with a key that needs the PIN.
    private func sign(_ filled: OpenSCCard, _ reference: String, _ mechanism: String, _ options: [String]) throws {
        let folder = filled.card.folder
        _ = try filled.card.pkcs11(
            .openSC,
            ["--login", "--pin", "123456", "--id", try #require(OpenSCCard.identifiers[reference]), "--sign"]
                + ["--mechanism", mechanism] + options
                + ["-i", folder.path("message"), "-o", folder.path("signature")])
    }
}
