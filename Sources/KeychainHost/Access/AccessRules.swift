package import KeychainModel
package import Platform

/// An administrator's rules for programs without a person who could be asked: `access.conf` in the folder of the system's settings.
///
///     # The web server of a machine, and a script that reads passwords by tokenctl.
///     allow /usr/sbin/nginx user=www-data unit=nginx.service
///     allow /usr/bin/tokenctl unit=backup.service
///
/// A program is named by the path of a file that only root can change; interpreters are not allowed by their path. A unit is one of the
/// system's service manager. What a rule leaves out may be anything.
package struct AccessRules: ReadSettings, Sendable {
    private struct Rule {
        let path: String
        /// A name or a number.
        var user: String?
        var unit: String?
    }

    private var rules: [Rule] = []

    /// - Parameter path: where the text is from, for the error.
    /// - Throws: `errSecDecode`, naming the line, for one that is no rule.
    init(parsing text: String, of path: String) throws(KeychainError) {
        let lines = text.unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false)
        for (index, line) in lines.enumerated() {
            let words = String(line.prefix { $0 != "#" }).split { $0 == " " || $0 == "\t" || $0 == "\r" }.map(
                String.init)
            guard !words.isEmpty else { continue }
            guard let rule = AccessRules.rule(words) else {
                throw KeychainError(
                    .decode, "line \(index + 1) of \(path) is no rule",
                    remedy: "write: allow /PATH [user=NAME] [unit=NAME]")
            }
            rules.append(rule)
        }
    }

    private static func rule(_ words: [String]) -> Rule? {
        guard words.count >= 2, words[0] == "allow", words[1].hasPrefix("/") else { return nil }
        var rule = Rule(path: words[1])
        for word in words.dropFirst(2) {
            let parts = word.split(separator: "=", maxSplits: 1).map(String.init)
            guard parts.count == 2 else { return nil }
            switch parts[0] {
            case "user" where rule.user == nil: rule.user = parts[1]
            case "unit" where rule.unit == nil: rule.unit = parts[1]
            default: return nil
            }
        }
        return rule
    }

    /// The rules of the system; nil without any.
    ///
    /// - Throws: as the parser does; `errSecNoAccessForItem` for a file that others than root could write.
    package static func read(in directories: Directories) throws(KeychainError) -> AccessRules? {
        let file = PreferencesFile<AccessRules>(path: directories.system + "/access.conf", isRoots: true)
        return try file.read()
    }

    /// Whether a program of a user may use everything that is unlocked.
    func allow(_ program: ProgramIdentity, of user: UInt32) -> Bool {
        guard case .path(let path)? = program.id else { return false }
        let names = ["\(user)", User(user).name]
        return rules.contains { rule in
            rule.path == path && (rule.user == nil || names.contains(rule.user))
                && (rule.unit == nil || rule.unit == program.unit)
        }
    }
}
