internal import Localization

/// The parser's messages about arguments in the current language. The parser makes them in English; a form that is not known here stays.
enum ParserMessage {
    static func translated(_ message: String) -> String {
        guard !Language.current.isEnglish else { return message }
        return text(of: message).map { String(localized: $0) } ?? message
    }

    private static func text(of message: String) -> LocalizedText? {
        if let match = message.wholeMatch(of: /Unknown option '(.*)'\. Did you mean '(.*)'\?/) {
            return "Unknown option '\(match.1)'. Did you mean '\(match.2)'?"
        }
        if let match = message.wholeMatch(of: /Unknown option '(.*)'/) { return "Unknown option '\(match.1)'" }
        if let match = message.wholeMatch(of: /Missing value for '(.*)'/) { return "Missing value for '\(match.1)'" }
        if let match = message.wholeMatch(of: /The option '(.*?)' does not take any value, but '(.*)' was specified\./)
        {
            return "The option '\(match.1)' does not take any value, but '\(match.2)' was specified."
        }
        if let match = message.wholeMatch(of: /Unexpected argument '(.*)'/) {
            return "Unexpected argument '\(match.1)'"
        }
        if let match = message.wholeMatch(of: /(\d+) unexpected arguments: '(.*)'/) {
            return "\(match.1) unexpected arguments: '\(match.2)'"
        }
        if let match = message.wholeMatch(of: /Missing expected argument '(.*)'/) {
            return "Missing expected argument '\(match.1)'"
        }
        if let match = message.wholeMatch(of: /Missing one of: '(.*)'/) { return "Missing one of: '\(match.1)'" }
        if let match = message.wholeMatch(of: /Invalid option: (.*)/) { return "Invalid option: \(match.1)" }
        return value(message)
    }

    private static func value(_ message: String) -> LocalizedText? {
        guard let match = message.wholeMatch(of: /The value '(.*?)' is invalid for '(.*?)'(.*)/) else { return nil }
        let refusal: LocalizedText = "The value '\(match.1)' is invalid for '\(match.2)'"
        let rest = match.3
        if rest.isEmpty { return refusal }
        if let choices = rest.wholeMatch(of: /\. Please provide one of (?:the following: )?(.*?)\.?/) {
            let values = choices.1.replacing(" and ", with: ", ").replacing(" or ", with: ", ")
            return "\(refusal). Please provide one of \(values)."
        }
        return "\(refusal)\(rest)"
    }
}
