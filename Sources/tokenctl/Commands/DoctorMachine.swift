internal import Glibc
internal import HostAPI
internal import Localization
internal import Platform
internal import Settings

/// The files and folders of the machine that belong to all users, below a root.
struct DoctorMachine {
    typealias Finding = Doctor.Finding

    /// A prefix of every path: the folder in which a test has its files, else empty.
    var root = ""
    /// The user who must own the files.
    var owner: uid_t = 0
    /// Whether there is a driver of cards with a name.
    var isDriver: (String) -> Bool = CardDrivers.isName
    let system = DoctorSystem()

    func exists(_ path: String) -> Bool { system.exists(root + path) }
    func text(_ path: String) -> String? { system.text(root + path) }
    func names(in folder: String) -> [String] { system.names(in: root + folder) }

    /// The way in which others than root can change a file, and the command that ends it; nil where there is none, or no file.
    func weakness(of path: String) -> (reason: String, remedy: String)? {
        guard let weakness = FollowedPath(root + path, for: owner)?.weakness else { return nil }
        let part = ShellText.quoted(weakness.part)
        return (weakness.reason, weakness.isOwners ? "sudo chown -h root: \(part)" : "sudo chmod go-w \(part)")
    }

    // MARK: Settings for all users

    private static let folder = "/etc/tokenkit"

    /// Checks the files of settings: the host ignores one that others than root can write, and one with a line that is none.
    func settings() -> [Finding] {
        let files = ["keychains.conf", "access.conf", "disabled-drivers"]
        let checked = files.flatMap { name in settings(in: name) }
        // Programs that change settings leave a lock, and dpkg what it did not install.
        let others = names(in: Self.folder).filter { name in
            !files.contains { name == $0 || name.hasPrefix($0 + ".") }
        }
        return checked
            + others.map { name in
                finding("note", "\(Self.folder)/\(name) is none of \(files.joined(separator: ", ")): nothing reads it")
            }
    }

    private func settings(in name: String) -> [Finding] {
        let path = "\(Self.folder)/\(name)"
        guard exists(path) else { return [] }
        let file = ShellText.quoted(path)
        if let weakness = weakness(of: path) {
            return [finding("missing", "\(path) does not count: \(weakness.reason)", weakness.remedy)]
        }
        var status = stat()
        guard unsafe stat(root + path, &status) == 0, status.st_mode & S_IFMT == S_IFREG else {
            return [finding("missing", "\(path) does not count: it is not a file", "sudo rm -r \(file)")]
        }
        guard status.st_size <= PreferencesText.maximumLength else {
            return [
                finding(
                    "missing", "\(path) does not count: it is longer than \(PreferencesText.maximumLength) bytes",
                    "sudoedit \(file)")
            ]
        }
        if status.st_mode & S_IROTH == 0 {
            return [finding("missing", "programs of users cannot read \(path)", "sudo chmod a+r \(file)")]
        }
        guard let bytes = system.bytes(root + path), let text = String(validating: bytes, as: UTF8.self) else {
            return [finding("missing", "\(path) does not count: it cannot be read as UTF-8", "sudoedit \(file)")]
        }
        let faults =
            switch name {
            case "keychains.conf": PreferencesText.faults(in: text)
            case "access.conf": AccessRules.faults(in: text)
            default: DisabledDrivers.faults(in: text)
            }
        guard faults.isEmpty else {
            return faults.map { fault in
                let help = fault.hasForm ? fault.remedy : nil
                return finding(
                    "missing",
                    help.map { "line \(fault.line) of \(path) \(fault.reason), so that no line counts (\($0))" }
                        ?? "line \(fault.line) of \(path) \(fault.reason), so that no line counts",
                    "sudoedit \(file)")
            }
        }
        let found = remarks(on: text, of: name, at: path)
        return found.isEmpty ? [finding("ok", "\(path)")] : found
    }

    /// The settings of a file that counts which have no effect.
    private func remarks(on text: String, of name: String, at path: String) -> [Finding] {
        func note(_ line: Int, _ reason: LocalizedText) -> Finding {
            finding("note", "line \(line) of \(path) \(reason)")
        }
        switch name {
        case "keychains.conf":
            guard let settings = try? PreferencesText(parsing: text, of: path) else { return [] }
            return settings.linesWithoutEffectForSystem.map {
                note($0.line, "sets \($0.setting), which only a user has")
            }
                + settings.paths.filter { $0.hasPrefix("/") && !exists($0) }.map {
                    finding("note", "\(path) names \($0), which is not there")
                }
        case "access.conf":
            return ((try? AccessRules(parsing: text, of: path))?.rules ?? []).compactMap { rule in
                remark(on: rule).map { remark in
                    finding(
                        remark.remedy == nil ? "note" : "missing", "line \(rule.line) of \(path) \(remark.reason)",
                        remark.remedy)
                }
            }
        default:
            return ((try? DisabledDrivers(parsing: text, of: path))?.namedLines ?? []).filter { !isDriver($0.name) }
                .map { note($0.line, "names '\($0.name)', which is no driver") }
        }
    }

    /// The reason why a rule does not count; nil for one that does.
    private func remark(on rule: AccessRules.Rule) -> (reason: LocalizedText, remedy: String?)? {
        let path = rule.path
        let edit = "sudoedit \(Self.folder)/access.conf"
        guard exists(path) else { return ("is about \(path), which is not there", nil) }
        if let weakness = weakness(of: path) { return ("does not count: \(weakness.reason)", weakness.remedy) }
        if let program = resolvedPath(root + path)?.dropFirst(root.count), program != path {
            return ("does not count: the program at \(path) is \(program)", edit)
        }
        if Interpreter.isOne(path.split(separator: "/").last.map(String.init) ?? "") {
            return ("does not count: \(path) does what any script says", edit)
        }
        if rule.user == "root" || rule.user.flatMap({ UInt32($0) }) == 0 {
            return ("does not count: programs that run as root are given no right", edit)
        }
        if let user = rule.user, UInt32(user) == nil, unsafe getpwnam(user) == nil {
            return ("is about the user '\(user)', whom the machine does not know", nil)
        }
        return nil
    }

    private func finding(_ state: LocalizedKey, _ text: LocalizedText, _ command: String? = nil) -> Finding {
        Finding(state: state, subject: "settings", finding: text, command: command)
    }
}
