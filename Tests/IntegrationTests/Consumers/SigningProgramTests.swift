import Foundation
import TestSupport
import Testing

/// Programs that sign documents and programs use the module.
@Suite struct SigningProgramTests {
    /// pyHanko does not log in a second time for the key that needs the PIN each time: the login right before counts.
    @Test(arguments: [
        (CardSlotName.authentication, "rsa:2048", "adbe.pkcs7.detached", [String]()),
        (.authentication, "rsa:2048", "ETSI.CAdES.detached", ["--use-pades"]),
        (.authentication, "ec:P-256", "adbe.pkcs7.detached", []),
        (.signature, "ec:P-384", "adbe.pkcs7.detached", []),
    ])
    func pyHankoSignsADocument(slot: CardSlotName, kind: String, form: String, options: [String]) throws {
        let home = try ConsumerHome([slot: kind], revocations: CertificateFiles.revocations)
        let (document, signed) = (try home.folder.write("in.pdf", ConsumerFiles.pdf), home.folder.path("out.pdf"))
        let settings = try home.folder.write(
            "pyhanko.yml",
            """
            pkcs11-setups:
              card:
                module-path: \(ConsumerHome.module)
                token-criteria: {label: \(ConsumerHome.tokenLabel)}
                cert-id: "\(slot.id)"
                key-id: "\(slot.id)"
                user-pin: "\(ConsumerHome.pin)"

            """)
        try home.succeed(
            ["\(ConsumerHome.python)/bin/pyhanko", "--config", settings, "sign", "addsig", "--field", "Signature"]
                + options + ["pkcs11", "--p11-setup", "card", document, signed])
        #expect(try home.calls("C_Login") == ["CKR_OK"])

        let report = try NSSDatabase(home).report(on: signed)
        #expect(report.contains("Signature is Valid"), "\(report)")
        #expect(report.contains("Certificate is Trusted"), "\(report)")
        #expect(report.contains("Signature Type: \(form)"))
        #expect(report.contains("CN=Alice \(slot),O=Test"))
    }

    /// OpenSSL's engine asks at the terminal for the second PIN of a key that needs it each time. OpenSSL finds the engine by
    /// itself: osslsigncode 2.5 cannot load an engine by its path.
    @Test(arguments: [
        (CardSlotName.authentication, "rsa:2048"), (.authentication, "ec:P-256"), (.signature, "ec:P-256"),
    ])
    func osslsigncodeSignsAProgram(slot: CardSlotName, kind: String) throws {
        let home = try ConsumerHome([slot: kind])
        let program = try home.folder.write("in.exe", ConsumerFiles.windowsProgram)
        let signed = home.folder.path("out.exe")
        let token = ConsumerHome.tokenLabel.replacingOccurrences(of: " ", with: "%20")
        let answers = try home.folder.write(
            "answers",
            """
            set timeout 60
            spawn -noecho {*}$argv
            expect {
                "PIN for" { send "\(ConsumerHome.pin)\\r"; exp_continue }
                timeout { exit 99 }
                eof
            }
            exit [lindex [wait] 3]
            """)
        try home.succeed([
            "expect", "-f", answers, "--", "osslsigncode", "sign", "-pkcs11module", ConsumerHome.module, "-certs",
            home.certificate(slot), "-key", "pkcs11:token=\(token);id=%\(slot.id);type=private", "-pass",
            ConsumerHome.pin, "-h", "sha256", "-in", program, "-out", signed,
        ])
        #expect(try home.calls("C_Login") == Array(repeating: "CKR_OK", count: slot == .signature ? 2 : 1))

        let report = try home.succeed(["osslsigncode", "verify", "-CAfile", home.authority, "-in", signed])
        #expect(report.contains("Signature verification: ok"), "\(report)")
        #expect(report.contains("Number of verified signatures: 1"))
    }
}
