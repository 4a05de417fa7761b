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

    /// What OpenSC runs against its own module: threads that initialise it in both ways, and ask for slots and tokens, here while
    /// the first one signs. Each asks for something at last: the tool calls it an error if a thread's last word is that another was first.
    @Test(arguments: [["INGI"], ["ILGISLT0"], ["ILGISLT0SLT0", "INGISLT0GIT0", "ILSLT0T0GISL", "INSLGIT0SLT0"]])
    func passesItsTestsOfThreads(threads: [String]) throws {
        let home = try ConsumerHome([.authentication: "rsa:2048"])
        let report = try home.succeed(
            ["pkcs11-tool", "--module", ConsumerHome.module] + threads.flatMap { ["--test-threads", $0] }
                + ["--test", "--login", "--pin", ConsumerHome.pin])
        #expect(report.contains("all threads have ended with CKR_OK"), "\(report)")
        #expect(report.contains("No errors"), "\(report)")
        // Whoever comes first initialises the module, and each of the others is told.
        let results = try home.calls("C_Initialize")
        #expect(results.filter { $0 == "CKR_OK" }.count == 1)
        #expect(results.filter { $0 == "CKR_CRYPTOKI_ALREADY_INITIALIZED" }.count == threads.count)
    }
}
