internal import Glibc

/// The modules that p11-kit has configured for this program. pkcs11.conf(5)
///
/// libp11-kit lists only modules that it has loaded into the process, which must not happen here. So its files are read:
/// `NAME.module` of the user, of the system and of packages. The first file that has a field sets it.
public struct P11KitConfiguration: Sendable {
    /// The program's name in `enable-in` and `disable-in`.
    let program: String
    let folders: Folders

    /// The folders of the files.
    public struct Folders: Hashable, Sendable {
        /// `pkcs11.conf` and `modules` of the program's user; nil for root, as with p11-kit itself.
        public var user: String?
        /// The system's folder.
        public var system: String
        /// `.module` files of packages.
        public var packages: String
        /// The folders that a module's relative path is relative to.
        public var modules: [String]

        /// The folders of p11-kit on Linux.
        ///
        /// - Parameter configuration: `$XDG_CONFIG_HOME`.
        public static func standard(configuration: String) -> Folders {
            Folders(
                user: geteuid() == 0 ? nil : configuration + "/pkcs11", system: "/etc/pkcs11",
                packages: "/usr/share/p11-kit/modules",
                modules: ["/usr/lib/\(architecture)/pkcs11", "/usr/lib64/pkcs11", "/usr/lib/pkcs11"])
        }

        /// Debian's name of the architecture in paths.
        private static var architecture: String {
            #if arch(x86_64)
                "x86_64-linux-gnu"
            #elseif arch(arm64)
                "aarch64-linux-gnu"
            #else
                "."
            #endif
        }
    }

    /// The modules by descending priority, then by name, each file once; and the reasons for which others are left out.
    public func modules() -> (modules: [ConfiguredModule], leftOut: [LeftOut]) {
        let (all, leftOut) = allModules()
        let (modules, others) = all.oncePerFile
        return (
            modules,
            leftOut + others.map { LeftOut(name: $0.module.name, reason: "'\($0.first.name)' is the same file") }
        )
    }

    /// All modules, with every name that a file has.
    func allModules() -> (modules: [ConfiguredModule], leftOut: [LeftOut]) {
        var found: [(module: ConfiguredModule, priority: Int)] = []
        var leftOut: [LeftOut] = []
        for (name, fields) in files().sorted(by: { $0.key < $1.key }) {
            if let reason = reasonToLeaveOut(fields) {
                leftOut.append(LeftOut(name: name, reason: reason))
                continue
            }
            let path = fields["module"].flatMap(path(of:))
            let isElsewhere = fields["remote"] != nil
            guard isElsewhere || path != nil else {
                leftOut.append(LeftOut(name: name, reason: "its file \(fields["module"] ?? "") is not there"))
                continue
            }
            let module = ConfiguredModule(name: name, path: isElsewhere ? nil : path)
            if !module.isOurs { found.append((module, fields["priority"].flatMap { Int($0) } ?? 0)) }
        }
        let sorted = found.sorted { ($1.priority, $0.module.name) < ($0.priority, $1.module.name) }
        return (sorted.map(\.module), leftOut)
    }

    /// A module that p11-kit knows and this program does not use.
    public struct LeftOut: Hashable, Sendable {
        public let name: String
        public let reason: String
    }

    private func reasonToLeaveOut(_ fields: [String: String]) -> String? {
        func names(_ field: String) -> [Substring] {
            (fields[field] ?? "").split { $0 == "," || $0 == " " || $0 == "\t" }
        }
        if fields["enable-in"] != nil, !names("enable-in").contains(Substring(program)) {
            return "it is enabled in other programs only"
        }
        if names("disable-in").contains(Substring(program)) { return "it is disabled in \(program)" }
        if fields["trust-policy"] == "yes" { return "it holds the system's authorities, not somebody's keys" }
        return fields["module"] ?? fields["remote"] == nil ? "it names no module" : nil
    }

    private func path(of module: String) -> String? {
        if module.hasPrefix("/") { return unsafe access(module, R_OK) == 0 ? module : nil }
        return folders.modules.map { "\($0)/\(module)" }.first { unsafe access($0, R_OK) == 0 }
    }

    // MARK: Files

    /// The fields of each module by its name.
    private func files() -> [String: [String: String]] { modules(in: foldersOfModules) }

    /// The folders of `.module` files, as p11-kit is configured; files of an earlier one go before those of a later
    /// one.
    public var foldersOfModules: [String] {
        var user = "merge"
        if let mode = P11KitConfiguration.fields(of: folders.system + "/pkcs11.conf")?["user-config"] { user = mode }
        guard let own = folders.user, user != "none" else { return shared }
        if user != "only", let mode = P11KitConfiguration.fields(of: own + "/pkcs11.conf")?["user-config"] {
            user = mode
        }
        switch user {
        case "none": return shared
        case "only": return [own + "/modules"]
        default: return [own + "/modules"] + shared
        }
    }

    private var shared: [String] { [folders.system + "/modules", folders.packages] }

    private func modules(in folders: [String]) -> [String: [String: String]] {
        var modules: [String: [String: String]] = [:]
        for folder in folders {
            for file in P11KitConfiguration.names(in: folder) where file.hasSuffix(".module") && !file.hasPrefix(".") {
                guard let fields = P11KitConfiguration.fields(of: "\(folder)/\(file)") else { continue }
                modules[String(file.dropLast(7)), default: [:]].merge(fields) { first, _ in first }
            }
        }
        return modules
    }

    /// Lines `name: value`; a line that begins with `#` is a remark. Nil for a file that cannot be read.
    static func fields(of path: String) -> [String: String]? {
        guard let text = content(of: path) else { return nil }
        var fields: [String: String] = [:]
        for line in text.split(whereSeparator: \.isNewline) {
            let line = line.drop { $0 == " " || $0 == "\t" }
            guard !line.hasPrefix("#"), let colon = line.firstIndex(of: ":") else { continue }
            fields[trimmed(line[..<colon])] = trimmed(line[line.index(after: colon)...])
        }
        return fields
    }

    private static func trimmed(_ text: Substring) -> String {
        func isBlank(_ character: Character) -> Bool { character == " " || character == "\t" }
        return String(String(text.drop(while: isBlank)).reversed().drop(while: isBlank).reversed())
    }

    private static func names(in folder: String) -> [String] {
        guard let directory = unsafe opendir(folder) else { return [] }
        defer { unsafe closedir(directory) }
        var names: [String] = []
        while let entry = unsafe readdir(directory) {
            names.append(
                unsafe withUnsafePointer(to: &entry.pointee.d_name) { name in
                    unsafe name.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe String(cString: $0) }
                })
        }
        return names
    }

    private static func content(of path: String) -> String? {
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: maximumLength)
        let count = unsafe bytes.withUnsafeMutableBytes { unsafe read(descriptor, $0.baseAddress, $0.count) }
        return count >= 0 ? String(decoding: bytes.prefix(count), as: UTF8.self) : nil
    }

    /// The bytes of a file that are read; the rest is ignored.
    private static let maximumLength = 64 << 10
}
