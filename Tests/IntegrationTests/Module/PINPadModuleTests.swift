import SystemCrypto
import TestSupport
import Testing

/// The module with a reader that has its own keypad: the flags that programs see, and the logins.
@Suite struct PINPadModuleTests {
    private let reader: PINPadReader
    private let card: ConsumerCard
    private let tool = ["pkcs11-tool", "--module", ConsumerCard.module]

    init() throws {
        reader = try PINPadReader()
        card = try ConsumerCard(["9A": .ecP256, "9C": .ecP256], driver: reader.driver)
    }

    @Test func theModuleTellsOfTheReadersKeys() throws {
        #expect(try card.succeed(tool + ["-L"]).contains("PIN pad present"))
        #expect(try !card.succeed(tool + ["-L"], ["TOKENKIT_PINPAD": "no"]).contains("PIN pad present"))
        #expect(try reader.timesAsked() == 0)
    }

    /// 9C needs a login for each use, so the PIN is typed once more.
    @Test(arguments: [("01", "9A", 1), ("02", "9C", 2)])
    func aLoginWithoutAPINIsTypedThere(id: String, key: String, entries: Int) throws {
        try reader.type("123456")
        let report = try card.succeed(
            tool + [
                "--login", "--sign", "--id", id, "--mechanism", "ECDSA-SHA256", "--signature-format", "openssl", "-i",
                card.path("message"), "-o", card.path("sig"),
            ])
        let checked = try card.run([
            Program.command, "verify", "--key", key, "--signature", card.path("sig"),
            card.path("message"),
        ])
        #expect(checked.status == 0, "\(report)\n\(checked)")
        #expect(try reader.timesAsked() == entries)
    }

    @Test(
        arguments: [
            ("999999", "CKR_PIN_INCORRECT", 2), ("cancel", "CKR_FUNCTION_CANCELED", 3),
            ("1234", "CKR_PIN_LEN_RANGE", 3),
            ("break", "CKR_DEVICE_ERROR", 3),
        ])
    func aLoginThatFailsSaysWhy(typed: String, code: String, triesLeft: Int) throws {
        try reader.type(typed)
        #expect(try card.fail(tool + ["--login", "--list-objects"]).contains(code))
        #expect(try card.triesLeft == triesLeft)
        #expect(try reader.timesAsked() == 1)
    }

    @Test func aProgramsOwnPINIsSentAsEver() throws {
        try reader.type("999999")
        try card.succeed(tool + ["--login", "--pin", ConsumerCard.pin, "--list-objects"])
        #expect(try reader.timesAsked() == 0)
    }

    @Test func theModulesPrompterStandsInForAReaderThatFails() throws {
        try card.writePinentry()
        try reader.type("break")
        let prompt = ["TOKENKIT_PKCS11_PROMPT": "yes", "PINENTRY_PROGRAM": card.path("pinentry")]
        try card.succeed(tool + ["--login", "--list-objects"], prompt)
        #expect(try card.pinentryQuestions.count == 1)
        #expect(try reader.timesAsked() == 1)
    }
}
