import Foundation
import TestSupport
import Testing
import VirtualCard

/// A card that this package administers, and one that Yubico's tool does, are used by the other.
@Suite struct AdministrationWithYubicoTests {
    @Test func theirToolGoesOnWithACardThatWasSetUpHere() throws {
        let key = try YubicoCard()
        let pin = try key.card.setUp()
        let status = try key.tool("status")
        for slot in ["9a", "9c", "9d"] { #expect(status.contains("Slot \(slot):\t\n\tAlgorithm:\tECCP256")) }
        #expect(status.contains("CHUID:\t3019d4e739da739ced39ce739d836858210842108421c84210c3eb3410"))
        #expect(status.contains("CCC:\tf015a000000116ff02"))
        try key.tool("verify-pin", "-P", ClientCard.newPIN)
        let file = key.card.folder.path("management")
        try key.card.tokenctl("card", "set-management-key", "-a", "3des", "-o", file, "--pin-source", pin)
        let management = String(decoding: try key.card.folder.read("management"), as: UTF8.self)
        try key.tool("generate", "-s", "9e", "-A", "ECCP256", "-k\(management)", "-o", key.card.folder.path("9e.pub"))
    }

    @Test func aCardThatTheirToolHasMadeIsChangedHere() throws {
        let key = try YubicoCard()
        try key.tool("set-chuid")
        let certificate = try key.generate("9a", "RSA2048")
        let other = "010203040506070801020304050607080102030405060701"
        try key.tool("set-mgm-key", "-n", other)
        let source = try key.card.secret("management", other)
        try key.card.tokenctl("card", "put-certificate", "9A", "--delete", "--management-key-source", source)
        #expect(try !key.tool("status").contains("Slot 9a"))
        try key.card.tokenctl("card", "put-certificate", "9A", certificate, "--management-key-source", source)
        #expect(try key.tool("status").contains("Subject DN:\tCN=Key 9a"))
        try key.card.tokenctl("card", "reset", "--confirm", "YubiKey 5 7654321")
        try key.tool("verify-pin", "-P", "123456")
        #expect(try !key.tool("status").contains("Slot 9a"))
    }
}

/// A card that this package administers, and one that ykman does, are used by the other.
@Suite struct AdministrationWithYkmanTests {
    @Test func theirToolReadsWhatWasSetUpHere() throws {
        let key = try YubicoCard()
        _ = try key.card.setUp()
        let (card, folder) = (key.card, key.card.folder)
        let info = try key.ykman("info")
        #expect(info.contains("PIV version: 5.4.3"))
        #expect(info.contains("Management key algorithm: AES256"))
        #expect(info.contains("Management key is stored on the YubiKey, protected by PIN."))
        #expect(info.contains("CHUID:\t3019d4e739da739ced39ce739d836858210842108421c84210c3eb3410"))
        #expect(info.contains("CCC: \tf015a000000116ff02"))
        #expect(!info.contains("WARNING") && !info.contains("No data"), "\(info)")
        try card.tokenctl("export-smartcard", "-e", folder.path)
        for slot in ["9a", "9c", "9d"] {
            #expect(info.contains("Slot \(slot):\n\tAlgorithm:\tECCP256\n\tSubject DN:\tCN=Jo\n"), "\(info)")
            try key.ykman("certificates", "export", slot, folder.path("exported"))
            #expect(try folder.read("exported") == folder.read("\(slot.uppercased()).crt"))
            // The card's metadata have the public key, and it is that of the certificate.
            try key.ykman("keys", "export", "--verify", "-P", ClientCard.newPIN, slot, folder.path("exported"))
            #expect(try folder.read("exported") == folder.read("\(slot.uppercased()).pub"))
        }
        try key.ykman("keys", "attest", "9a", folder.path("theirs"))
        try card.tokenctl("card", "attest", "9A", "-o", folder.path("ours"))
        try key.ykman("certificates", "export", "f9", folder.path("issuer"))
        for attestation in ["theirs", "ours"].map(folder.path) {
            let answer = try card.openssl(["verify", "-partial_chain", "-CAfile", folder.path("issuer"), attestation])
            #expect(answer.contains("OK"))
            let attested = try card.openssl(["x509", "-in", attestation, "-noout", "-pubkey"])
            #expect(attested.contains(String(decoding: try folder.read("9A.pub"), as: UTF8.self)))
        }
    }

    /// With the PIN alone: the card keeps the management key.
    @Test(arguments: [CardProfile.yubiKey54, .yubiKey43])
    func theirToolUsesTheManagementKeyThatWasKeptHere(profile: CardProfile) throws {
        let key = try YubicoCard(profile)
        _ = try key.card.setUp()
        let file = key.card.folder.path("9e.pub")
        try key.ykman("keys", "generate", "-P", ClientCard.newPIN, "-a", "ECCP384", "9e", file)
        try key.ykman(
            "certificates", "generate", "-P", ClientCard.newPIN, "-s", "CN=By ykman,O=Test", "-a", "SHA384", "9e", file)
        #expect(try key.card.slot("9E") == "CN=By ykman,O=Test, EC P-384")
    }

