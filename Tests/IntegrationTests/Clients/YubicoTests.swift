import Foundation
import TestSupport
import Testing
import VirtualCard

/// Yubico's own tools take the virtual card for a YubiKey: they set it up, use its keys, and reset it.
@Suite struct YubicoTests {
    @Test func tellsVersionAndSerialNumber() throws {
        let key = try YubicoCard()
        #expect(try key.tool("version").contains("version 5.4.3 found"))
        let status = try key.tool("status")
        #expect(status.contains("Serial Number:\t7654321"))
        #expect(status.contains("PIN tries left:\t3"))
        #expect(status.contains("CHUID:\tNo data available"))
    }

    @Test func storesIdentifiers() throws {
        let key = try YubicoCard()
        try key.tool("set-chuid")
        try key.tool("set-ccc")
        let status = try key.tool("status")
        #expect(status.contains("CHUID:\t3019d4e739da739ced39ce739d836858210842108421c84210c3eb3410"))
        #expect(status.contains("CCC:\tf015a000000116ff02"))
    }

    @Test(arguments: [("9a", "RSA1024"), ("9a", "RSA2048"), ("9c", "ECCP256"), ("9e", "ECCP384"), ("82", "ECCP256")])
    func generatesAKeyThatSigns(slot: String, algorithm: String) throws {
        let key = try YubicoCard()
        let certificate = try key.generate(slot, algorithm)
        #expect(try key.tool("status").contains("Subject DN:\tCN=Key \(slot)"))
        let signature = try key.verified(
            "test-signature", "-s", slot, "-i", certificate, "-H", key.digest(for: algorithm))
        #expect(signature.contains(algorithm.hasPrefix("RSA") ? "Successful RSA verif" : "Successful ECDSA verif"))
    }

    @Test(arguments: ["RSA2048", "ECCP256", "ECCP384"])
    func generatesAKeyThatDecrypts(algorithm: String) throws {
        let key = try YubicoCard()
        let certificate = try key.generate("9d", algorithm)
        let answer = try key.verified("test-decipher", "-s", "9d", "-i", certificate)
        #expect(answer.contains(algorithm == "RSA2048" ? "performed RSA decryption" : "performed ECDH exchange"))
    }

    @Test(arguments: [
        (["-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:1024"], "RSA1024"),
        (["-algorithm", "RSA", "-pkeyopt", "rsa_keygen_bits:2048"], "RSA2048"),
        (["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"], "ECCP256"),
        (["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-384"], "ECCP384"),
    ])
    func importsKeyAndCertificate(options: [String], algorithm: String) throws {
        let key = try YubicoCard()
        let (file, certificate) = (key.card.folder.path("imported.key"), key.card.folder.path("imported.pem"))
        try key.card.openssl(["genpkey"] + options + ["-out", file])
        try key.card.openssl(["req", "-x509", "-key", file, "-subj", "/CN=Imported", "-out", certificate])
        try key.tool("import-key", "-s", "9a", "-i", file)
        try key.tool("import-certificate", "-s", "9a", "-i", certificate)
        #expect(try key.tool("status").contains("Slot 9a:\t\n\tAlgorithm:\t\(algorithm)\n\tSubject DN:\tCN=Imported"))
        let signature = try key.verified(
            "test-signature", "-s", "9a", "-i", certificate, "-H", key.digest(for: algorithm))
        #expect(signature.contains("Successful"))
        #expect(try key.fails("attest", "-s", "9a").contains("Failed to attest"))
        try key.tool("delete-certificate", "-s", "9a")
        #expect(try !key.tool("status").contains("Slot 9a"))
    }

