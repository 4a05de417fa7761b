internal import KeychainModel
internal import ArgumentParser
internal import FoundationEssentials
internal import Glibc
internal import HostAPI
internal import Localization
internal import Platform

struct Doctor: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Say what programs lack to use cards and keychains, and the command that mends it.",
        discussion: """
            Nothing is changed, and nothing sent to a card, except that other makers' PKCS#11 modules are started. Ends with 1 where \
            something is missing. With --system it checks the machine for all users, as root, and not what is one user's: the \
            card service, rules, units and modules, the settings in /etc/tokenkit, and who can change them.
            """)

    @OptionGroup var output: OutputOptions

    @Flag(help: "Check the machine for all users, as root.")
    var system = false

    @Option(
        help: ArgumentHelp("The PKCS#11 module, where it is not installed with this program.", valueName: "file"),
        completion: .file())
    var module: String?

    /// The result of one check.
    struct Finding: Encodable {
        /// `ok`, `missing`, or `note` for what only some programs need.
        let state: LocalizedKey
        let subject: LocalizedKey
        let finding: LocalizedText
        private let mending: LocalizedText?

        var remedy: String? { mending.map { String(localized: $0) } }

        private enum CodingKeys: String, CodingKey {
            case state, subject, finding
            case mending = "remedy"
        }

        /// - Parameters:
        ///   - remedy: what to do, in words.
        ///   - command: the command that does it.
        init(
            state: LocalizedKey, subject: LocalizedKey, finding: LocalizedText, remedy: LocalizedText? = nil,
            command: String? = nil
        ) {
            (self.state, self.subject, self.finding) = (state, subject, finding)
            mending = command.map { LocalizedText(verbatim: $0) } ?? remedy
        }
    }

    func run() throws {
        let checks = DoctorSystem()
        let module = module ?? checks.installedModule
        let findings = system ? Doctor.ofMachine(module) : Doctor.ofUser(module, checks)
        if output.json {
            try Listing.showJSON(findings)
        } else {
            for finding in findings {
                let state = Word.shown(finding.state).padded(to: 7)
                StandardOutput.line("\(state)  \(Word.shown(finding.subject)): \(finding.finding)")
                if let remedy = finding.remedy {
                    StandardOutput.line("         \(String(localized: "mend it with: \(remedy)"))")
                }
            }
        }
        if findings.contains(where: { $0.state == "missing" }) { throw ExitCode.failure }
    }

    /// Findings about the user's own programs and keychains.
    private static func ofUser(_ module: String, _ system: DoctorSystem) -> [Finding] {
        system.smartCardService() + system.module(module) + system.host() + system.p11Kit(module)
            + system.otherModules() + system.sshAgent(module)
            + system.networkSecurityServices(module)
            + Doctor.keychains() + Doctor.modules()
            + system.openSSL(keychainsWithEd25519: (try? Doctor.keychainsWithEd25519()) ?? []) + system.gnuPG()
            + system.pinentry() + system.rejectedPINs() + DoctorMachine().settings()
    }

    /// The names of local keychains with a private Ed25519 key. Cards are not asked.
    private static func keychainsWithEd25519() throws -> [String] {
        let keys: Attributes = [
            .keyClass: KeyClass.private.value, .keyType: KeyType.ed25519.value,
            .synchronizable: Query.anySynchronizable,
        ]
        let session = try CommandKeychains(cards: false)
        let found = Set(try session.items(matching: Query(.key, keys, limit: .all)).found.map(\.keychain))
        return try session.foundFiles().found.filter { found.contains($0.identifier) }.map(\.name)
    }
}

extension String {
    /// The text with blanks behind it, up to a length.
    func padded(to width: Int) -> String { self + String(repeating: " ", count: max(0, width - count)) }
}

/// The files and processes that decide whether programs find the module.
struct DoctorSystem {
    typealias Finding = Doctor.Finding

    private let home = Directories.own.home

    private static let name = "libtokenkit-pkcs11.so"

    /// The module's path in this program's installation: as `make install` lays it out, or as Debian's package does, which has a folder for
    /// each architecture.
    var installedModule: String {
        let library = HostProgram.folderOfInstallation + "/lib"
        let packaged = names(in: library).map { "\(library)/\($0)/pkcs11/\(DoctorSystem.name)" }
        return packaged.first(where: exists) ?? "\(library)/\(DoctorSystem.name)"
    }

    // MARK: Cards

    func smartCardService() -> [Finding] {
        switch CardServiceState.now {
        case .running(readers: 0, cards: _, held: _):
            return [Finding(state: "note", subject: "pcscd", finding: "it runs, and there is no reader")]
        case .running(let readers, let cards, let held):
            let running = Finding(
                state: "ok", subject: "pcscd", finding: "it runs (readers: \(readers), cards: \(cards))")
            return [running] + held.map { Finding(state: "missing", subject: "card", finding: "\($0)") }
        case .failed(let reason, let isAbsent):
            let isInstalled = exists("/usr/sbin/pcscd")
            let remedy = isInstalled ? "sudo systemctl enable --now pcscd.socket" : "sudo apt-get install pcscd"
            return [
                Finding(state: "missing", subject: "pcscd", finding: "\(reason)", command: isAbsent ? remedy : nil)
            ]
        }
    }

