import Foundation
import Localization
import TestSupport
import Testing

@testable import tokenctl

/// What doctor says of a machine, whose files are below a folder, and belong to this user in root's place.
@Suite struct DoctorMachineTests {
    private let folder: TemporaryFolder
    private let machine: DoctorMachine

    init() throws {
        folder = try TemporaryFolder()
        let root = try #require(folder.path.withCString { realpath($0, nil) })
        defer { free(root) }
        machine = DoctorMachine(root: String(cString: root), owner: geteuid()) { $0 == "badge" }
    }

    private func write(_ path: String, _ text: String = "", mode: mode_t = 0o644) throws {
        let file = machine.root + path
        try FileManager.default.createDirectory(
            atPath: String(file.prefix(upTo: file.lastIndex(of: "/") ?? file.endIndex)),
            withIntermediateDirectories: true)
        try text.write(toFile: file, atomically: false, encoding: .utf8)
        chmod(file, mode)
    }

    private func link(_ path: String, to target: String) throws {
        try write(path)
        try FileManager.default.removeItem(atPath: machine.root + path)
        try FileManager.default.createSymbolicLink(atPath: machine.root + path, withDestinationPath: target)
    }

    /// Findings without the folder of the test, each with its state, and its command without quotes.
    private func texts(_ findings: [Doctor.Finding]) -> [String] {
        findings.map { finding in
            ("\(finding.state): \(finding.finding)" + (finding.remedy.map { " | \($0.replacing("'", with: ""))" } ?? ""))
                .replacing(machine.root, with: "")
        }
    }

    private var settings: [String] { texts(machine.settings()) }

    // MARK: Settings

    @Test func settingsThatCountAreInOrder() throws {
        #expect(settings.isEmpty)
        try write("/usr/bin/backup", mode: 0o755)
        try write("/etc/tokenkit/keychains.conf", "# all\nfixed keychain =\nkeychain.conf")
        try write("/etc/tokenkit/keychains.conf", "# all\nfixed pin-timeout = 900")
        try write(
            "/etc/tokenkit/access.conf",
            "# the backup\nallow /usr/bin/backup user=daemon unit=backup.service # each night\n")
        try write("/etc/tokenkit/disabled-drivers", "badge\n")
        try write("/etc/tokenkit/keychains.conf.lock")
        try write("/etc/tokenkit/access.conf.dpkg-dist", "allow\n")
        #expect(
            settings == [
                "ok: /etc/tokenkit/keychains.conf", "ok: /etc/tokenkit/access.conf",
                "ok: /etc/tokenkit/disabled-drivers",
            ])
    }

    @Test func eachLineThatIsNoSettingIsNamed() throws {
        try write("/etc/tokenkit/keychains.conf", "keychian = /a\npin-timeout = 5m\n\0")
        try write("/etc/tokenkit/access.conf", "\npermit /bin/true\nallow true\nallow \"/bin/true\n")
        try write("/etc/tokenkit/disabled-drivers", "piv badge")
        #expect(
            settings.map {
                String($0.prefix { $0 != "|" && $0 != "(" }.reversed().drop(while: \.isWhitespace).reversed())
            } == [
                "missing: line 1 of /etc/tokenkit/keychains.conf sets 'keychian', which is none of keychain, default-keychain, "
                    + "login-keychain, pin-timeout, pin-proof, password-cost, so that no line counts",
                "missing: line 2 of /etc/tokenkit/keychains.conf has a time that is not a number of seconds, so that no line counts",
                "missing: line 3 of /etc/tokenkit/keychains.conf has a control character, so that no line counts",
                "missing: line 2 of /etc/tokenkit/access.conf is no rule, so that no line counts",
                "missing: line 3 of /etc/tokenkit/access.conf is no rule, so that no line counts",
                "missing: line 4 of /etc/tokenkit/access.conf has a quote that is not closed, so that no line counts",
                "missing: line 1 of /etc/tokenkit/disabled-drivers is not the name of one driver, so that no line counts",
            ])
        let form = "write: allow /PATH [user=NAME] [unit=NAME], or administer in place of allow"
        #expect(settings[4].hasSuffix("no line counts (\(form)) | sudoedit /etc/tokenkit/access.conf"))
    }

    @Test func aFileThatOthersCanChangeIsNamedWithTheWay() throws {
        let path = "/etc/tokenkit/access.conf"
        try write(path, "", mode: 0o646)
        #expect(
            settings == ["missing: \(path) does not count: other users may write to \(path) | sudo chmod go-w \(path)"])
        chmod(machine.root + path, 0o644)
        chmod(machine.root + "/etc/tokenkit", 0o777)
        #expect(
            settings == [
                "missing: \(path) does not count: other users may replace files in /etc/tokenkit | sudo chmod go-w /etc/tokenkit"
            ])
        chmod(machine.root + "/etc/tokenkit", 0o755)
        let stranger = DoctorMachine(root: machine.root, owner: 4711) { _ in false }
        if geteuid() != 0 { #expect(stranger.settings().first?.remedy?.hasPrefix("sudo chown -h root: ") == true) }
        chmod(machine.root + path, 0o600)
        #expect(settings == ["missing: programs of users cannot read \(path) | sudo chmod a+r \(path)"])
        try FileManager.default.removeItem(atPath: machine.root + path)
        try #require(mkfifo(machine.root + path, 0o644) == 0)
        #expect(settings == ["missing: \(path) does not count: it is not a file | sudo rm -r \(path)"])
        try FileManager.default.removeItem(atPath: machine.root + path)
        try write(path, String(repeating: "#", count: (64 << 10) + 1))
        #expect(settings.first?.hasPrefix("missing: \(path) does not count: it is longer than 65536 bytes") == true)
    }

