internal import HostAPI
internal import KeychainModel
internal import Localization
internal import SecureBytes
internal import TokenKit

/// Asks for a card's PIN until it is right, the person gives up, only one try is left, or asking seems to be no use.
///
///     var question = PINQuestion(.pin, use: "sign", slot: slot, insertion: insertion, authentication: context)
///     try question.present { (pin, lastTry) in try slot.verify(pin, lastTry: lastTry, at: insertion) }
///
/// A PIN that the context carries is the program's answer: if the card refuses it, no person is asked for another, then
/// or later.
/// Without one, the reader's own keys come first, if it has any. The card is held while a PIN is presented, never while
/// a person is asked here.
struct PINQuestion {
    private let kind: PINKind
    private let use: String?
    private let slot: any TokenBackend
    private let insertion: TokenInsertion
    private let authentication: AuthenticationContext
    private var failure: String?

    /// The number of questions so far, which is limited: a prompter such as pinentry may be a program that always gives
    /// the same answer.
    private var timesAsked = 0

    /// Whether the last answer was the context's.
    private var isFromContext = false

    /// Whether the PIN may be typed on the reader's keys: not after these have failed, nor where the PIN is more than presented.
    private var allowsPINPad: Bool

    /// Whether the last answer was one that the card had refused before.
    private var isKnownIncorrect = false

    /// The card by its label and its reader, or the reader alone while no label is known.
    private(set) var subject: String

    /// Whether the answer may spend the last try.
    private(set) var lastTry: LastTry

    /// The error with which the card or its driver refused the last answer; nil where the question was not answered.
    private(set) var refusal: TokenError?

    /// - Parameters:
    ///   - kind: which of the card's secrets.
    ///   - use: completes "PIN to …".
    ///   - allowsPINPad: whether the card only verifies the answer.
    init(
        _ kind: PINKind, use: String?, slot: any TokenBackend, insertion: TokenInsertion,
        authentication: AuthenticationContext, allowsPINPad: Bool = true
    ) {
        self.allowsPINPad = allowsPINPad && kind == .pin
        self.kind = kind
        self.use = use
        self.slot = slot
        self.insertion = insertion
        self.authentication = authentication
        lastTry = authentication.lastTry
        subject = Self.subject(slot, insertion)
    }

    private static func subject(_ slot: any TokenBackend, _ insertion: TokenInsertion) -> String {
        slot.knownLabel(at: insertion).map { "\($0) in \(slot.name)" } ?? slot.name
    }

    /// Asks until `body` has presented the answer, or asking again cannot help.
    ///
    /// - Throws: the reason why no person is asked, or asked again; ``refusal`` has the card's error.
    mutating func present<Result: ~Copyable>(
        _ body: (borrowing PIN, LastTry) throws(TokenError) -> Result
    ) throws(KeychainError) -> Result {
        while true {
            let pin = try ask()
            do throws(TokenError) {
                return try body(pin, lastTry)
            } catch {
                try answer(failedWith: error)
            }
        }
    }

    /// Asks until the answer has the form that the card takes. Where no person can be asked, no command is sent to the card either.
    mutating func ask() throws(KeychainError) -> PIN {
        while true {
            let pin = try askOnce()
            do throws(TokenError) {
                if pin.origin == .given { try slot.checkFormat(of: pin, as: kind, at: insertion) }
                return pin
            } catch {
                try answer(failedWith: error)
            }
        }
    }

    private mutating func askOnce() throws(KeychainError) -> PIN {
        refusal = nil
        if kind == .pin { try authentication.checkNotRefused(.pin) }
        let purpose: PromptRequest.Purpose = kind == .pin ? .pin : .unblockingKey
        isFromContext = kind == .pin && authentication.hasCredential(.pin)
        let rules = slot.pinRules(at: insertion)
        if rules.isTypedOnToken { try checkTyping(isGiven: isFromContext) }
        let usesPINPad = !isFromContext && mayUsePINPad
        guard isFromContext || usesPINPad || authentication.prompter.canAsk else {
            throw .cannotAsk(PromptRequest(purpose, subject: subject, use: use), by: authentication.prompter)
        }
        // The tries are looked up here only to show them to a person. VERIFY checks them by itself.
        let triesLeft = authentication.prompter.canConfirm || rules.isTypedOnToken ? try look(rules) : nil
        try obtainConsent(triesLeft: triesLeft)
        if isFromContext, let held = authentication.credential(.pin) { return PIN(held) }
        timesAsked += 1
        if rules.isTypedOnToken { return .typed }
        let request = PromptRequest(purpose, subject: subject, use: use, triesLeft: triesLeft, failure: failure)
        guard usesPINPad else { return PIN(try authentication.prompter.ask(request)) }
        authentication.prompter.tellOfPINPad(request)
        return .typed
    }

    /// Whether the PIN is to be typed on the reader.
    private var mayUsePINPad: Bool {
        allowsPINPad && authentication.prompter.allowsPINPad
            && slot.takesTypedPIN(at: insertion)
    }