    @Test(arguments: [
        (CardProfile.yubiKey54, "TDES"), (.yubiKey54, "AES128"), (.yubiKey54, "AES192"), (.yubiKey54, "AES256"),
        (.yubiKey43, "TDES"),
    ])
    func aManagementKeyThatTheirToolHasProtectedIsUsedHere(profile: CardProfile, algorithm: String) throws {
        let key = try YubicoCard(profile)
        let factory = String(repeating: "0102030405060708", count: 3)
        try key.ykman(
            "access", "change-management-key", "-m", factory, "-P", "123456", "--protect", "--generate", "-a",
            algorithm)
        let pin = try key.card.secret("pin", "123456")
        try key.card.tokenctl(
            "card", "generate", "9A", "-a", "rsa2048", "--pin-source", pin, "-o", key.card.folder.path("9a.pub"))
        try key.card.tokenctl("card", "self-sign", "9A", "-c", "Jo", "--pin-source", pin)
        #expect(try key.ykman("info").contains("Slot 9a:\n\tAlgorithm:\tRSA2048\n\tSubject DN:\tCN=Jo\n"))
        // The same after another key was set here, which ykman finds where it had put its own.
        try key.card.tokenctl("card", "set-management-key", "--pin-source", pin)
        try key.ykman("certificates", "delete", "-P", "123456", "9a")
        #expect(try !key.ykman("info").contains("Slot 9a"))
    }