    /// Checks that programs without a session's folder remember rejected PINs in a folder in memory.
    func rejectedPINs() -> [Finding] {
        HostAccess.remarkOnVolatileFolder.map { [Finding(state: "note", subject: "wrong PINs", finding: "\($0)")] }
            ?? []
    }

    /// Finds a running scdaemon that keeps cards from other programs, without `disable-ccid` and `pcsc-shared`.
    func gnuPG() -> [Finding] {
        let settings = text("\(home)/.gnupg/scdaemon.conf") ?? ""
        let lines = settings.split(whereSeparator: \.isNewline).map { $0.trimmingPrefix(while: \.isWhitespace) }
        let shares = lines.contains { $0.hasPrefix("disable-ccid") } && lines.contains { $0.hasPrefix("pcsc-shared") }
        guard !shares, isRunning("scdaemon") else { return [] }
        return [
            Finding(
                state: "missing", subject: "GnuPG", finding: "its scdaemon runs and holds cards for itself",
                command:
                    "printf 'disable-ccid\\npcsc-shared\\n' >> ~/.gnupg/scdaemon.conf; gpgconf --kill scdaemon")
        ]
    }

    // MARK: The module

    func module(_ path: String) -> [Finding] {
        guard let defect = defect(ofModule: path) else {
            return [Finding(state: "ok", subject: "module", finding: "\(path)")]
        }
        return [
            Finding(
                state: "missing", subject: "module", finding: "\(path) \(defect)",
                command: HostProgram.installation(of: "libtokenkit-pkcs11"))
        ]
    }

    /// The reason that a file cannot be loaded; nil for a library.
    private func defect(ofModule path: String) -> LocalizedText? {
        guard exists(path) else { return "is not there" }
        let file = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard file >= 0 else { return "cannot be read" }
        defer { close(file) }
        var start = [UInt8](repeating: 0, count: 4)
        let count = unsafe read(file, &start, start.count)
        return count == start.count && start == [0x7F] + Array("ELF".utf8) ? nil : "is not a library"
    }

    func p11Kit(_ module: String) -> [Finding] {
        let folders = Modules.foldersOfConfiguration
        let files = folders.flatMap { folder in names(in: folder).map { "\(folder)/\($0)" } }
        let lines = files.filter { $0.hasSuffix(".module") }.compactMap { file in
            value(of: "module", ":", in: text(file) ?? "").map { (file: file, module: $0) }
        }
        let own = lines.filter { $0.module.hasSuffix(DoctorSystem.name) }
        // The text of the installed file. `disable-in` keeps tokenctl from showing its own cards a second time.
        let write = "printf '%s\\n' \(ShellText.quoted("module: \(module)")) 'disable-in: tokenctl' | sudo tee"
        guard let first = own.first else {
            return [
                Finding(
                    state: "missing", subject: "p11-kit", finding: "no file tells it of the module",
                    command: HostProgram.isPackaged && !exists(module)
                        ? HostProgram.installation(of: "libtokenkit-pkcs11")
                        : "sudo mkdir -p /etc/pkcs11/modules && \(write) /etc/pkcs11/modules/tokenkit.module"
                )
            ]
        }
        // p11-kit looks for a path without a folder in its own folder.
        guard let found = own.first(where: { !$0.module.hasPrefix("/") || defect(ofModule: $0.module) == nil }) else {
            return [
                Finding(
                    state: "missing", subject: "p11-kit",
                    finding: "\(first.file) names \(first.module), which \(defect(ofModule: first.module) ?? "")",
                    command: "\(write) \(ShellText.quoted(first.file))")
            ]
        }
        return [Finding(state: "ok", subject: "p11-kit", finding: "\(found.file)")]
    }

    /// The agent loads modules from some folders only: ssh-agent(1), `-P`.
    func sshAgent(_ module: String) -> [Finding] {
        let path = resolvedPath(module) ?? module
        let standard = ["/usr/lib", "/usr/lib64", "/usr/local/lib", "/usr/local/lib64"]
        guard !standard.contains(where: { path.hasPrefix($0 + "/") }), !agentsPatterns.contains(where: path.isMatch)
        else { return [Finding(state: "ok", subject: "ssh-agent", finding: "it may load the module")] }
        let finding: LocalizedText = "it loads modules from \(standard.joined(separator: ", ")) only"
        // Copies of the module under other names, which show only some tokens, may be loaded as well.
        let pattern = path.hasSuffix(".so") ? path.dropLast(3) + "*.so" : path[...]
        return [
            Finding(
                state: "note", subject: "ssh-agent", finding: finding,
                command: "ssh-agent -P \(ShellText.quoted(String(pattern)))")
        ]
    }

