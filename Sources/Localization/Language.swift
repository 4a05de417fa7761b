internal import CLinux
internal import Glibc

/// A language in which texts are shown: English, which the sources have, or that of a catalogue.
public struct Language: Sendable {
    private let catalogue: Catalogue?

    private init(_ catalogue: Catalogue?) {
        self.catalogue = catalogue
    }

    /// The language of texts that are shown now: the process's own, unless a caller has chosen that of another person.
    @TaskLocal public static var current = Language.ofProcess

    public static let english = Language(nil)

    /// The language that the process's environment chooses.
    public static let ofProcess = Language { name in
        unsafe clinux_getenv(name).flatMap { unsafe String(validatingCString: $0) }
    }

    /// The language that variables choose, as for gettext: the first of `LC_ALL`, `LC_MESSAGES` and `LANG` that is set names the
    /// locale. Unless that is C or POSIX, `LANGUAGE` may have a list of others. The locale need not be installed. Nothing is
    /// opened for English.
    ///
    /// - Parameters:
    ///   - folder: the folder with the catalogues; that of the installed program by default.
    ///   - variable: the value of a variable; nil for one that is not set.
    public init(in folder: String? = Language.installedFolder, _ variable: (String) -> String?) {
        self.init(Language.catalogue(folder, Language.names(variable)))
    }

    /// The language that the variables of another process choose.
    ///
    /// - Parameter environment: its variables, each as `NAME=value`; other bytes are passed over.
    public init(environment: [[UInt8]]) {
        self.init { name in
            let start = Array("\(name)=".utf8)
            return environment.first { $0.starts(with: start) }.flatMap { variable in
                String(validating: variable.dropFirst(start.count), as: UTF8.self)
            }
        }
    }

    private static func catalogue(_ folder: String?, _ names: [String]) -> Catalogue? {
        guard let folder else { return nil }
        for name in names {
            if name == "en" || name.hasPrefix("en_") { return nil }
            if let catalogue = Catalogue(path: "\(folder)/\(name)/LC_MESSAGES/tokenkit.mo") { return catalogue }
        }
        return nil
    }

    /// The names of folders in which a catalogue is looked for, such as `de_AT` and `de` for `de_AT.UTF-8`.
    static func names(_ variable: (String) -> String?) -> [String] {
        func value(_ name: String) -> String? { variable(name).flatMap { $0.isEmpty ? nil : $0 } }
        guard let locale = value("LC_ALL") ?? value("LC_MESSAGES") ?? value("LANG") else { return [] }
        guard locale != "C", locale != "POSIX" else { return [] }
        let list = value("LANGUAGE").map { $0.split(separator: ":").map(String.init) } ?? [locale]
        return list.filter(isName).flatMap { name in
            let modifier = name.split(separator: "@").dropFirst().first.map { "@\($0)" } ?? ""
            let territory = name.prefix { $0 != "." && $0 != "@" }
            let language = territory.prefix { $0 != "_" }
            var names: [String] = []
            for base in [territory, language] {
                for name in ["\(base)\(modifier)", "\(base)"] where !names.contains(name) { names.append(name) }
            }
            return names
        }
    }

    /// Whether a name is one of a locale, and no path to elsewhere.
    private static func isName(_ name: String) -> Bool {
        name.utf8.first.map { UInt8(ascii: "a")...UInt8(ascii: "z") ~= $0 | 0x20 } == true
            && name.utf8.count <= 64 && !name.contains("/") && name != "C" && !name.hasPrefix("C.") && name != "POSIX"
    }

    /// `share/locale` of the prefix that the running program is installed below, as `bin/tokenctl` and `libexec/tokenkitd` are.
    public static let installedFolder: String? = {
        var path = [UInt8](repeating: 0, count: Int(PATH_MAX))
        let length = unsafe path.withUnsafeMutableBytes { path in
            guard let start = unsafe path.baseAddress?.assumingMemoryBound(to: CChar.self) else { return 0 }
            return unsafe readlink("/proc/self/exe", start, path.count)
        }
        guard length > 0, let program = String(validating: path.prefix(length), as: UTF8.self) else { return nil }
        let prefix = program.split(separator: "/").dropLast(2).map { "/\($0)" }.joined()
        return "\(prefix)/share/locale"
    }()

    func translation(of key: String) -> String? { catalogue?.translation(of: key) }

    func translation(of key: String, count: Int) -> String? { catalogue?.translation(of: key, count: count) }

    /// Whether the language is the sources' own.
    public var isEnglish: Bool { catalogue == nil }
}
