internal import Localization
public import SecureBytes

/// A question for a secret, with all that a person must know to answer.
public struct PromptRequest: Sendable, Hashable {
    public enum Purpose: UInt8, Sendable, CaseIterable {
        case pin = 1
        case newPIN = 2
        case unblockingKey = 3
        case newUnblockingKey = 4
        case password = 5
        case newPassword = 6
        case managementKey = 7
    }

    /// The form that an answer must have.
    public struct Form: Sendable, Hashable {
        /// The lengths in bytes.
        public let lengths: ClosedRange<Int>
        public let onlyDigits: Bool

        public init(lengths: ClosedRange<Int>, onlyDigits: Bool = false) {
            self.lengths = lengths
            self.onlyDigits = onlyDigits
        }

        func fits(_ answer: borrowing Secret) -> Bool {
            let bytes = answer.bytes
            guard lengths.contains(bytes.count) else { return false }
            var isAllowed = true
            for index in bytes.indices where onlyDigits && !(0x30...0x39).contains(bytes[index]) { isAllowed = false }
            return isAllowed
        }
    }

    public let purpose: Purpose

    /// The card or keychain that the secret belongs to, by the name that people know.
    public let subject: String

    /// The use that the answer is for, `sign report.pdf`; nil where the purpose says it all.
    public let use: String?

    /// The number of tries that are left, where that is known.
    public let triesLeft: Int?

    /// The reason why the last answer was refused.
    public let failure: String?

    /// The form of a new value; nil for any.
    public let form: Form?

    /// The most questions for one secret, as many as most cards count tries. Another question would not help a person
    /// after that, and a program that answers in a person's place would be asked for ever.
    package static let mostQuestions = 3

    public init(
        _ purpose: Purpose, subject: String, use: String? = nil, triesLeft: Int? = nil, failure: String? = nil,
        form: Form? = nil
    ) {
        self.purpose = purpose
        self.subject = subject
        self.use = use
        self.triesLeft = triesLeft
        self.failure = failure
        self.form = form
    }

    /// Whether the answer is typed twice, since a slip would lock its owner out.
    public var wantsRepetition: Bool {
        switch purpose {
        case .newPIN, .newUnblockingKey, .newPassword: true
        case .pin, .unblockingKey, .password, .managementKey: false
        }
    }

    /// Whether an answer is to be typed again: one of a wrong form is not.
    public func wantsRepetition(of answer: borrowing Secret) -> Bool {
        wantsRepetition && form?.fits(answer) ?? true
    }

    /// The name of the field.
    package var field: String { String(localized: fieldText) }

    private var fieldText: LocalizedText {
        switch purpose {
        case .pin: "PIN"
        case .newPIN: "new PIN"
        case .unblockingKey: "PUK"
        case .newUnblockingKey: "new PUK"
        case .password: "password"
        case .newPassword: "new password"
        case .managementKey: "management key"
        }
    }

    /// The sentence above the field: what for, where, and how many tries are left.
    package var sentence: String { String(localized: sentenceText) }

    private var sentenceText: LocalizedText {
        switch triesLeft {
        case nil: matter
        case 1?: "\(matter), last try"
        case let tries?: "\(matter), \(tries) tries left"
        }
    }

    /// The instruction to type on the reader's own keys.
    package var instruction: String { String(localized: instructionText) }

    private var instructionText: LocalizedText {
        switch triesLeft {
        case nil: "Enter the \(matter) on the reader's keypad"
        case 1?: "Enter the \(matter) on the reader's keypad, last try"
        case let tries?: "Enter the \(matter) on the reader's keypad, \(tries) tries left"
        }
    }

    private var matter: LocalizedText {
        use.map { "\(fieldText) for '\(subject)' to \($0)" } ?? "\(fieldText) for '\(subject)'"
    }
}
