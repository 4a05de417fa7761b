public import SecureBytes
internal import SystemCrypto

/// The state of a token's PIN and unblocking key while the token stays inserted, and the only owner of these facts.
///
/// A value without I/O. Values that are sent and the answers of the card go in; whether a value may be sent, and for how long
/// a presented PIN counts, come out. ``TokenSlot`` keeps it, and lends it to the token (``Token/pins``) for each transaction.
public struct PINSession: Sendable {
    /// The tries that a PIN or unblocking key is believed to have left.
    public enum Tries: Hashable, Sendable {
        case unknown
        case left(Int)
        /// The PIN has all its tries: it was right, or set anew.
        case all
    }

    /// Whether the PIN was presented here, and no later event has taken that back.
    public private(set) var isPresented = false

    /// Whether the card must forget a presented PIN before its next command.
    package internal(set) var logoutPending = false

    var term = Term.none
    var login = Login.none

    /// Whether a thread waits for the end of the term.
    package var isAwaited = false

    /// The epoch of the last transaction.
    private var epoch: Int?

    /// Whether the tries were told in this transaction, so that no other program has spent any since.
    private var isCurrent = false
    private var tries: [PINKind: Tries] = [:]

    /// The fingerprints of the values that were right last.
    private var right: [PINKind: [UInt8]] = [:]
    private var rejected: RejectedPINs?

    /// The fingerprint of the PIN that the card took with the last command that was sent here.
    private var lastCommand: [UInt8]?

    public init() {}

    /// The state without everything that belongs to a card that was taken out.
    package func withoutCard() -> PINSession {
        var session = PINSession()
        session.isAwaited = isAwaited
        return session
    }

    // MARK: Tries

    public func tries(of kind: PINKind) -> Tries { tries[kind] ?? .unknown }

    /// The tries that are left by number, where it is known.
    public func triesLeft(of kind: PINKind) -> Int? {
        if case .left(let count) = tries(of: kind) { count } else { nil }
    }

    /// The card told how many tries are left.
    public mutating func learn(_ tries: Tries, of kind: PINKind) {
        self.tries[kind] = tries
        isCurrent = true
    }

    /// Whether the tries are to be asked for before one is spent on a value.
    ///
    /// Not for the value that was right before: a second signature is to cost no more commands than it must.
    public func wantsTries(of kind: PINKind, for pin: borrowing PIN) -> Bool {
        switch tries(of: kind) {
        case .unknown: true
        case .left: !isCurrent
        case .all: right[kind] == nil || right[kind] != PINSession.fingerprint(of: pin)
        }
    }

    // MARK: What happens to the card

    /// Other programs may have had the card, and in another epoch the card was reset.
    public mutating func beginTransaction(epoch: Int) {
        if let known = self.epoch, known != epoch { forgetPresented() }
        self.epoch = epoch
        isCurrent = false
    }

    /// The card was reset, or another application selected: no PIN is presented, and others may have used up tries.
    public mutating func forgetPresented() {
        isPresented = false
        tries = [:]
    }

    /// The card forgot the PIN, or wants it although it was presented.
    public mutating func notPresented() { isPresented = false }

    // MARK: What is sent

    /// A value is sent. The tries that are left are unknown until the card has answered.
    public mutating func sending(_ kind: PINKind) {
        tries[kind] = .unknown
        lastCommand = nil
        if kind == .pin { isPresented = false }
    }

    /// A command without a PIN is sent: a key that wants the PIN each time may want it anew.
    public mutating func sendingAnother() { lastCommand = nil }

    /// The card took the value.
    public mutating func accepted(_ pin: borrowing PIN, as kind: PINKind) {
        tries[kind] = .all
        right[kind] = PINSession.fingerprint(of: pin)
        guard kind == .pin else { return }
        isPresented = true
        lastCommand = right[kind]
    }

