import TestSupport
import Testing

/// Java's SunPKCS11 provider uses the module.
@Suite struct JavaTests {
    @Test func listsKeysAndTheirCertificates() throws {
        let java = try JavaProvider([.authentication: "rsa:2048", .signature: "ec:P-256"])
        let listing = try java.home.succeed(["keytool", "-list"] + java.keyStore(pin: ConsumerHome.pin))
        #expect(listing.contains("Your keystore contains 2 entries"), "\(listing)")
        #expect(listing.contains("PIV Authentication, PrivateKeyEntry"))
        #expect(listing.contains("Digital Signature, PrivateKeyEntry"))
    }

    @Test func spendsOneTryOnAWrongPIN() throws {
        let java = try JavaProvider([.authentication: "rsa:2048"])
        try java.home.fail(["keytool", "-list"] + java.keyStore(pin: ConsumerHome.wrongPIN))
        #expect(try java.home.calls("C_Login") == ["CKR_PIN_INCORRECT"])
    }

    /// Java does not log in a second time for the key that needs the PIN each time: the login right before counts.
    @Test(arguments: [
        (CardSlotName.authentication, "rsa:2048", "SHA256withRSA", [String]()),
        (.authentication, "rsa:2048", "RSASSA-PSS", ["-sigalg", "RSASSA-PSS"]),
        (.authentication, "ec:P-384", "SHA384withECDSA", []),
        (.signature, "ec:P-256", "SHA256withECDSA", []),
        (.signature, "rsa:2048", "SHA256withRSA", []),
    ])
    func signsAnArchive(slot: CardSlotName, kind: String, algorithm: String, options: [String]) throws {
        let java = try JavaProvider([slot: kind])
        let (archive, signed) = (java.home.folder.path("plain.jar"), java.home.folder.path("signed.jar"))
        try java.home.folder.write("content", "what is signed")
        try java.home.succeed(["jar", "--create", "--file", archive, "-C", java.home.folder.path, "content"])
        try java.home.succeed(
            ["jarsigner"] + java.keyStore(pin: ConsumerHome.pin) + options + [
                "-signedjar", signed, archive, slot.label,
            ]
        )
        #expect(try java.home.calls("C_Login") == ["CKR_OK"])

        let report = try java.home.succeed(["jarsigner", "-verify", "-verbose", "-certs", signed])
        #expect(report.contains("jar verified."), "\(report)")
        #expect(report.contains("Signed by \"CN=Alice \(slot), O=Test\""))
        #expect(report.contains("Signature algorithm: \(algorithm)"), "\(report)")
    }
}

/// The provider with a configuration for the card's slot.
private struct JavaProvider {
    let home: ConsumerHome
    private let configuration: String

    init(_ keys: KeyValuePairs<CardSlotName, String>) throws {
        home = try ConsumerHome(keys)
        // Java knows slots by their numbers alone.
        let slots = try home.succeed(["pkcs11-tool", "--module", ConsumerHome.module, "--list-token-slots"])
        let number = try #require(slots.firstMatch(of: /Slot 0 \(0x([0-9a-f]+)\)/)?.1, "\(slots)")
        let slot = try #require(Int(number, radix: 16))
        configuration = try home.folder.write(
            "java.cfg", "name = Card\nlibrary = \(ConsumerHome.module)\nslot = \(slot)\n")
        try home.forgetCalls()
    }

    /// The options that make the card a program's key store.
    func keyStore(pin: String) -> [String] {
        [
            "-keystore", "NONE", "-storetype", "PKCS11", "-addprovider", "SunPKCS11", "-providerArg", configuration,
            "-storepass", pin,
        ]
    }
}