    @Test func attestsWhatItGenerated() throws {
        let key = try YubicoCard()
        try key.generate("9a", "ECCP256")
        let (attestation, issuer) = (key.card.folder.path("attestation.pem"), key.card.folder.path("issuer.pem"))
        try key.tool("attest", "-s", "9a", "-o", attestation)
        try key.tool("read-certificate", "-s", "f9", "-o", issuer)
        #expect(
            try key.card.openssl(["verify", "-partial_chain", "-CAfile", issuer, attestation]).contains("OK"))
        let attested = try key.card.openssl(["x509", "-in", attestation, "-noout", "-pubkey"])
        #expect(attested.contains(String(decoding: try key.card.folder.read("9a.pub"), as: UTF8.self)))
        let text = try key.card.openssl(["x509", "-in", attestation, "-noout", "-text"])
        #expect(text.contains("1.3.6.1.4.1.41482.3.3"))
        #expect(text.contains("1.3.6.1.4.1.41482.3.7"))
    }

    @Test func changesPINAndPUKAndUnblocks() throws {
        let key = try YubicoCard()
        try key.tool("change-pin", "-P", "123456", "-N", "654321")
        #expect(try key.fails("verify-pin", "-P", "123456").contains("2 tries left"))
        try key.tool("verify-pin", "-P", "654321")
        try key.tool("change-puk", "-P", "12345678", "-N", "87654321")
        try key.blockPIN()
        #expect(try key.fails("verify-pin", "-P", "654321").contains("blocked"))
        #expect(try key.fails("unblock-pin", "-P", "12345678", "-N", "111111").contains("2 tries left"))
        try key.tool("unblock-pin", "-P", "87654321", "-N", "111111")
        try key.tool("verify-pin", "-P", "111111")
    }

    @Test func changesManagementKeyAndRetries() throws {
        let key = try YubicoCard()
        let other = "010203040506070801020304050607080102030405060701"
        try key.tool("set-mgm-key", "-n", other)
        try key.fails("set-chuid")
        try key.tool("set-chuid", "-k\(other)")
        try key.tool(
            "verify-pin", "-P", "123456", "-a", "pin-retries", "--pin-retries", "5", "--puk-retries", "6", "-k\(other)")
        #expect(try key.tool("status").contains("PIN tries left:\t5"))
    }

    @Test func resetsOnlyWhenBothAreBlocked() throws {
        let key = try YubicoCard()
        try key.generate("9a", "ECCP256")
        #expect(try key.fails("reset").contains("are pincodes blocked?"))
        try key.blockPIN()
        for _ in 0..<3 { try key.fails("unblock-pin", "-P", "00000000", "-N", "111111") }
        try key.tool("reset")
        try key.tool("verify-pin", "-P", "123456")
        #expect(try !key.tool("status").contains("Slot 9a"))
    }

    @Test func isOneOfItsModulesTokens() throws {
        let key = try YubicoCard()
        try key.generate("9a", "RSA2048")
        try key.generate("9c", "ECCP256")
        let slots = try key.card.pkcs11(.ykcs11, ["--list-slots"])
        #expect(slots.contains("token label        : YubiKey PIV #7654321"))
        let objects = try key.card.pkcs11(.ykcs11, ["--list-objects", "--login", "--pin", "123456"])
        for label in ["PIV Authentication", "Digital Signature"] {
            #expect(objects.contains("Private key for \(label)"))
            #expect(objects.contains("X.509 Certificate for \(label)"))
        }
    }

    @Test(arguments: [
        ("9a", "01", "RSA2048", ["--mechanism", "SHA256-RSA-PKCS"]),
        ("9a", "01", "ECCP256", ["--mechanism", "ECDSA-SHA256", "--signature-format", "openssl"]),
        ("9c", "02", "ECCP384", ["--mechanism", "ECDSA-SHA384", "--signature-format", "openssl"]),
    ])
    func signsThroughItsModule(slot: String, identifier: String, algorithm: String, mechanism: [String]) throws {
        let key = try YubicoCard()
        try key.generate(slot, algorithm)
        let folder = key.card.folder
        _ = try key.card.pkcs11(
            .ykcs11,
            ["--login", "--pin", "123456", "--id", identifier, "--sign"] + mechanism
                + ["-i", folder.path("message"), "-o", folder.path("signature")])
        try key.card.expectSignature("signature", by: folder.path("\(slot).pub"), digest: key.digest(for: algorithm))
    }

    @Test func decryptsThroughItsModule() throws {
        let key = try YubicoCard()
        try key.generate("9d", "RSA2048")
        let folder = key.card.folder
        let encrypted = try key.card.encrypt(to: folder.path("9d.pub"))
        _ = try key.card.pkcs11(
            .ykcs11,
            [
                "--login", "--pin", "123456", "--id", "03", "--decrypt", "--mechanism", "RSA-PKCS", "-i", encrypted,
                "-o",
                folder.path("decrypted"),
            ])
        #expect(try folder.read("decrypted") == ClientCard.message)
    }

    @Test func isAPIVCardToOpenSCToo() throws {
        let key = try YubicoCard()
        try key.generate("9a", "ECCP256")
        let folder = key.card.folder
        #expect(try key.card.pkcs11(.openSC, ["--list-objects"]).contains("DN: CN=Key 9a"))
        _ = try key.card.pkcs11(
            .openSC,
            [
                "--login", "--pin", "123456", "--id", "01", "--sign", "--mechanism", "ECDSA-SHA256",
                "--signature-format",
                "openssl", "-i", folder.path("message"), "-o", folder.path("signature"),
            ])
        try key.card.expectSignature("signature", by: folder.path("9a.pub"))
    }
}
