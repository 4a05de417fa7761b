import Foundation
import TestSupport
import Testing

/// `p11_child`, the program with which SSSD asks a card, uses the module: it does all that SSSD does with PKCS #11.
@Suite struct SSSDTests {
    @Test func findsTheCertificatesWithoutALogin() throws {
        let child = try CardChild([.authentication: "rsa:2048", .signature: "ec:P-256"])
        let lines = try child.home.run(child.command(["--pre"])).text.split(separator: "\n").map(String.init)
        #expect(lines.first == "0", "\(lines)")
        for slot in [CardSlotName.authentication, .signature] {
            let answer = [ConsumerHome.tokenLabel, ConsumerHome.module, slot.id, slot.label]
            #expect(lines.contains(answer), "\(lines)")
        }
        #expect(try child.home.calls("C_Login").isEmpty)
    }

    /// `p11_child` asks for the length of each signature first, which does not end the operation.
    @Test(arguments: [
        (CardSlotName.authentication, "rsa:2048"), (.authentication, "ec:P-384"), (.signature, "ec:P-256"),
    ])
    func provesThatTheKeyIsThere(slot: CardSlotName, kind: String) throws {
        let child = try CardChild([slot: kind])
        let result = try child.home.run(child.authentication(slot), input: ConsumerHome.pin)
        let lines = result.text.split(separator: "\n").map(String.init)
        #expect(lines.first == "0", "\(result)")
        #expect(lines.contains([ConsumerHome.tokenLabel, ConsumerHome.module, slot.id, slot.label]), "\(result)")
        #expect(try child.home.calls("C_Login") == ["CKR_OK"])
        #expect(try child.home.calls("C_Sign") == ["CKR_OK", "CKR_OK"])
    }

    @Test func refusesAWrongPIN() throws {
        let child = try CardChild([.authentication: "rsa:2048"])
        let result = try child.home.run(child.authentication(.authentication), input: ConsumerHome.wrongPIN)
        #expect(result.text.split(separator: "\n").first != "0", "\(result)")
        #expect(try child.home.calls("C_Login") == ["CKR_PIN_INCORRECT"])
        #expect(try child.home.calls("C_Sign").isEmpty)
    }

    @Test func refusesACertificateOfAnotherAuthority() throws {
        let child = try CardChild([.authentication: "rsa:2048"])
        let other = try TemporaryFolder()
        try CertificateFiles(other).makeAuthority()
        let result = try child.home.run(child.command(["--pre"], authority: other.path("ca.pem")))
        #expect(!result.text.contains(ConsumerHome.tokenLabel), "\(result)")
    }
}

/// `p11_child` where p11-kit knows only the module.
private struct CardChild {
    let home: ConsumerHome
    private let modules: String

    init(_ keys: KeyValuePairs<CardSlotName, String>) throws {
        home = try ConsumerHome(keys)
        modules = home.folder.path("home/.config/pkcs11/modules")
        try FileManager.default.createDirectory(atPath: modules, withIntermediateDirectories: true)
        try home.folder.write("home/.config/pkcs11/pkcs11.conf", "user-config: only\n")
        try home.folder.write(
            "home/.config/pkcs11/modules/tokenkit.module", "module: \(ConsumerHome.module)\n")
    }

    func authentication(_ slot: CardSlotName) -> [String] {
        command([
            "--auth", "--pin", "--module_name=\(ConsumerHome.module)", "--token_name=\(ConsumerHome.tokenLabel)",
            "--key_id=\(slot.id)", "--label=\(slot.label)",
        ])
    }

    func command(_ arguments: [String], authority: String? = nil) -> [String] {
        let unpacked = ConsumerHome.unpacked
        let command = [
            "env", "LD_LIBRARY_PATH=\(libraryPath)", "\(unpacked)/usr/libexec/sssd/p11_child",
            "--ca_db=\(authority ?? home.authority)", "--verify=no_ocsp", "--logger=stderr",
        ]
        guard getuid() == 0 else { return command + arguments }
        // As root p11-kit reads only the system's configuration, over which the test's one is mounted in a namespace.
        let script = "mount --bind \"$0\" /usr/share/p11-kit/modules && exec \"$@\""
        return ["unshare", "--mount", "sh", "-c", script, modules] + command + arguments
    }

    private var libraryPath: String {
        let unpacked = "\(ConsumerHome.unpacked)/usr/lib"
        let folders = ((try? FileManager.default.contentsOfDirectory(atPath: unpacked)) ?? []).map {
            "\(unpacked)/\($0)"
        }
        return folders.flatMap { [$0, "\($0)/sssd"] }.joined(separator: ":")
    }
}