    @Test func whatTheirToolHasWrittenIsReadHere() throws {
        let key = try YubicoCard()
        let (card, folder) = (key.card, key.card.folder)
        let factory = String(repeating: "0102030405060708", count: 3)
        let file = folder.path("9c.pub")
        for object in ["chuid", "ccc"] { try key.ykman("objects", "generate", "-m", factory, object) }
        try key.ykman(
            "keys", "generate", "-m", factory, "-a", "RSA2048", "--pin-policy", "ONCE", "--touch-policy", "NEVER", "9c",
            file)
        try key.ykman("certificates", "generate", "-m", factory, "-P", "123456", "-s", "CN=By ykman", "9c", file)
        #expect(try key.card.slot("9C") == "CN=By ykman, RSA 2048")
        #expect(try card.tokenctl("card", "read", "chuid").lowercased().contains("guid"))
        let pin = try card.secret("pin", "123456")
        try card.tokenctl(
            "sign", "--key", "9C", "--pin-source", pin, "-o", folder.path("signature"), folder.path("message"))
        try card.expectSignature("signature", by: file)
        // An old PIN, PUK and number of tries are theirs, the new ones ours, and the reverse.
        try key.ykman("access", "change-pin", "-P", "123456", "-n", "654321")
        try card.tokenctl("card", "pin", "verify", "--pin-source", card.secret("pin", "654321"))
        try card.tokenctl("card", "pin", "change", "--puk", "--pin-source", card.secret("pin", "12345678\n87654321\n"))
        try key.ykman("access", "unblock-pin", "-p", "87654321", "-n", "111222")
        try card.tokenctl("card", "pin", "verify", "--pin-source", card.secret("pin", "111222"))
    }
}

/// A card that this package administers, and one that ykman 5 does, are used by the other.
@Suite struct AdministrationWithYkman5Tests {
    /// Each changes the management key that the card keeps, and the other then needs the PIN alone.
    @Test(arguments: [CardProfile.yubiKey57, .yubiKey54, .yubiKey43])
    func eachGoesOnWithTheCardOfTheOther(profile: CardProfile) throws {
        let key = try YubicoCard(profile)
        let (card, folder) = (key.card, key.card.folder)
        let pin = try card.setUp()
        let info = try key.ykman5("info")
        #expect(info.contains(try Regex("PIV version: +\(try #require(profile.firmware))\n")), "\(info)")
        #expect(info.contains("Management key is stored on the YubiKey, protected by PIN."))
        #expect(!info.contains("WARNING") && !info.contains("No data"), "\(info)")
        #expect(info.components(separatedBy: "CN=Jo").count == 7, "a subject and an issuer in three slots: \(info)")
        try card.tokenctl("export-smartcard", "-e", folder.path)
        for slot in ["9a", "9c", "9d"] {
            try key.ykman5("certificates", "export", slot, folder.path("exported"))
            #expect(try folder.read("exported") == folder.read("\(slot.uppercased()).crt"))
        }
        let file = folder.path("9e.pub")
        try key.ykman5("keys", "generate", "-P", ClientCard.newPIN, "-a", "ECCP384", "9e", file)
        try key.ykman5(
            "certificates", "generate", "-P", ClientCard.newPIN, "-s", "CN=By ykman,O=Test", "-a", "SHA384", "9e", file)
        #expect(try card.slot("9E") == "CN=By ykman,O=Test, EC P-384")
        let cipher = profile == .yubiKey43 ? "TDES" : "AES128"
        try key.ykman5("access", "change-management-key", "-P", ClientCard.newPIN, "--protect", "-a", cipher)
        try card.tokenctl("card", "self-sign", "9A", "-c", "Anna", "--pin-source", pin)
        try card.tokenctl("card", "set-management-key", "--pin-source", pin)
        try key.ykman5("certificates", "delete", "-P", ClientCard.newPIN, "9e")
        let changed = try key.ykman5("info")
        #expect(changed.contains("CN=Anna") && !changed.contains("CN=By ykman"), "\(changed)")
    }
}

/// A card that this package administers, and one that OpenSC's tools do, are used by the other.
@Suite struct AdministrationWithOpenSCTests {
    /// The management key is given to `piv-tool` in a file, with the number that its cipher has there.
    @Test(arguments: [("3des", "03"), ("aes256", "0C")])
    func theirToolsUseACardThatWasSetUpHere(cipher: String, number: String) throws {
        let opensc = try OpenSCCard(.yubiKey54, keys: [:])
        let (card, folder) = (opensc.card, opensc.card.folder)
        let pin = try card.setUp()
        let listing = try card.pkcs11(.openSC, ["--list-objects", "--type", "cert"])
        #expect(listing.components(separatedBy: "DN: CN=Jo").count == 4, "\(listing)")
        try card.tokenctl("export-smartcard", "-e", folder.path)
        let certificate = try card.succeed(["pkcs15-tool", "--read-certificate", "01"])
        #expect(certificate.contains(String(decoding: try folder.read("9A.crt"), as: UTF8.self)))
        for (identifier, file) in [("01", "9A.pub"), ("02", "9C.pub")] {
            _ = try card.pkcs11(
                .openSC,
                [
                    "--login", "--pin", ClientCard.newPIN, "--id", identifier, "--sign", "--mechanism", "ECDSA-SHA256",
                    "--signature-format", "openssl", "-i", folder.path("message"), "-o", folder.path("signature"),
                ])
            try card.expectSignature("signature", by: folder.path(file))
        }
        try card.tokenctl(
            "card", "set-management-key", "-a", cipher, "-o", folder.path("management"), "--pin-source", pin)
        try opensc.setManagementKey(String(decoding: folder.read("management"), as: UTF8.self))
        try opensc.generate("9E", "11", as: "M:9B:\(number)")
        let theirs = try card.certificate(for: opensc.publicKey("9E"), named: "By piv-tool")
        try opensc.administer(["--cert", "9E", "--in", theirs], as: "M:9B:\(number)")
        #expect(try card.slot("9E") == "CN=By piv-tool, EC P-256")
    }

    @Test func whatTheirToolHasWrittenIsUsedHere() throws {
        let opensc = try OpenSCCard(keys: ["9A": "07", "9C": "14"])
        let (card, folder) = (opensc.card, opensc.card.folder)
        #expect(try card.slot("9A") == "CN=Key 9A, RSA 2048")
        #expect(try card.slot("9C") == "CN=Key 9C, EC P-384")
        let pin = try card.secret("pin", "123456")
        for (reference, digest) in [("9A", "SHA256"), ("9C", "SHA384")] {
            try card.tokenctl(
                "sign", "--key", reference, "--digest", digest.lowercased(), "--pin-source", pin, "-o",
                folder.path("signature"), folder.path("message"))
            try card.expectSignature("signature", by: opensc.publicKey(reference), digest: digest)
        }
        // A setup goes on from there: it takes the keys as they are.
        try card.tokenctl("card", "setup", "-c", "Jo", "--yes", "--pin-source", pin)
        #expect(try card.slot("9A") == "CN=Key 9A, RSA 2048")
        #expect(try card.slot("9D") == "CN=Jo, EC P-256")
    }

    @Test func aDataObjectOfTheirsIsReadHere() throws {
        let opensc = try OpenSCCard(keys: [:])
        try opensc.card.folder.write("object", [0x53, 0x06, 0xBA, 0x02, 0xAB, 0xCD, 0xFE, 0x00])
        try opensc.administer(["--object", "9000", "--in", opensc.card.folder.path("object")])
        #expect(try opensc.card.tokenctl("card", "read", "security-object", "--hex") == "BA02ABCDFE00\n")
    }
}
