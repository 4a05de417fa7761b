package import KeychainModel
internal import Localization

/// The text of `keychains.conf`: lines `name = value`, empty lines, and comments after `#`. In the system's file a word before the name
/// says how far a user may choose another value.
///
/// Changing a setting leaves every other line as it is.
package struct PreferencesText: SettingsText, Sendable {
    /// The longest file that is read, in bytes.
    package static let maximumLength = SettingsLine.maximumLength

    package enum Setting: String, CaseIterable, Sendable {
        /// A keychain of the search list; the only one that may stand on several lines.
        case keychain
        case defaultKeychain = "default-keychain"
        case loginKeychain = "login-keychain"
        case pinTimeout = "pin-timeout"
        case pinProof = "pin-proof"
        case passwordCost = "password-cost"

        fileprivate var isPath: Bool {
            switch self {
            case .keychain, .defaultKeychain, .loginKeychain: true
            case .pinTimeout, .pinProof, .passwordCost: false
            }
        }

        /// The fault of a value of the setting; nil for a valid one.
        fileprivate func fault(of value: String) -> LocalizedText? {
            switch self {
            case .keychain, .defaultKeychain, .loginKeychain:
                value.hasPrefix("/") || value.hasPrefix("~/") ? nil : "has a path that starts with neither / nor ~/"
            case .pinTimeout:
                UInt32(value).map { $0 > 0 } == true ? nil : "has a time that is not a number of seconds"
            case .pinProof:
                value == "on" || value == "off" ? nil : "is neither on nor off"
            case .passwordCost:
                ScryptCost(mebibytes: value) == nil ? "has a cost that is none of \(ScryptCost.choices)" : nil
            }
        }
    }

    /// How far a user may choose another value than the system's, where that is not the setting's own rule.
    package enum Choice: String, CaseIterable, Sendable {
        /// The user's value does not count.
        case fixed
        /// The system's value counts where the user has none.
        case preset
    }

    private struct Line {
        let text: String
        var assignment: Assignment?
    }

    private struct Assignment {
        let setting: Setting
        let value: String
        var choice: Choice?
    }

    private var lines: [Line] = []

    /// The content of a new file.
    package init() {
        lines = Self.introduction.split(separator: "\n", omittingEmptySubsequences: false).map {
            Line(text: String($0))
        }
    }

    package init(reading text: String, faults: inout [SettingsFault]) {
        var first: [Setting: Assignment] = [:]
        for line in SettingsLine.lines(of: text, faults: &faults) {
            do throws(SettingsFault) {
                let assignment = try Self.assignment(in: line)
                lines.append(Line(text: line.text, assignment: assignment))
                guard let assignment, let former = first.updateValue(assignment, forKey: assignment.setting)
                else { continue }
                let name = assignment.setting.rawValue
                guard assignment.setting == .keychain else {
                    throw line.fault("sets \(name) again", remedy: "remove one of them")
                }
                guard former.choice == assignment.choice else {
                    throw line.fault(
                        "differs from another line with \(name) in the word before it",
                        remedy: "write the same word before all of them, or none")
                }
            } catch {
                faults.append(error)
            }
        }
    }

    /// - Returns: nil for a line that sets nothing.
    private static func assignment(in line: SettingsLine) throws(SettingsFault) -> Assignment? {
        guard !line.content.isEmpty else { return nil }
        guard let sign = line.content.firstIndex(of: "=") else {
            throw line.fault("is not of the form 'name = value'")
        }
        let words = line.content[..<sign].split { $0 == " " || $0 == "\t" }
        let choice = words.count == 2 ? Choice(rawValue: String(words[0])) : nil
        let name = choice == nil ? line.content[..<sign].trimmingBlanks : String(words[1])
        guard let setting = Setting(rawValue: name) else {
            let names = Setting.allCases.map(\.rawValue).joined(separator: ", ")
            throw line.fault("sets '\(name.prefix(40))', which is none of \(names)")
        }
        let value = try value(
            of: setting, line.content[line.content.index(after: sign)...].trimmingBlanks, in: line)
        if !value.isEmpty, let fault = setting.fault(of: value) { throw line.fault(fault) }
        return Assignment(setting: setting, value: value, choice: choice)
    }

    /// A path without quotes goes to the end of its line: older versions wrote such with blanks and with `#` in it.
    private static func value(
        of setting: Setting, _ text: String, in line: SettingsLine
    ) throws(SettingsFault) -> String {
        if setting.isPath, !text.hasPrefix("\"") { return text }
        guard let words = SettingsLine.words(of: text) else { throw line.fault("has a quote that is not closed") }
        guard words.count < 2 else { return text }
        return words.first ?? ""
    }

    /// The word before a setting; nil where there is none, or the setting has no line.
    package func choice(for setting: Setting) -> Choice? {
        lines.first { $0.assignment?.setting == setting }?.assignment?.choice
    }

    /// The lines that do not count in the system's file, each with its setting: only a user has a login keychain.
    package var linesWithoutEffectForSystem: [(line: Int, setting: String)] {
        lines.enumerated().compactMap { index, line in
            line.assignment?.setting == .loginKeychain ? (index + 1, Setting.loginKeychain.rawValue) : nil
        }
    }

    /// The values of a setting in the order of their lines; nil without a line, empty where all lines are without a
    /// value.
    package subscript(setting: Setting) -> [String]? {
        let values = lines.compactMap { $0.assignment }.filter { $0.setting == setting }.map(\.value)
        return values.isEmpty ? nil : values.filter { !$0.isEmpty }
    }

    /// Every path that is in a setting.
    package var paths: [String] { [.keychain, .defaultKeychain, .loginKeychain].flatMap { self[$0] ?? [] } }

    /// Replaces the lines of a setting: the new ones are put where the old ones began, or at the end.
    ///
    /// - Parameter values: one line for each; a line without a value for an empty list, no line for nil.
    /// - Throws: `errSecParam` for a path that a line cannot hold.
    package mutating func set(_ setting: Setting, to values: [String]?) throws(KeychainError) {
        for value in values ?? [] {
            let isPlain =
                !value.hasPrefix("~/") && setting.fault(of: value) == nil
                && !value.unicodeScalars.contains { $0.value < 0x20 || $0.value == 0x7F }
            guard isPlain, value.trimmingBlanks == value else {
                throw KeychainError(
                    .param, "the path '\(value)' cannot be kept as a setting", remedy: "rename the file")
            }
        }
        let place = lines.firstIndex { $0.assignment?.setting == setting } ?? lines.endIndex
        let choice = choice(for: setting)
        lines.removeAll { $0.assignment?.setting == setting }
        guard let values else { return }
        let new = (values.isEmpty ? [""] : values).map { value in
            let word = choice.map { "\($0.rawValue) " } ?? ""
            return Line(
                text: "\(word)\(setting.rawValue) =\(value.isEmpty ? "" : " ")\(value)",
                assignment: Assignment(setting: setting, value: value, choice: choice))
        }
        lines.insert(contentsOf: new, at: min(place, lines.endIndex))
    }

    /// The text to write.
    package var text: String { lines.map { $0.text + "\n" }.joined() }

    private static let introduction = """
        # Keychains of tokenkit. Its programs change this file, and leave comments as they are.
        #
        #   keychain = PATH          visited by searches; a line for each, in their order, cards before all
        #   keychain =               the only such line: no keychain is visited
        #   default-keychain = PATH  gets new items
        #   login-keychain = PATH    is the default where no other is set
        #   pin-timeout = SECONDS    for which a card's PIN counts in the program it was given to
        #   pin-proof = on           cards show that they hold their key before they are given a PIN
        #   password-cost = MEBIBYTES  of memory that each guess at a new keychain's password takes, 128 by default
        #
        # A path begins with / or ~/. Without settings searches visit every keychain in the folder for them, login first,
        # and login gets new items. keychains.conf(5) explains all of them.
        """
}