    /// The card refused the value.
    public mutating func refused(_ pin: borrowing PIN, as kind: PINKind, triesLeft: Int?) {
        learn(triesLeft.map { .left($0) } ?? .unknown, of: kind)
        var known = rejected ?? RejectedPINs(salt: PINSession.salt)
        known.insert(pin, as: kind, triesLeft: triesLeft)
        rejected = known
    }

    /// The card says that no try is left, whatever the value.
    public mutating func blocked(_ kind: PINKind) {
        learn(.left(0), of: kind)
        rejected?.expire(kind, triesLeft: 0)
    }

    /// The card took a new value in place of the old one. Few cards count a new PIN as presented.
    public mutating func replaced(_ kind: PINKind, by pin: borrowing PIN) {
        tries[kind] = .all
        right[kind] = PINSession.fingerprint(of: pin)
        forgetRejected(kind)
        if kind == .pin { replaceLoginPIN(by: pin) }
    }

    /// Any value may be right again.
    public mutating func forgetRejected(_ kind: PINKind) { rejected?.forget(kind) }

    // MARK: What may be sent

    /// Whether the last command that was sent here presented this very PIN.
    public func hasJustPresented(_ pin: borrowing PIN) -> Bool {
        guard isPresented, let lastCommand else { return false }
        return PINSession.fingerprint(of: pin) == lastCommand
    }

    /// Whether the card refused the value, and has shown no sign since that it may be right.
    public func hasRejected(_ pin: borrowing PIN, as kind: PINKind) -> Bool {
        rejected?.contains(pin, as: kind, tries(of: kind)) ?? false
    }

    /// Judges whether a try may be spent on a value.
    ///
    /// - Parameter others: the values that the token refused to other programs.
    /// - Throws: ``TokenError`` `.pinBlocked`; `.pinKnownIncorrect` for a value that was refused before; `.pinLastTry` where one
    ///   try is left and is to be kept.
    public func requireTry(
        _ pin: borrowing PIN, as kind: PINKind, _ lastTry: LastTry, rejectedElsewhere others: RejectedPINs? = nil
    ) throws(TokenError) {
        let tries = tries(of: kind)
        let count = tries == .unknown ? others?.fewestTries(of: kind) : triesLeft(of: kind)
        guard count != 0 else { throw TokenError.blocked(kind) }
        guard !hasRejected(pin, as: kind) else { throw PINSession.knownIncorrect(kind, triesLeft: count) }
        if tries == .all { return }
        guard count != 1 || lastTry == .spend else {
            throw TokenError(
                .pinLastTry,
                "only one try of the \(kind.name) is left, so nothing was sent (allow the last try to be spent)",
                triesLeft: 1)
        }
        if let others, others.contains(pin, as: kind, count.map { .left($0) } ?? .unknown) {
            throw PINSession.knownIncorrect(kind, triesLeft: count)
        }
    }

    private static func knownIncorrect(_ kind: PINKind, triesLeft: Int?) -> TokenError {
        TokenError(
            .pinKnownIncorrect, "this \(kind.name) was refused before, so it was not sent again", triesLeft: triesLeft)
    }

    /// A value that tells whether two PINs are the same, in this process alone, and nothing else about them; nil for a
    /// PIN that is typed on the reader.
    private static func fingerprint(of pin: borrowing PIN) -> [UInt8]? { RejectedPINs.code(of: pin, salt) }

    private static let salt: [UInt8] = (try? RandomBytes.make(count: RejectedPINs.saltLength)) ?? []
}

extension TokenError {
    /// The error of a PIN or unblocking key without a try left.
    package static func blocked(_ kind: PINKind, status: StatusWord? = nil) -> TokenError {
        let advice = kind == .pin ? "set a new one with the PUK" : PINKind.adviceToReset
        return TokenError(
            .pinBlocked, "the \(kind.name) is blocked: no try is left (\(advice))", triesLeft: 0, status: status)
    }
}