    @Test func aLineWithoutEffectIsNoted() throws {
        try write("/bin/true", mode: 0o755)
        try write("/bin/open", mode: 0o777)
        try write("/bin/python3", mode: 0o755)
        try link("/bin/link", to: machine.root + "/bin/true")
        try write("/etc/tokenkit/keychains.conf", "login-keychain = /bin/true\nkeychain = /none\n")
        try write(
            "/etc/tokenkit/access.conf",
            "allow /none\nallow /bin/open\nallow /bin/link\nadminister /bin/python3\nallow /bin/true user=no-such-user\nallow /bin/true user=0\n"
        )
        try write("/etc/tokenkit/disabled-drivers", "badge\nbagde\n")
        try write("/etc/tokenkit/keychain.conf")
        let access = "/etc/tokenkit/access.conf"
        #expect(
            settings == [
                "note: line 1 of /etc/tokenkit/keychains.conf sets login-keychain, which only a user has",
                "note: /etc/tokenkit/keychains.conf names /none, which is not there",
                "note: line 1 of \(access) is about /none, which is not there",
                "missing: line 2 of \(access) does not count: other users may write to /bin/open | sudo chmod go-w /bin/open",
                "missing: line 3 of \(access) does not count: the program at /bin/link is /bin/true | sudoedit \(access)",
                "missing: line 4 of \(access) does not count: /bin/python3 does what any script says | sudoedit \(access)",
                "note: line 5 of \(access) is about the user 'no-such-user', whom the machine does not know",
                "missing: line 6 of \(access) does not count: programs that run as root are given no right | sudoedit \(access)",
                "note: line 2 of /etc/tokenkit/disabled-drivers names 'bagde', which is no driver",
                "note: /etc/tokenkit/keychain.conf is none of keychains.conf, access.conf, disabled-drivers: nothing reads it",
            ])
    }

    // MARK: The machine

    @Test func aUserIsToldWhatOnlyRootSees() {
        #expect(machine.rights(of: 0).isEmpty)
        #expect(machine.rights(of: 4711).map(\.remedy) == ["sudo tokenctl doctor --system"])
    }

    @Test func theCardServiceNeedsADriverForReaders() throws {
        #expect(machine.readers().isEmpty)
        try write("/usr/sbin/pcscd", mode: 0o755)
        #expect(texts(machine.readers()).first?.hasSuffix("| sudo apt-get install libccid") == true)
        try write("/usr/lib/pcsc/drivers/ifd-ccid.bundle/Contents/Info.plist")
        #expect(machine.readers().isEmpty)
    }

    @Test func aRuleOfPolkitIsLookedForWherePcscdAsksIt() throws {
        #expect(machine.polkit().isEmpty)
        try write("/usr/share/polkit-1/actions/org.debian.pcsc-lite.policy")
        #expect(machine.polkit().map(\.remedy) == ["sudo apt-get install polkitd"])
        try write("/usr/lib/polkit-1/polkitd")
        try write("/etc/polkit-1/rules.d/50-other.rules", "polkit.addRule();")
        #expect(machine.polkit().map(\.state) == ["note"])
        try write("/etc/polkit-1/rules.d/50-smartcards.rules", "action.id == \"org.debian.pcsc-lite.access_card\"")
        #expect(texts(machine.polkit()) == ["ok: /etc/polkit-1/rules.d/50-smartcards.rules has a rule for pcscd"])
    }

    @Test func theRuleForReadersIsLookedFor() throws {
        #expect(machine.deviceRules("/usr").map(\.state) == ["missing"])
        try write("/usr/lib/udev/rules.d/70-tokenkit.rules")
        #expect(texts(machine.deviceRules("/usr")) == ["ok: /usr/lib/udev/rules.d/70-tokenkit.rules"])
        try link("/etc/udev/rules.d/70-tokenkit.rules", to: "/dev/null")
        #expect(machine.deviceRules("/usr").map(\.remedy) == ["sudo rm /etc/udev/rules.d/70-tokenkit.rules"])
    }

    @Test func theUnitsAreLookedFor() throws {
        #expect(machine.units("/usr").isEmpty)
        try FileManager.default.createDirectory(
            atPath: machine.root + "/run/systemd/system", withIntermediateDirectories: true)
        #expect(machine.units("/usr").map { "\($0.finding)" } == ["tokenkit.socket is not there"])
        try write("/usr/lib/systemd/user/tokenkit.socket")
        #expect(machine.units("/usr").map { "\($0.finding)" } == ["tokenkit.service is not there"])
        try write("/usr/lib/systemd/user/tokenkit.service")
        #expect(machine.units("/usr").map(\.remedy) == ["sudo systemctl --global enable tokenkit.socket"])
        try write("/etc/systemd/user/sockets.target.wants/tokenkit.socket")
        #expect(machine.units("/usr").map(\.state) == ["ok"])
        try link("/etc/systemd/user/tokenkit.socket", to: "/dev/null")
        #expect(machine.units("/usr").map(\.remedy) == ["sudo systemctl --global unmask tokenkit.socket"])
    }

    @Test func packagesOfTwoVersionsAreTold() {
        func versions(_ lines: String) -> [String] { texts(machine.versions { lines }) }
        #expect(versions("").isEmpty)
        #expect(versions("tokenkit not-installed \n").isEmpty)
        #expect(
            versions(
                "libtokenkit-pkcs11 installed 0.1\ntokenkit installed 0.1\nlibtokenkit-keychain1 config-files 0.0\n")
                == [
                    "ok: all packages are of 0.1"
                ])
        #expect(
            versions("libtokenkit-pkcs11 installed 0.2\ntokenkitd installed 0.1\n") == [
                "missing: libtokenkit-pkcs11 is 0.2, and tokenkitd is 0.1 | sudo apt-get install libtokenkit-pkcs11 tokenkitd"
            ])
    }

    @Test func twoInstallationsAreTold() throws {
        try write("/usr/bin/tokenctl")
        #expect(machine.installations().isEmpty)
        try write("/usr/local/bin/tokenctl")
        #expect(machine.installations().map(\.remedy) == ["sudo make uninstall"])
    }

    @Test func whoCanChangeAProgramIsTold() throws {
        let module = "/usr/lib/pkcs11/libtokenkit-pkcs11.so"
        #expect(machine.programs(module, "/usr").isEmpty)
        try write("/usr/bin/tokenctl", mode: 0o755)
        try write("/usr/libexec/tokenkitd", mode: 0o755)
        try write(module)
        try write("/usr/lib/pkcs11/libtokenkit-pkcs11-cards.so")
        #expect(texts(machine.programs(module, "/usr")) == ["ok: only root can change them"])
        chmod(machine.root + "/usr/lib/pkcs11", 0o777)
        chmod(machine.root + "/usr/libexec/tokenkitd", 0o757)
        #expect(
            texts(machine.programs(module, "/usr")) == [
                "missing: others than root can change /usr/libexec/tokenkitd: other users may write to /usr/libexec/tokenkitd"
                    + " | sudo chmod go-w /usr/libexec/tokenkitd",
                "missing: others than root can change \(module): other users may replace files in /usr/lib/pkcs11"
                    + " | sudo chmod go-w /usr/lib/pkcs11",
            ])
    }

    @Test func loginStacksAreChecked() throws {
        func logins() -> [String] { texts(machine.logins("/m.so")) }
        let pam = "/etc/pam_pkcs11/pam_pkcs11.conf"
        try write("/etc/pam.d/login", "#auth sufficient pam_pkcs11.so\n")
        #expect(logins().isEmpty)
        try write("/etc/pam.d/login", "auth sufficient pam_pkcs11.so\n")
        #expect(logins().first?.hasPrefix("missing: /etc/pam.d/login uses it, and there is no \(pam)") == true)
        try write(pam, "# libtokenkit-pkcs11.so\n")
        #expect(logins() == ["note: \(pam) does not name /m.so | sudoedit \(pam)"])
        try write(pam, "module = /usr/lib/libtokenkit-pkcs11.so;\n", mode: 0o666)
        #expect(
            logins() == [
                "ok: \(pam) names the module",
                "missing: \(pam) decides who logs in, and other users may write to \(pam) | sudo chmod go-w \(pam)",
            ])
        try FileManager.default.removeItem(atPath: machine.root + "/etc/pam.d/login")
        try write("/etc/sssd/sssd.conf", "[pam]\n# pam_cert_auth = True\n", mode: 0o600)
        #expect(logins().map { $0.prefix(4) } == ["note"])
        try write("/etc/sssd/sssd.conf", "[pam]\npam_cert_auth = True\n", mode: 0o600)
        #expect(logins().map { $0.prefix(7) } == ["missing"])
        try write("/etc/sssd/pki/sssd_auth_ca_db.pem")
        #expect(logins().map { $0.prefix(2) } == ["ok"])
    }
}