    /// Takes note that the card refused the answer.
    ///
    /// - Throws: the refusal, where asking again cannot help.
    mutating func answer(failedWith error: TokenError) throws(KeychainError) {
        refusal = error
        if error.triesLeft == 0, error.status != nil, !slot.tellsOfBlockedPINs {
            EventInbox.post(KeychainEvent(.pinBlocked, location: slot.name))
        }
        // A card's slot tells of it by itself, and a module's token does not.
        if error.code == .pinIncorrect, let triesLeft = error.triesLeft, triesLeft <= 1, !slot.tellsOfBlockedPINs {
            authentication.notices?.tell(.refusedPIN(kind, triesLeft: triesLeft), slot.name)
        }
        switch error.code {
        case .pinIncorrect, .pinFormat, .pinKnownIncorrect: break
        case .pinPadFailed where authentication.prompter.canAsk:
            (allowsPINPad, failure) = (false, error.reason)
            return
        case .pinLastTry: throw KeychainError(TokenError.lastTry(kind))
        case .pinBlocked where error.status == nil:
            throw KeychainError(blocked(slot.pinRules(at: insertion)))
        default: throw KeychainError(error)
        }
        if isFromContext {
            authentication.refuseCredential(.pin)
            throw wrong(error)
        }
        let isRepetition = isKnownIncorrect && error.code == .pinKnownIncorrect
        guard authentication.prompter.canAskAgain, !isRepetition, timesAsked < PromptRequest.mostQuestions else {
            throw wrong(error)
        }
        isKnownIncorrect = error.code == .pinKnownIncorrect
        failure = error.reason
        lastTry = authentication.lastTry
    }

    /// Checks that a person is there to type the PIN on the token.
    ///
    /// - Parameter isGiven: whether the context has a PIN, which the token would not take.
    private func checkTyping(isGiven: Bool) throws(KeychainError) {
        guard !isGiven, authentication.prompter.canAskAgain || !authentication.prompter.canAsk else {
            throw KeychainError(
                .param, "'\(subject)' asks for its PIN by itself, and takes none from a program",
                remedy: "leave --pin-source and pin-value out")
        }
        guard authentication.prompter.canAsk else {
            throw KeychainError(
                .interactionNotAllowed, "'\(subject)' asks for its PIN by itself, and --no-prompt forbids that",
                remedy: "run it where somebody can type there, without --no-prompt")
        }
    }

    /// Reads from the card which one it is, and how many tries are left.
    private mutating func look(_ rules: PINRules) throws(KeychainError) -> Int? {
        do throws(TokenError) {
            let status = try slot.status(of: kind, at: insertion, isBeforePIN: true)
            subject = Self.subject(slot, insertion)
            // A card that does not tell its tries may have been reset since the last refused value.
            if status.isBlocked, status.areTriesBelieved, lastTry == .spend { return nil }
            guard !status.isBlocked else { throw blocked(rules) }
            return status.triesLeft
        } catch {
            throw KeychainError(error)
        }
    }

    /// The error of a wrong answer that ends the questions, with the card that refused it.
    private func wrong(_ error: TokenError) -> KeychainError {
        let reason: LocalizedText
        switch error.code {
        case .pinIncorrect: reason = "wrong \(kind.name) for '\(subject)'\(PINKind.remark(triesLeft: error.triesLeft))"
        case .pinKnownIncorrect: reason = "'\(subject)' refused this \(kind.name) before, so it was not sent again"
        default: return KeychainError(error)
        }
        return KeychainError(TokenError(error.code, reason, triesLeft: error.triesLeft, status: error.status))
    }

    private func blocked(_ rules: PINRules) -> TokenError {
        let advice: LocalizedText =
            switch kind {
            case .pin where !rules.isManagedHere: "unblock it with the token's own tool"
            case .pin where isUnblockingKeyBlocked: "and so is the PUK; \(PINKind.adviceToReset)"
            case .pin: "unblock it with 'tokenctl card pin unblock'"
            case .unblockingKey where isBlockingBelieved:
                "\(PINKind.adviceToReset); if that was done since its last try was refused, pass --last-try"
            case .unblockingKey: PINKind.adviceToReset
            }
        return TokenError(.pinBlocked, "the \(kind.name) is blocked on '\(subject)' (\(advice))", triesLeft: 0)
    }

    private var isUnblockingKeyBlocked: Bool {
        (try? slot.status(of: .unblockingKey, at: insertion, isBeforePIN: false))?.isBlocked ?? false
    }

    private var isBlockingBelieved: Bool {
        (try? slot.status(of: kind, at: insertion, isBeforePIN: false))?.areTriesBelieved ?? false
    }

    private mutating func obtainConsent(triesLeft: Int?) throws(KeychainError) {
        guard triesLeft == 1, lastTry == .keep else { return }
        let question: LocalizedText =
            "Only one try of the \(kind.name) is left on '\(subject)'; a wrong one blocks it. Use it?"
        guard try authentication.prompter.confirm(DisplayText.line(String(localized: question))) else {
            throw KeychainError(TokenError.lastTry(kind))
        }
        lastTry = .spend
    }
}

extension TokenError {
    static func lastTry(_ kind: PINKind) -> TokenError {
        TokenError(
            .pinLastTry, "only one try of the \(kind.name) is left, so nothing was sent (pass --last-try to use it)",
            triesLeft: 1)
    }
}
