import SystemCrypto
import TestSupport
import Testing

/// OpenSC's `pkcs11-tool` finds no fault with the module.
@Suite struct PKCS11ToolTests {
    @Test(arguments: ["rsa:2048", "rsa:3072", "ec:P-256", "ec:P-384"])
    func passesItsTests(kind: String) throws {
        let home = try ConsumerHome([.authentication: kind, .signature: "ec:P-256", .management: kind])
        let report = try home.succeed([
            "pkcs11-tool", "--module", ConsumerHome.module, "--test", "--login", "--pin", ConsumerHome.pin,
        ])
        #expect(report.contains("No errors"), "\(report)")
        #expect(!report.contains("ERR"), "\(report)")
    }

    /// OpenSC's test of its own module: threads initialise it in both ways, and ask for slots and tokens, here while the first
    /// one signs. Each thread ends with a request, since the tool counts a final CKR_CRYPTOKI_ALREADY_INITIALIZED as an error.
    @Test(arguments: [["INGI"], ["ILGISLT0"], ["ILGISLT0SLT0", "INGISLT0GIT0", "ILSLT0T0GISL", "INSLGIT0SLT0"]])
    func passesItsTestsOfThreads(threads: [String]) throws {
        let home = try ConsumerHome([.authentication: "rsa:2048"])
        let report = try home.succeed(
            ["pkcs11-tool", "--module", ConsumerHome.module] + threads.flatMap { ["--test-threads", $0] }
                + ["--test", "--login", "--pin", ConsumerHome.pin])
        #expect(report.contains("all threads have ended with CKR_OK"), "\(report)")
        #expect(report.contains("No errors"), "\(report)")
        // The first thread initialises the module, and all others get the error.
        let results = try home.calls("C_Initialize")
        #expect(results.filter { $0 == "CKR_OK" }.count == 1)
        #expect(results.filter { $0 == "CKR_CRYPTOKI_ALREADY_INITIALIZED" }.count == threads.count)
    }

    @Test(arguments: [
        ("Card Holder Unique Identifier", "chuid.bin", "chuid", false),
        ("Security Object", "security.bin", "security-object", false),
        ("Printed Information", "printed.bin", "printed-information", true),
    ])
    func readsDataObjectsAsTheCardHasThem(
        label: String, file: String, name: String, needsPIN: Bool
    ) throws {
        let objects: [String: [UInt8]] = [
            "chuid.bin": .init(hex: "34105BEE1D70B7DC4B0D8A0B5F1F8D0D4A4135083230343331323331FE00"),
            "security.bin": [0xBA, 0x03, 0x01, 0x30, 0x00, 0xBB, 0x82, 0x02, 0x58] + Array(repeating: 0x5A, count: 600)
                + [0xFE, 0x00],
            "printed.bin": .init(hex: "01064A6F20446F650409323034334445433331FE00"),
        ]
        let card = try ConsumerCard(["9A": .ecP256], objects: objects)
        let tool = ["pkcs11-tool", "--module", ConsumerCard.module]
        let login = ["--login", "--pin", ConsumerCard.pin]
        // The tool searches without a class, and such a search does not look for data objects that are not known to exist.
        let known = try card.succeed(tool + login + ["--list-objects", "--type", "data"])
        #expect(known.contains("'\(label)'") == (name == "chuid"), "\(known)")
        let read = tool + ["--read-object", "--type", "data", "--label", label, "-o", card.path("read")]
        if needsPIN { try card.fail(read) }
        try card.succeed(read + login)
        #expect(try card.folder.read("read") == objects[file])
        let own = [Program.command, "card", "read", name, "--output", card.path("own")]
        try card.succeed(own + ["--pin-source", "env:CARD_PIN"], ["CARD_PIN": ConsumerCard.pin])
        #expect(try card.folder.read("own") == objects[file])
    }
}
