/// An event of a card that the person at the machine should know of, whichever program uses the card.
public enum TokenNews: Sendable {
    /// The card itself refused a PIN or unblocking key, and has one try left for it, or none.
    case refusedPIN(PINKind, triesLeft: Int)
    /// The card cannot be used: it does not answer, or no driver knows it.
    case unusable(TokenError)

    /// Called with the news of a reader while its card is held, so that it must not wait.
    public typealias Listener = @Sendable (_ news: TokenNews, _ reader: String) -> Void

    /// The news in an error of a card; nil for none.
    ///
    /// - Parameter kind: what was sent to the card last.
    init?(_ error: TokenError, sending kind: PINKind) {
        switch error.code {
        case .pinIncorrect, .pinBlocked:
            guard error.status != nil, let triesLeft = error.triesLeft, triesLeft <= 1 else { return nil }
            self = .refusedPIN(kind, triesLeft: triesLeft)
        case .card(.muteCard): self = .unusable(error)
        default: return nil
        }
    }
}

extension TokenError {
    /// Whether the card itself has just reported that no try is left.
    var hasBlockedPIN: Bool { (code == .pinIncorrect || code == .pinBlocked) && triesLeft == 0 && status != nil }
}
