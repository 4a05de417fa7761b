import Foundation
import TestSupport
import Testing

/// Programs in Python use the module: through PyKCS11, which exposes PKCS #11 directly, and python-pkcs11, which wraps it.
///
/// The scripts beside this file hold the cases; each prints the name of a case that passes, and stops at one that does not.
@Suite struct PythonTests {
    private static let card: KeyValuePairs<CardSlotName, String> = [
        .authentication: "rsa:2048", .signature: "ec:P-256", .management: "rsa:2048", .retired1: "ec:P-384",
    ]

    @Test func usesTheCardWithPyKCS11() throws {
        let home = try ConsumerHome(Self.card)
        let report = try home.succeed(["/usr/bin/python3", Self.script("pykcs11")] + Self.arguments(home))
        #expect(report.contains("all cases passed"), "\(report)")
    }

    @Test func usesTheCardWithPythonPKCS11() throws {
        let home = try ConsumerHome(Self.card)
        let report = try home.succeed(
            ["\(ConsumerHome.python)/bin/python", Self.script("python-pkcs11")] + Self.arguments(home))
        #expect(report.contains("all cases passed"), "\(report)")
    }

    /// The tests of python-pkcs11 pass, except those that ask a card for an operation that it does not have. The reason for
    /// each is in Documentation/pkcs11.md.
    @Test func passesTheTestsOfPythonPKCS11() throws {
        let home = try ConsumerHome(Self.card)
        let result = try home.run(
            [
                "\(ConsumerHome.python)/bin/python", "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir",
                "\(ConsumerHome.python)/suite", "\(ConsumerHome.python)/suite/tests",
            ],
            [
                "PKCS11_MODULE": ConsumerHome.module, "PKCS11_TOKEN_LABEL": ConsumerHome.tokenLabel,
                "PKCS11_TOKEN_PIN": ConsumerHome.pin, "PYTHONDONTWRITEBYTECODE": "1",
            ])
        let failures = result.text.matches(of: /FAILED [^ ]*::(\w+::\w+)/).map { String($0.1) }
        let documented = try Repository.text("Documentation/pkcs11.md").matches(of: /`(\w+Tests::\w+)`/)
            .map { String($0.1) }
        #expect(Set(failures) == Set(documented), "\(result)")
        #expect(!result.text.contains("ERROR "), "\(result)")
        let passed = try #require(result.text.firstMatch(of: /(\d+) passed/)?.1, "\(result)")
        #expect(try #require(Int(passed)) >= 26)
    }

    private static func script(_ name: String) -> String {
        URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Scripts/\(name).py")
            .path(percentEncoded: false)
    }

    private static func arguments(_ home: ConsumerHome) -> [String] {
        [ConsumerHome.module, ConsumerHome.tokenLabel, home.folder.path("card")]
    }
}
