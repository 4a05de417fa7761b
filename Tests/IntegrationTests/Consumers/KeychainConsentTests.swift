import Foundation
import Glibc
import SystemCrypto
import TestSupport
import Testing

/// A keychain that one program has unlocked in the session's host: other programs use its keys where a person allows it.
@Suite struct KeychainConsentTests {
    private static let password = "secret"

    private let card: ConsumerCard
    private let host: SessionHost
    private let session: [String: String]

    /// The keychain `login` with a key, unlocked by `tokenctl`.
    init() throws {
        card = try ConsumerCard(["9A": .ecP256], variables: ["TOKENKIT_PKCS11_TOKENS": "keychains"])
        try card.writePinentry(answering: "D \(Self.password)\nOK")
        session = ["PINENTRY_PROGRAM": card.path("pinentry"), "TOKENKIT_HOST": "session"]
        host = SessionHost(at: card.path("run"), card.environment.merging(session) { $1 })
        try host.start()
        try card.succeed(
            [
                "openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out",
                card.path("key.pem"),
            ])
        try card.succeed(["openssl", "pkey", "-in", card.path("key.pem"), "-pubout", "-out", card.path("key.pub")])
        try card.succeed([Program.command, "create-keychain", "-p", Self.password], session)
        try card.succeed([Program.command, "import", card.path("key.pem"), "-l", "key"], session)
    }

    private func expectSignature() throws {
        let verdict = try card.succeed([
            "openssl", "dgst", "-sha256", "-verify", card.path("key.pub"), "-signature", card.path("signature"),
            card.path("message"),
        ])
        #expect(verdict.contains("Verified OK"))
        try FileManager.default.removeItem(atPath: card.path("signature"))
    }

    private var pkcs11Tool: [String] {
        [
            "pkcs11-tool", "--module", ConsumerCard.module, "--login", "--sign", "--mechanism", "ECDSA-SHA256",
            "--label", "key", "--signature-format", "openssl", "--input-file", card.path("message"), "--output-file",
            card.path("signature"),
        ]
    }

    /// No program is given the password.
    private func signWithPKCS11Tool() throws {
        try card.succeed(pkcs11Tool, session)
        try expectSignature()
    }

    private func signWithOpenSSL() throws {
        try EngineCard(card).openssl(
            ["dgst", "-sha256"] + EngineCard.form
                + [
                    "-sign", "pkcs11:token=login;object=key;type=private", "-out", card.path("signature"),
                    card.path("message"),
                ], session)
        try expectSignature()
    }

    private func signWithCommand() throws {
        try card.succeed(
            [Program.command, "sign", "-k", "key", "-o", card.path("signature"), card.path("message")], session)
        try expectSignature()
    }

    @Test func eachProgramIsAskedAboutByNameAndNobodyForThePassword() throws {
        defer { host.stop() }
        try signWithCommand()
        try signWithPKCS11Tool()
        try signWithOpenSSL()
        let permissions = try card.pinentryPermissions
        #expect(permissions.count == 3)
        for (permission, program) in zip(permissions, ["tokenctl", "pkcs11-tool", "openssl"]) {
            #expect(permission.contains("Program: \(program)%0A"), "\(permission)")
            #expect(permission.contains("Item: key in login%0A"), "\(permission)")
        }
        #expect(try card.pinentryQuestions.isEmpty)
    }

    @Test func theCommandsOfTheShellThatGaveThePasswordAreNotAskedAbout() throws {
        defer { host.stop() }
        let script = """
            set -e
            '\(Program.command)' lock-keychain
            TEST_PASSWORD=\(Self.password) '\(Program.command)' unlock-keychain --pin-source env:TEST_PASSWORD
            ('\(Program.command)' sign -k key -o '\(card.path("signature"))' '\(card.path("message"))'; :)
            """
        try card.succeed(["sh", "-c", script], session)
        try expectSignature()
        #expect(try card.pinentryPermissions.isEmpty)
        #expect(try card.pinentryQuestions.isEmpty)
    }

    @Test func whoUnlocksItIsNotAskedAbout() throws {
        defer { host.stop() }
        try card.succeed([Program.command, "lock-keychain"], session)
        try signWithPKCS11Tool()
        #expect(try card.pinentryQuestions.count == 1)
        #expect(try card.pinentryPermissions.isEmpty)
        try signWithOpenSSL()
        #expect(try card.pinentryQuestions.count == 1)
        #expect(try card.pinentryPermissions.count == 1)
    }

    @Test func whatIsAlwaysAllowedIsSoInALaterHost() throws {
        try card.writePinentry(answering: "D \(Self.password)\nOK", allowingAlways: true)
        try signWithPKCS11Tool()
        #expect(try card.pinentryPermissions.count == 2, "a question, and whether for ever")
        let process = try #require(try host.process)
        host.stop()
        #expect(eventually { kill(process, 0) != 0 })
        try host.start()
        defer { host.stop() }
        try signWithCommand()
        #expect(try card.pinentryQuestions.count == 1, "the command asks for the password")
        try signWithPKCS11Tool()
        #expect(try card.pinentryPermissions.count == 2)
        try signWithOpenSSL()
        #expect(try card.pinentryPermissions.count == 4)
    }

    @Test func whatIsDeniedOrAllowedAheadAsksNothing() throws {
        defer { host.stop() }
        try card.succeed([Program.command, "access", "deny", "/usr/bin/pkcs11-tool", "key"], session)
        try card.fail(pkcs11Tool, session)
        #expect(try card.pinentryPermissions.isEmpty)
        let log = try card.succeed([Program.command, "host", "log"], session)
        #expect(log.contains("]: sign with 'key' of 'login': failed, "))
        try card.succeed([Program.command, "access", "allow", "/usr/bin/pkcs11-tool", "key"], session)
        let permissions = try card.pinentryPermissions
        #expect(permissions.count == 1)
        #expect(permissions.first?.contains("Program: pkcs11-tool%0AFile: /usr/bin/pkcs11-tool%0A") == true)
        #expect(permissions.first?.contains("%0AAsked for by: tokenctl, started by ") == true)
        try signWithPKCS11Tool()
        #expect(try card.pinentryPermissions.count == 1)
    }

    @Test func theHostsEndLocksIt() throws {
        let process = try #require(try host.process)
        host.stop()
        #expect(eventually { kill(process, 0) != 0 })
        let files = try FileManager.default.subpathsOfDirectory(atPath: card.path("")).filter {
            $0.contains("login.keychain")
        }
        #expect(files.count == 1, "the file is closed: \(files)")
        try host.start()
        defer { host.stop() }
        try signWithCommand()
        #expect(try card.pinentryQuestions.count == 1)
    }
}
