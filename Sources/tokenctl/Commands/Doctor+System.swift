internal import Glibc
internal import HostAPI
internal import Localization
internal import Platform

extension Doctor {
    /// Findings about the whole machine, for its administrator.
    static func ofMachine(_ module: String) -> [Finding] {
        let machine = DoctorMachine()
        let system = machine.system
        let prefix = HostProgram.folderOfInstallation
        return machine.rights() + system.smartCardService() + machine.readers() + machine.polkit()
            + machine.deviceRules(prefix)
            + system.module(module) + system.p11Kit(module) + machine.installations() + machine.versions()
            + machine.units(prefix) + machine.programs(module, prefix) + machine.settings() + machine.logins(module)
    }
}

// Checks of the whole machine, which an administrator runs. Each finding has one command.
extension DoctorMachine {
    private func missing(
        _ subject: LocalizedKey, _ finding: LocalizedText, _ command: String? = nil
    ) -> Finding {
        Finding(state: "missing", subject: subject, finding: finding, command: command)
    }

    private func note(_ subject: LocalizedKey, _ finding: LocalizedText, _ command: String? = nil) -> Finding {
        Finding(state: "note", subject: subject, finding: finding, command: command)
    }

    private func ok(_ subject: LocalizedKey, _ finding: LocalizedText) -> [Finding] {
        [Finding(state: "ok", subject: subject, finding: finding)]
    }

    /// The checks that need root and are run by another user.
    func rights(of user: uid_t = geteuid()) -> [Finding] {
        user == 0
            ? []
            : [
                note(
                    "root", "polkit's rules and SSSD's settings can be read by root alone, and are left out",
                    "sudo tokenctl doctor --system")
            ]
    }

    // MARK: Readers

    /// pcscd's driver for readers at USB.
    func readers() -> [Finding] {
        let folder = "/usr/lib/pcsc/drivers"
        let drivers = names(in: folder).filter { $0.hasSuffix(".bundle") }
        guard drivers.isEmpty, exists("/usr/sbin/pcscd") else { return [] }
        return [missing("pcscd", "it has no driver for readers in \(folder)", "sudo apt-get install libccid")]
    }

    /// Whether users who are not at the seat may use the service. Where it was built with polkit, it asks for two actions.
    func polkit() -> [Finding] {
        guard exists("/usr/share/polkit-1/actions/org.debian.pcsc-lite.policy") else { return [] }
        let folders = ["/etc/polkit-1/rules.d", "/usr/share/polkit-1/rules.d", "/usr/local/share/polkit-1/rules.d"]
        guard exists("/usr/lib/polkit-1/polkitd") || exists("/usr/libexec/polkitd") else {
            return [
                note(
                    "polkit", "it is not installed: a pcscd that asks it refuses everybody but root",
                    "sudo apt-get install polkitd")
            ]
        }
        let unreadable = folders.filter { folder in
            guard exists(folder) else { return false }
            return unsafe access(root + folder, R_OK | X_OK) != 0
        }
        let rules = folders.flatMap { folder in names(in: folder).map { "\(folder)/\($0)" } }
            .filter { $0.hasSuffix(".rules") && text($0)?.contains("org.debian.pcsc-lite.") == true }
        if let rule = rules.first { return ok("polkit", "\(rule) has a rule for pcscd") }
        guard unreadable.isEmpty else { return [] }
        return [
            note(
                "polkit",
                "it refuses those who come by ssh, and services, the use of pcscd (a rule for them is in Documentation/cards.md)",
                "sudoedit \(folders[0])/50-smartcards.rules")
        ]
    }

    /// The rule by which the seat's user may open readers.
    func deviceRules(_ prefix: String) -> [Finding] {
        let (name, override) = ("70-tokenkit.rules", "/etc/udev/rules.d/70-tokenkit.rules")
        if resolvedPath(root + override) == "/dev/null" {
            return [note("udev", "\(override) switches the rule for readers off", "sudo rm \(override)")]
        }
        let folders = [
            "/etc/udev/rules.d", "/usr/local/lib/udev/rules.d", "/usr/lib/udev/rules.d", "/lib/udev/rules.d",
        ]
        guard let file = folders.map({ "\($0)/\(name)" }).first(where: exists) else {
            return [
                missing("udev", "the rule for readers, \(name), is not there", HostProgram.installation(of: "tokenkit"))
            ]
        }
        return ok("udev", "\(file)")
    }

    // MARK: What is installed

    /// Installations by a package and by make beside each other: programs may load the module of one and start the host of the other.
    func installations() -> [Finding] {
        let (packaged, made) = ("/usr/bin/tokenctl", "/usr/local/bin/tokenctl")
        guard exists(packaged), exists(made) else { return [] }
        return [
            missing(
                "installation", "\(made) goes before the package's \(packaged), and may be another version",
                "sudo make uninstall")
        ]
    }

