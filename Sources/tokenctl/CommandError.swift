internal import ArgumentParser
internal import Localization

/// The error of a command: the failure, its reason, and the remedy.
struct CommandError: Error, CustomStringConvertible {
    private let text: LocalizedText

    init(_ what: LocalizedText, _ why: LocalizedText? = nil, advice: LocalizedText? = nil) {
        let failure: LocalizedText = why.map { "\(what): \($0)" } ?? what
        text = advice.map { "\(failure) (\($0))" } ?? failure
    }

    var description: String { String(localized: text) }
}

extension ValidationError {
    /// The error of arguments that do not go together.
    init(localized text: LocalizedText) {
        self.init(String(localized: text))
    }
}