    /// The files that this user's agents may load.
    private var agentsPatterns: [String] {
        processes(named: "ssh-agent").flatMap { process -> [String] in
            let words = text("/proc/\(process)/cmdline")?.split(separator: "\0").map(String.init) ?? []
            guard let option = words.firstIndex(where: { $0.hasPrefix("-P") }) else { return [] }
            let list = words[option] == "-P" ? words.dropFirst(option + 1).first : String(words[option].dropFirst(2))
            return list?.split(separator: ",").map(String.init) ?? []
        }
    }

    func networkSecurityServices(_ module: String) -> [Finding] {
        var databases = ["\(home)/.pki/nssdb"]
        for root in ["\(home)/.mozilla/firefox", "\(home)/.thunderbird"] {
            databases += names(in: root).map { "\(root)/\($0)" }
        }
        return databases.filter { exists("\($0)/pkcs11.txt") }.map { database in
            let list = (text("\(database)/pkcs11.txt") ?? "").split(separator: "\n\n").map(String.init)
            let own = list.filter { value(of: "library", "=", in: $0)?.hasSuffix(DoctorSystem.name) ?? false }
            // A path without a folder is looked for where the system's libraries are.
            let works = own.contains { entry in
                value(of: "library", "=", in: entry).map { !$0.hasPrefix("/") || defect(ofModule: $0) == nil } ?? false
            }
            if works || list.contains(where: { $0.contains("p11-kit-proxy") }) {
                return Finding(state: "ok", subject: "NSS", finding: "\(database)")
            }
            let modutil = "modutil -dbdir \(ShellText.quoted("sql:\(database)"))"
            let add = "\(modutil) -add tokenkit -libfile \(ShellText.quoted(module))"
            guard let broken = own.first, let library = value(of: "library", "=", in: broken) else {
                return Finding(
                    state: "missing", subject: "NSS", finding: "the database \(database) does not know the module",
                    command: add)
            }
            let name = ShellText.quoted(value(of: "name", "=", in: broken) ?? "tokenkit")
            return Finding(
                state: "missing", subject: "NSS",
                finding: "the database \(database) names \(library), which \(defect(ofModule: library) ?? "")",
                command: "\(modutil) -delete \(name) && \(add)")
        }
    }

    /// Checks OpenSSL's PKCS#11 engine, and the keys for it: its libp11 gives up on a token's private keys at the first of an unknown
    /// kind.
    func openSSL(keychainsWithEd25519: [String]) -> [Finding] {
        let folders = names(in: "/usr/lib").map { "/usr/lib/\($0)/engines-3" }
        guard !folders.contains(where: { exists("\($0)/pkcs11.so") }) else {
            let engine = Finding(state: "ok", subject: "OpenSSL", finding: "its PKCS#11 engine is there")
            return [engine]
                + keychainsWithEd25519.map { name in
                    Finding(
                        state: "note", subject: "OpenSSL",
                        finding: "its engine finds no private key in '\(name)', where there is an Ed25519 key",
                        remedy: "tokenctl create-keychain openssl, for the keys that OpenSSL is to use")
                }
        }
        return [
            Finding(
                state: "note", subject: "OpenSSL", finding: "it has no PKCS#11 engine",
                command: "sudo apt-get install libengine-pkcs11-openssl")
        ]
    }

    // MARK: Looking

    func exists(_ path: String) -> Bool { unsafe access(path, F_OK) == 0 }

    /// A file's text; nil where it cannot be read, or has more than 1 MiB.
    func text(_ path: String) -> String? {
        bytes(path).map { String(decoding: $0, as: UTF8.self) }
    }

    func bytes(_ path: String) -> Data? {
        // Neither a pipe nor a device, which would not end.
        var status = stat()
        guard unsafe stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFREG || path.hasPrefix("/proc/"),
            let content = FileManager.default.contents(atPath: path), content.count <= 1 << 20
        else { return nil }
        return content
    }

    func names(in folder: String) -> [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).sorted()
    }

    /// The text after a name at the beginning of a line and a separator; nil without such a line.
    func value(of name: String, _ separator: String, in text: String) -> String? {
        for line in text.split(whereSeparator: \.isNewline).map({ $0.drop(while: \.isWhitespace) })
        where line.hasPrefix(name) {
            let rest = line.dropFirst(name.count).drop(while: \.isWhitespace)
            guard rest.hasPrefix(separator) else { continue }
            let value = rest.dropFirst(separator.count).drop(while: \.isWhitespace)
            return String(value.reversed().drop(while: \.isWhitespace).reversed())
        }
        return nil
    }

    private func isRunning(_ name: String) -> Bool { !processes(named: name).isEmpty }

    /// The numbers of this user's processes that have the name.
    private func processes(named name: String) -> [String] {
        names(in: "/proc").filter { process in
            var information = stat()
            guard process.allSatisfy(\.isNumber), unsafe stat("/proc/\(process)", &information) == 0,
                information.st_uid == geteuid()
            else { return false }
            return text("/proc/\(process)/comm") == name + "\n"
        }
    }
}

extension String {
    /// Whether a pattern of the shell is for this path. Wraps `fnmatch`.
    fileprivate func isMatch(_ pattern: String) -> Bool { unsafe fnmatch(pattern, self, 0) == 0 }
}
