import Foundation
import SystemCrypto
import TestSupport
import Testing

/// GnuTLS's tool lists, exports and tests a card's objects.
@Suite struct GnuTLSTests {
    private static let pin = ["GNUTLS_PIN": ConsumerCard.pin]

    private func p11tool(
        _ card: ConsumerCard, _ arguments: String..., variables: [String: String] = [:],
        at location: SourceLocation = #_sourceLocation
    ) throws -> String {
        try card.succeed(["p11tool", "--provider", ConsumerCard.module] + arguments, variables, at: location)
    }

    @Test func listsTheCardAndItsCertificatesWithoutAPIN() throws {
        let card = try ConsumerCard(["9A": .rsa(bits: 2048), "9C": .ecP256, "9D": .ecP384])
        let tokens = try p11tool(card, "--list-tokens")
        #expect(tokens.contains("URL: pkcs11:model=YubiKey%205;manufacturer=Yubico;serial=7654321;token="))
        #expect(tokens.contains("Flags: RNG, Requires login"))
        let certificates = try p11tool(card, "--list-all-certs", ConsumerCard.token)
        let labels = ["PIV Authentication", "Digital Signature", "Key Management"]
        let found = certificates.split(separator: "\n").filter { $0.contains("Label: ") }
        #expect(found.map { $0.drop { $0 != ":" }.dropFirst(2) } == labels.map { $0[...] })
        for type in ["RSA-2048", "EC/ECDSA-SECP256R1", "EC/ECDSA-SECP384R1"] {
            #expect(certificates.contains("Type: X.509 Certificate (\(type))"))
        }
    }

    @Test func listsPrivateKeysAfterTheLogin() throws {
        let card = try ConsumerCard(["9A": .rsa(bits: 2048), "9C": .ecP256, "9D": .ecP384])
        let keys = try p11tool(card, "--login", "--list-privkeys", ConsumerCard.token, variables: Self.pin)
        #expect(keys.split(separator: "\n").filter { $0.contains("Type: Private key") }.count == 3)
        #expect(keys.split(separator: "\n").filter { $0.contains("CKA_ALWAYS_AUTH") }.count == 1)
        #expect(try card.triesLeft == 3)
    }

    @Test func listsDataObjectsWhereItsURINamesTheirType() throws {
        let objects: [String: [UInt8]] = ["security.bin": [0xBA, 0x00], "printed.bin": [0x01, 0x01, 0x41]]
        let card = try ConsumerCard(["9A": .ecP256], objects: objects)
        let data = ConsumerCard.token + ";type=data"
        let listing = try p11tool(card, "--list-all", data)
        #expect(listing.contains("Label: Security Object") && !listing.contains("Printed Information"), "\(listing)")
        let whole = try p11tool(card, "--login", "--list-all", data, variables: Self.pin)
        #expect(whole.contains("Label: Security Object") && whole.contains("Label: Printed Information"), "\(whole)")
    }

    /// 9E needs no PIN and is listed without a login; the tool logs in anyway to look at it.
    @Test(arguments: [([], 1), (["--login"], 3)]) func listsEverything(options: [String], privateKeys: Int) throws {
        let card = try ConsumerCard(["9A": .ecP256, "9C": .ecP256, "9E": .ecP256])
        let command = ["p11tool", "--provider", ConsumerCard.module] + options + ["--list-all", ConsumerCard.token]
        let lines = try card.succeed(command, Self.pin).split(separator: "\n")
        #expect(lines.count { $0.contains("Type: X.509 Certificate") } == 3)
        #expect(lines.count { $0.contains("Type: Public key") } == 3)
        #expect(lines.count { $0.contains("Type: Private key") } == privateKeys)
    }

    @Test func exportsCertificates() throws {
        let card = try ConsumerCard(["9A": .rsa(bits: 2048), "9C": .ecP256])
        for (reference, identifier) in [("9A", "01"), ("9C", "02")] {
            let exported = try p11tool(card, "--export", "\(ConsumerCard.token);id=%\(identifier);type=cert")
            let own = try card.text("\(reference).pem").filter { !$0.isWhitespace }
            #expect(exported.filter { !$0.isWhitespace }.contains(own))
        }
    }

    @Test(arguments: OpenSSHTests.kinds, ["01", "02"]) func triesKeys(kind: KeyKind, identifier: String) throws {
        let card = try ConsumerCard(["9A": kind, "9C": kind])
        let key = "\(ConsumerCard.token);id=%\(identifier);type=private"
        let report = try p11tool(card, "--login", "--test-sign", key, variables: Self.pin)
        #expect(report.split(separator: "\n").filter { $0.hasSuffix("... ok") }.count == 3, "\(report)")
    }
}