    /// Debian's packages of one version belong together.
    func versions(
        _ packages: () -> String? = {
            let format = "--showformat=${Package} ${db:Status-Status} ${Version}\\n"
            let query = HelperProgram("dpkg-query")
            let answer = try? query?.run(
                ["--show", format, "tokenkit*", "libtokenkit*"], limit: 64 << 10, isQuiet: true)
            return answer.map { String(decoding: $0.output, as: UTF8.self) }
        }
    ) -> [Finding] {
        let lines = (packages() ?? "").split(whereSeparator: \.isNewline).map { $0.split(separator: " ") }
        let installed = lines.filter { $0.count == 3 && $0[1] == "installed" && !$0[0].hasSuffix("-dbgsym") }
        guard let first = installed.first else { return [] }
        guard let other = installed.first(where: { $0[2] != first[2] }) else {
            return ok("versions", "all packages are of \(first[2])")
        }
        return [
            missing(
                "versions", "\(first[0]) is \(first[2]), and \(other[0]) is \(other[2])",
                "sudo apt-get install \(installed.map { String($0[0]) }.joined(separator: " "))")
        ]
    }

    /// The units by which sessions have a host.
    func units(_ prefix: String) -> [Finding] {
        guard exists("/run/systemd/system") else { return [] }
        let name = "tokenkit.socket"
        let folders = [
            "/etc/systemd/user", "/usr/local/lib/systemd/user", "/usr/lib/systemd/user", "\(prefix)/lib/systemd/user",
        ]
        if resolvedPath(root + "/etc/systemd/user/\(name)") == "/dev/null" {
            return [
                note("units", "\(name) is masked for all users", "sudo systemctl --global unmask \(name)")
            ]
        }
        for unit in [name, "tokenkit.service"] where !folders.contains(where: { exists("\($0)/\(unit)") }) {
            return [missing("units", "\(unit) is not there", HostProgram.installation(of: HostProgram.name))]
        }
        guard exists("/etc/systemd/user/sockets.target.wants/\(name)") else {
            return [
                note(
                    "units", "\(name) is not enabled: the first command of a session starts its host",
                    "sudo systemctl --global enable \(name)")
            ]
        }
        return ok("units", "\(name) is there in every session")
    }

    /// The installed programs and libraries, which root alone may be able to change.
    func programs(_ module: String, _ prefix: String) -> [Finding] {
        let copy = module.hasSuffix(".so") ? "\(module.dropLast(3))-cards.so" : module
        let libraries = names(in: "\(prefix)/lib").map { "\(prefix)/lib/\($0)" } + ["\(prefix)/lib"]
        let files =
            ["\(prefix)/bin/tokenctl", "\(prefix)/libexec/\(HostProgram.name)", module, copy]
            + libraries.map { "\($0)/libtokenkit-keychain.so.1" }
        let present = files.filter(exists)
        var parts: Set<String> = []
        let findings = present.compactMap { file -> Finding? in
            guard let weakness = weakness(of: file), parts.insert(weakness.remedy).inserted else { return nil }
            return missing("programs", "others than root can change \(file): \(weakness.reason)", weakness.remedy)
        }
        return findings.isEmpty && !present.isEmpty ? ok("programs", "only root can change them") : findings
    }

    // MARK: Logging in

    /// Modules for PAM that log people in by their card.
    func logins(_ module: String) -> [Finding] {
        var findings: [Finding] = []
        let (pam, sssd) = ("/etc/pam_pkcs11/pam_pkcs11.conf", "/etc/sssd/sssd.conf")
        let stacks = names(in: "/etc/pam.d").filter { text("/etc/pam.d/\($0)")?.hasLine(with: "pam_pkcs11.so") == true }
        if let stack = stacks.first {
            if !exists(pam) {
                let copy = "sudo cp /usr/share/doc/libpam-pkcs11/examples/pam_pkcs11.conf.example \(pam)"
                findings.append(missing("pam_pkcs11", "/etc/pam.d/\(stack) uses it, and there is no \(pam)", copy))
            } else if text(pam)?.hasLine(with: "libtokenkit-pkcs11") != true {
                findings.append(note("pam_pkcs11", "\(pam) does not name \(module)", "sudoedit \(pam)"))
            } else {
                findings += ok("pam_pkcs11", "\(pam) names the module")
            }
            if let weakness = weakness(of: pam) {
                findings.append(
                    missing("pam_pkcs11", "\(pam) decides who logs in, and \(weakness.reason)", weakness.remedy))
            }
        }
        if let settings = text(sssd) {
            let isOn = settings.split(whereSeparator: \.isNewline).contains { line in
                line.filter { !$0.isWhitespace }.lowercased() == "pam_cert_auth=true"
            }
            let roots = "/etc/sssd/pki/sssd_auth_ca_db.pem"
            if !isOn {
                findings.append(
                    note("SSSD", "\(sssd) does not log people in by their cards (pam_cert_auth)", "sudoedit \(sssd)"))
            } else if !exists(roots) && !settings.contains("pam_cert_db_path") {
                findings.append(
                    missing("SSSD", "\(roots), the roots of cards' certificates, is not there", "sudoedit \(roots)"))
            } else {
                findings += ok("SSSD", "it logs people in by their cards, through p11-kit's modules")
            }
        }
        return findings
    }
}

extension String {
    /// Whether a line that is not a comment has a word.
    fileprivate func hasLine(with word: String) -> Bool {
        split(whereSeparator: \.isNewline).contains {
            !$0.drop(while: \.isWhitespace).hasPrefix("#") && $0.contains(word)
        }
    }
}
