public import Localization
internal import SecureBytes

/// Why a keychain operation failed: a code that programs can rely on, and the words a person needs.
///
/// Two errors are equal when their codes are; the rest is explanation. No secret is ever part of one.
public struct KeychainError: Error, Sendable {
    /// The result code.
    public let code: ErrSec
    package let reasonText: LocalizedText
    package let remedyText: LocalizedText?
    /// The key of the query or the attribute that was refused, by the name the caller used.
    public let key: String?
    /// The number of tries that a PIN has left, where the failure concerns one and the card told it.
    public let triesLeft: Int?
    /// The failure of a token, where it was one and PKCS #11 tells more of it than the code does.
    public let failure: TokenFailure?

    /// Makes an error of `code`; the reason defaults to the code's message.
    public init(
        _ code: ErrSec, _ reason: LocalizedText? = nil, remedy: LocalizedText? = nil, key: String? = nil,
        triesLeft: Int? = nil,
        failure: TokenFailure? = nil
    ) {
        self.code = code
        reasonText = reason ?? code.text
        remedyText = remedy
        self.key = key
        self.triesLeft = triesLeft
        self.failure = failure
    }

    /// The reason of the failure in the current language, in lower case and without the code; the code's own message unless a more
    /// exact one is known.
    public var reason: String { String(localized: reasonText) }

    /// The user's way out in the current language, in lower case; nil where there is none.
    public var remedy: String? { remedyText.map { String(localized: $0) } }
}

extension KeychainError {
    /// - Parameter card: its label, or its id where no label is known.
    package static func cardNotInserted(_ card: String) -> KeychainError {
        KeychainError(.noSuchKeychain, "the card '\(card)' is not inserted", remedy: "insert it")
    }
}

extension KeychainError: Equatable {
    public static func == (left: KeychainError, right: KeychainError) -> Bool {
        left.code == right.code
    }
}

extension KeychainError: CustomStringConvertible {
    /// `reason (what to do) [errSecName number]`, in one line that any program may print: names of cards and files are in it.
    public var description: String {
        let advice = remedy.map { " (\($0))" } ?? ""
        return DisplayText.line("\(reason)\(advice) [\(code)]")
    }
}
