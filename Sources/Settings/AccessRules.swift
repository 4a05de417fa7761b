internal import Localization
package import Platform

/// An administrator's rules about programs: `access.conf` in the folder of the system's settings.
///
///     # The web server of a machine, and a script that reads passwords by tokenctl.
///     allow /usr/sbin/nginx user=www-data unit=nginx.service
///     allow /usr/bin/tokenctl unit=backup.service
///     # Makes keys on cards as the card's user.
///     administer /usr/bin/certutil
///
/// A program is named by the path of a file that only root can change; interpreters are not allowed by their path. A unit is one of the
/// system's service manager. What a rule leaves out may be anything.
package struct AccessRules: ReadSettings, Sendable {
    package enum Right: String, CaseIterable, Sendable {
        /// The use of all that is unlocked, without a question.
        case allow
        /// The administration of cards, for a program that knows no security officer.
        case administer
    }

    package struct Rule: Sendable {
        package let line: Int
        package let right: Right
        package let path: String
        /// A name or a number.
        package fileprivate(set) var user: String?
        package fileprivate(set) var unit: String?
    }

    package private(set) var rules: [Rule] = []

    package init(reading text: String, faults: inout [SettingsFault]) {
        for line in SettingsLine.lines(of: text, faults: &faults) {
            guard let words = SettingsLine.words(of: line.content) else {
                faults.append(line.fault("has a quote that is not closed", form: AccessRules.form))
                continue
            }
            guard !words.isEmpty else { continue }
            if let rule = AccessRules.rule(words, line.number) {
                rules.append(rule)
            } else {
                faults.append(line.fault("is no rule", form: AccessRules.form))
            }
        }
    }

    private static let form: LocalizedText =
        "allow /PATH [user=NAME] [unit=NAME], or administer in place of allow"

    private static func rule(_ words: [String], _ line: Int) -> Rule? {
        guard words.count >= 2, let right = Right(rawValue: words[0]), words[1].hasPrefix("/") else { return nil }
        var rule = Rule(line: line, right: right, path: words[1])
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

    /// Whether there is a rule of the right for any program.
    package func has(_ right: Right) -> Bool { rules.contains { $0.right == right } }

    /// Whether a program of a user has a right.
    package func gives(_ right: Right, to program: ProgramIdentity, of user: UInt32) -> Bool {
        guard case .path(let path)? = program.id else { return false }
        let names = ["\(user)", User(user).name]
        return rules.contains { rule in
            rule.right == right && rule.path == path && (rule.user == nil || names.contains(rule.user))
                && (rule.unit == nil || rule.unit == program.unit)
        }
    }
}
