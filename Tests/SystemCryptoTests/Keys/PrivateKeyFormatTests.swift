import Testing

@testable import SystemCrypto

@Suite struct PrivateKeyFormatTests {
    private func format(_ der: [UInt8]) -> PrivateKeyFormat? { PrivateKeyFormat(der.span) }

    @Test func formatsAreToldApartByTheirFirstElements() {
        let version = DER.integer([0])
        #expect(format(DER.sequence([version, DER.sequence([])])) == .pkcs8)
        #expect(format(DER.sequence([DER.sequence([]), DER.octetString([])])) == .encryptedPKCS8)
        #expect(format(DER.sequence([version, DER.integer([1])])) == .pkcs1)
        #expect(format(DER.sequence([DER.integer([1]), DER.octetString([])])) == .sec1)
    }

    @Test(arguments: [
        "", "30", "3000", "3003020100", "0403020100", "30050201000500", "3080",
    ])
    func anythingElseIsNone(text: String) {
        #expect(format(hex(text)) == nil)
    }

    @Test func encryptedKeysThatAreBrokenAreErrors() throws {
        let encrypted = try TestKeys.key(.ecP256).encryptedPKCS8(password: secret("right"), iterations: 10)
        for length in 0..<encrypted.count {
            let cut = Array(encrypted.prefix(length))
            #expect(throws: CryptoError.self) { try PrivateKey(encoded: secret(cut), password: secret("right")) }
        }
        #expect(throws: CryptoError(.malformed, "")) {
            try PrivateKey(encoded: secret(encrypted + [0]), password: secret("right"))
        }
        for index in stride(from: 0, to: encrypted.count, by: 5) {
            _ = try? PrivateKey(encoded: secret(flipping(encrypted, at: index)), password: secret("right"))
        }
    }

    @Test func encryptionNobodyKnowsIsAnError() {
        let algorithm = DER.sequence([DER.objectIdentifier("1.2.3.4")])
        let unknown = DER.sequence([algorithm, DER.octetString([1, 2, 3, 4, 5, 6, 7, 8])])
        #expect(throws: CryptoError.self) { try PrivateKey(encoded: secret(unknown), password: secret("x")) }
    }

    @Test func emptyPasswordsArePasswords() throws {
        let key = try TestKeys.key(.ed25519)
        let encrypted = try key.encryptedPKCS8(password: secret([]), iterations: 10)
        #expect(try PrivateKey(encoded: secret(encrypted), password: secret([])).publicKey == key.publicKey)
        #expect(throws: CryptoError(.passwordRequired, "")) { try PrivateKey(encoded: secret(encrypted)) }
    }

    @Test func theFirstKeyOfATextIsTaken() throws {
        let (one, two) = (try TestKeys.key(.ecP256), try TestKeys.key(.ecP384))
        let text =
            utf8("Bag Attributes\n") + utf8(try TestKeys.certificate(.ecP256).pem)
            + reveal(PEM.encode(try one.pkcs8(), label: "PRIVATE KEY"))
            + reveal(PEM.encode(try two.pkcs8(), label: "PRIVATE KEY"))
        #expect(try PrivateKey(encoded: secret(text)).publicKey == one.publicKey)
    }
}
