public import SecureBytes
internal import SystemCrypto

/// The state of a token's PIN and unblocking key while the token stays inserted, and the only owner of these facts.
///
/// A value without I/O. It is told the PINs that are sent and the card's answers, and decides whether a PIN may be sent, and how
/// long a presented one is valid. ``TokenSlot`` keeps it, and lends it to the token (``Token/pins``) for each transaction.
public struct PINSession: Sendable {
    /// The tries that a PIN or unblocking key is believed to have left.
    public enum Tries: Hashable, Sendable {
        case unknown
        case left(Int)
        /// The PIN has all its tries, since it was right or newly set.
        case all
    }

    /// Whether the PIN was presented here, and no later event has taken that back.
    public var isPresented: Bool { wasPresented && !isHidden }

    private(set) var wasPresented = false
    /// Whether the PIN counts for nothing at the moment, since the present client may not use it.
    var isHidden = false

    /// Whether the card must forget a presented PIN before its next command.
    package internal(set) var logoutPending = false

    var term = Term.none
    /// The time of the last use of the PIN during the term.
    var lastUse = ContinuousClock.now
    /// Whether a key was used that needs the PIN, since the last call of ``takeNeed()``.
    private var isNeeded = false
    var logins: [PINClient: Login] = [:]

    /// Whether a PIN that the card accepts is kept for all clients.
    let keepsPIN: Bool
    var kept: SharedSecret?
    /// The clients that have given the PIN themselves.
    var givers: Set<PINClient> = []
    /// The number of times that the PIN was forgotten.
    var forgettings = 0
    /// The number of values that the card has refused since a person or a program gave the kept PIN.
    private var refusals = 0

    /// The number of refusals of other values after which a kept PIN is forgotten. Presented again, it would give the tries back to whoever
    /// guesses.
    private static let mostRefusals = 2

    /// Whether a thread waits for the end of the term.
    package var isAwaited = false

    /// The epoch of the last transaction.
    private var epoch: Int?

    /// Whether the card told the tries in this transaction, so that no other program has spent any since.
    private var isCurrent = false
    private var tries: [PINKind: Tries] = [:]

    /// The time at which the card last told the tries.
    private var timeOfTries: [PINKind: ContinuousClock.Instant] = [:]

    /// The fingerprints of the last right values.
    private var right: [PINKind: [UInt8]] = [:]
    private var rejected: RejectedPINs?

    /// The kind of the value that was sent last.
    private(set) var lastSent = PINKind.pin

    /// The fingerprint of the PIN that the card accepted with the last command that was sent here.
    private var lastCommand: [UInt8]?

    /// - Parameter keepsPIN: whether a PIN that the card accepts is kept, so that it can be presented again for each client.
    public init(keepingPIN keepsPIN: Bool = false) { self.keepsPIN = keepsPIN }

    /// The state without everything that belongs to a card that was taken out.
    package func withoutCard() -> PINSession {
        var session = PINSession(keepingPIN: keepsPIN)
        (session.isAwaited, session.forgettings) = (isAwaited, forgettings + 1)
        return session
    }

    // MARK: Tries

    public func tries(of kind: PINKind) -> Tries { tries[kind] ?? .unknown }

    /// The number of remaining tries, where it is known.
    public func triesLeft(of kind: PINKind) -> Int? {
        if case .left(let count) = tries(of: kind) { count } else { nil }
    }

    /// Notes the tries that the card has told.
    public mutating func learn(_ tries: Tries, of kind: PINKind) {
        self.tries[kind] = tries
        timeOfTries[kind] = .now
        isCurrent = true
    }

    /// The number of remaining tries, where the card has told it within the last second. It is for people who are asked for the
    /// PIN; before the answer is sent, the card is asked again.
    func triesJustTold(of kind: PINKind) -> Int? {
        guard let time = timeOfTries[kind], .now - time < .seconds(1) else { return nil }
        return triesLeft(of: kind)
    }

    /// Whether the tries must be asked for before a value is sent.
    ///
    /// False for the value that was right before, so that a second signature costs no needless command.
    public func wantsTries(of kind: PINKind, for pin: borrowing PIN) -> Bool {
        switch tries(of: kind) {
        case .unknown: true
        case .left: !isCurrent
        case .all: right[kind] == nil || right[kind] != PINSession.fingerprint(of: pin)
        }
    }

    // MARK: Events of the card

    /// Begins a transaction, before which other programs may have had the card. Another epoch means that the card was reset.
    public mutating func beginTransaction(epoch: Int) {
        if let known = self.epoch, known != epoch { forgetPresented() }
        self.epoch = epoch
        isCurrent = false
    }

    /// Notes that the card was reset, or another application selected: no PIN is presented, and other programs may have used
    /// tries.
    public mutating func forgetPresented() {
        wasPresented = false
        tries = [:]
    }

    /// Notes that the card forgot the PIN, or asks for it although it was presented.
    public mutating func notPresented() { wasPresented = false }

    /// Notes that a key is used that needs the PIN, which is presented.
    public mutating func noteNeed() { isNeeded = true }

    mutating func takeNeed() -> Bool {
        defer { isNeeded = false }
        return isNeeded
    }

    // MARK: Commands

    /// Notes that a value is being sent. The remaining tries are unknown until the card has answered.
    public mutating func sending(_ kind: PINKind) {
        tries[kind] = .unknown
        lastSent = kind
        lastCommand = nil
        if kind == .pin { wasPresented = false }
    }

