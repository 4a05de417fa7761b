internal import KeychainModel

/// The text of a file of settings: lines `name = value`, empty lines, and comments after `#`.
///
/// Changing a setting leaves every other line as it is.
struct PreferencesText: SettingsText {
    /// The longest file that is read, in bytes.
    static let maximumLength = 64 << 10

    enum Setting: String, CaseIterable {
        /// A keychain of the search list; the only one that may stand on several lines.
        case keychain
        case defaultKeychain = "default-keychain"
        case loginKeychain = "login-keychain"
        case pinTimeout = "pin-timeout"
        case pinProof = "pin-proof"

        /// The fault of a value of the setting; nil for a valid one.
        fileprivate func fault(of value: String) -> String? {
            switch self {
            case .keychain, .defaultKeychain, .loginKeychain:
                value.hasPrefix("/") || value.hasPrefix("~/") ? nil : "has a path that starts with neither / nor ~/"
            case .pinTimeout:
                UInt32(value).map { $0 > 0 } == true ? nil : "has a time that is not a number of seconds"
            case .pinProof:
                value == "on" || value == "off" ? nil : "is neither on nor off"
            }
        }
    }

    private struct Line {
        let text: String
        var assignment: (setting: Setting, value: String)?
    }

    private var lines: [Line] = []

    /// The content of a new file.
    init() {
        lines = Self.introduction.split(separator: "\n", omittingEmptySubsequences: false).map {
            Line(text: String($0))
        }
    }

    /// - Parameter path: where the text is from, for the error.
    /// - Throws: `errSecDecode`, naming the line, for one that is no setting, and for a setting that is there twice.
    init(parsing text: String, of path: String) throws(KeychainError) {
        var seen: Set<Setting> = []
        // Split by scalars, since a carriage return and a newline are one `Character`.
        let parts = text.unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false)
        for (index, part) in parts.enumerated() {
            let line = try Self.line(String(part)) { why in
                KeychainError(.decode, "line \(index + 1) of \(path) \(why)", remedy: "correct it")
            }
            lines.append(line)
            guard let setting = line.assignment?.setting, setting != .keychain else { continue }
            guard seen.insert(setting).inserted else {
                throw KeychainError(
                    .decode, "line \(index + 1) of \(path) sets \(setting.rawValue) again", remedy: "remove one of them"
                )
            }
        }
        // The last line ends with a newline, not with another line.
        if lines.last?.text.isEmpty == true { lines.removeLast() }
    }

    private static func line(
        _ text: String, refusal: (String) -> KeychainError
    ) throws(KeychainError) -> Line {
        let content = text.trimmingBlanks
        guard !content.isEmpty, !content.hasPrefix("#") else { return Line(text: text) }
        guard let sign = content.firstIndex(of: "=") else { throw refusal("is not of the form 'name = value'") }
        let name = content[..<sign].trimmingBlanks
        guard let setting = Setting(rawValue: name) else {
            throw refusal(
                "sets '\(name)', which is none of \(Setting.allCases.map(\.rawValue).joined(separator: ", "))")
        }
        let value = content[content.index(after: sign)...].trimmingBlanks
        if !value.isEmpty, let fault = setting.fault(of: value) { throw refusal(fault) }
        return Line(text: text, assignment: (setting, value))
    }

    /// The values of a setting in the order of their lines; nil without a line, empty where all lines are without a
    /// value.
    subscript(setting: Setting) -> [String]? {
        let values = lines.compactMap { $0.assignment }.filter { $0.setting == setting }.map(\.value)
        return values.isEmpty ? nil : values.filter { !$0.isEmpty }
    }

    /// Every path that is in a setting.
    var paths: [String] { [.keychain, .defaultKeychain, .loginKeychain].flatMap { self[$0] ?? [] } }

    /// Replaces the lines of a setting: the new ones are put where the old ones began, or at the end.
    ///
    /// - Parameter values: one line for each; a line without a value for an empty list, no line for nil.
    /// - Throws: `errSecParam` for a path that a line cannot hold.
    mutating func set(_ setting: Setting, to values: [String]?) throws(KeychainError) {
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
        lines.removeAll { $0.assignment?.setting == setting }
        guard let values else { return }
        let new = (values.isEmpty ? [""] : values).map { value in
            Line(text: "\(setting.rawValue) =\(value.isEmpty ? "" : " ")\(value)", assignment: (setting, value))
        }
        lines.insert(contentsOf: new, at: min(place, lines.endIndex))
    }

    /// The text to write.
    var text: String { lines.map { $0.text + "\n" }.joined() }

    private static let introduction = """
        # Keychains of tokenkit. Its programs change this file, and leave comments as they are.
        #
        #   keychain = PATH          visited by searches; a line for each, in their order, cards before all
        #   keychain =               the only such line: no keychain is visited
        #   default-keychain = PATH  gets new items
        #   login-keychain = PATH    is the default where no other is set
        #   pin-timeout = SECONDS    for which a card's PIN counts in the program it was given to
        #   pin-proof = on           cards show that they hold their key before they are given a PIN
        #
        # A path begins with / or ~/. Without settings searches visit every keychain in the folder for them, login first,
        # and login gets new items.
        """
}

extension StringProtocol {
    /// The text without spaces, tabs and carriage returns at its ends.
    fileprivate var trimmingBlanks: String {
        func isBlank(_ character: Character) -> Bool { character == " " || character == "\t" || character == "\r" }
        return String(drop(while: isBlank).reversed().drop(while: isBlank).reversed())
    }
}