    /// Notes that a command without a PIN is sent, after which a key that needs the PIN each time needs it again.
    public mutating func sendingAnother() { lastCommand = nil }

    /// Notes that the card accepted the value.
    public mutating func accepted(_ pin: borrowing PIN, as kind: PINKind) {
        tries[kind] = .all
        right[kind] = PINSession.fingerprint(of: pin)
        guard kind == .pin else { return }
        wasPresented = true
        lastCommand = right[kind]
        if pin.kept == nil { refusals = 0 }
        if keepsPIN, pin.origin == .given, !isForgotten(pin), !isKept(pin) {
            kept = SharedSecret(pin.secret.clone())
        }
    }

    /// Notes that the card refused the value.
    public mutating func refused(_ pin: borrowing PIN, as kind: PINKind, triesLeft: Int?) {
        learn(triesLeft.map { .left($0) } ?? .unknown, of: kind)
        if kind == .pin {
            refusals += 1
            if isKept(pin) || refusals >= PINSession.mostRefusals { kept = nil }
        }
        var known = rejected ?? RejectedPINs(salt: PINSession.salt)
        known.insert(pin, as: kind, triesLeft: triesLeft)
        rejected = known
    }

    /// Notes that the card has no try left for any value.
    public mutating func blocked(_ kind: PINKind) {
        learn(.left(0), of: kind)
        rejected?.expire(kind, triesLeft: 0)
    }

    /// Notes that the card accepted a new value in place of the old one. Few cards count a new PIN as presented.
    public mutating func replaced(_ kind: PINKind, by pin: borrowing PIN) {
        tries[kind] = .all
        right[kind] = PINSession.fingerprint(of: pin)
        forgetRejected(kind)
        if kind == .pin { replaceLoginPIN(by: pin) }
    }

    /// Forgets the refused values, since any value may be right now.
    public mutating func forgetRejected(_ kind: PINKind) { rejected?.forget(kind) }

    // MARK: Decisions

    /// Whether the last command that was sent here presented this very PIN.
    public func hasJustPresented(_ pin: borrowing PIN) -> Bool {
        guard isPresented, let lastCommand else { return false }
        return PINSession.fingerprint(of: pin) == lastCommand
    }

    /// Whether the card refused the value, and nothing since then suggests that it may be right.
    public func hasRejected(_ pin: borrowing PIN, as kind: PINKind) -> Bool {
        rejected?.contains(pin, as: kind, tries(of: kind)) ?? false
    }

    /// Checks whether a try may be spent on a value.
    ///
    /// - Parameters:
    ///   - others: the values that the token refused to other programs.
    ///   - areOwn: whether `others` tell the tries of this token. Those of a blank token may be of another one, since blank tokens share
    ///     an identifier.
    /// - Throws: ``TokenError`` `.pinBlocked`; `.pinKnownIncorrect` for a value that was refused before; `.pinLastTry` where one
    ///   try is left and must be kept.
    public func requireTry(
        _ pin: borrowing PIN, as kind: PINKind, _ lastTry: LastTry, rejectedElsewhere others: RejectedPINs? = nil,
        byThisToken areOwn: Bool = true
    ) throws(TokenError) {
        let tries = tries(of: kind)
        let count = tries == .unknown ? (areOwn ? others?.fewestTries(of: kind) : nil) : triesLeft(of: kind)
        // A card that does not tell its tries may have been reset since. A blocked card refuses a further value without counting it.
        if count == 0, tries != .unknown || lastTry != .spend {
            throw TokenError.blocked(kind, isBelieved: tries == .unknown)
        }
        guard !hasRejected(pin, as: kind) else { throw PINSession.knownIncorrect(kind, triesLeft: count) }
        if tries == .all { return }
        guard count != 1 || lastTry == .spend else {
            throw TokenError(
                .pinLastTry,
                "only one try of the \(kind.name) is left, so nothing was sent (allow the last try to be spent)",
                triesLeft: 1)
        }
        guard let others, others.contains(pin, as: kind, count.map { .left($0) } ?? .unknown) else { return }
        // It may have been another blank token that refused it.
        guard !areOwn, lastTry == .spend else { throw PINSession.knownIncorrect(kind, triesLeft: count) }
    }

    private static func knownIncorrect(_ kind: PINKind, triesLeft: Int?) -> TokenError {
        TokenError(
            .pinKnownIncorrect, "this \(kind.name) was refused before, so it was not sent again", triesLeft: triesLeft)
    }

    /// A value that only shows whether two PINs are equal, and only in this process; nil for a PIN that is typed on the reader.
    private static func fingerprint(of pin: borrowing PIN) -> [UInt8]? { RejectedPINs.code(of: pin, salt) }

    private static let salt: [UInt8] = (try? RandomBytes.make(count: RejectedPINs.saltLength)) ?? []
}

extension TokenError {
    /// The error of a PIN or unblocking key without a try left.
    ///
    /// - Parameter isBelieved: whether the card did not tell its tries, and had none left when it last refused a value.
    package static func blocked(_ kind: PINKind, status: StatusWord? = nil, isBelieved: Bool = false) -> TokenError {
        if isBelieved {
            return TokenError(
                .pinBlocked,
                "the \(kind.name) is blocked, since its last try was refused (if the card was reset since then, allow the last try to be spent)",
                triesLeft: 0)
        }
        let advice: LocalizedText = kind == .pin ? "set a new one with the PUK" : PINKind.adviceToReset
        return TokenError(
            .pinBlocked, "the \(kind.name) is blocked: no try is left (\(advice))", triesLeft: 0, status: status)
    }
}
