internal import Glibc

// For how long a presented PIN counts, and the logout that its end brings. Keychain semantics 7.5.
extension PINSession {
    /// Whether a PIN was presented here, and until when it counts.
    enum Term: Hashable, Sendable {
        case none, lasting
        case until(ContinuousClock.Instant)
    }

    /// Whether a presented PIN has no term yet.
    ///
    /// A term begins with the first presentation. A card that forgets the PIN by itself neither ends nor renews it: a caller who
    /// kept the PIN may present it again.
    package var wantsTerm: Bool { isPresented && term == .none }

    /// - Parameter end: nil for a PIN that counts for as long as the card counts it.
    /// - Returns: whether a thread is to wait for the end, which ``rest(at:)`` tells it.
    package mutating func beginTerm(until end: ContinuousClock.Instant?) -> Bool {
        term = end.map { .until($0) } ?? .lasting
        guard end != nil, !isAwaited else { return false }
        isAwaited = true
        return true
    }

    /// Ends a term that is over, and with it the login: the card is to forget the PIN.
    ///
    /// - Returns: whether there was one.
    @discardableResult
    package mutating func endTerm(at now: ContinuousClock.Instant) -> Bool {
        guard case .until(let end) = term, end <= now else { return false }
        term = .none
        logoutPending = true
        if loginState == .lasting { login = .timedOut }
        return true
    }

    /// The time for which the PIN still counts; nil once it does not, or counts without an end, and is awaited no more.
    package mutating func rest(at now: ContinuousClock.Instant) -> Duration? {
        if case .until(let end) = term { return max(now.duration(to: end), .zero) }
        isAwaited = false
        return nil
    }

    /// Waits on a thread of its own for the end of a term.
    ///
    /// - Parameters:
    ///   - rest: tells the time that is left; nil to wait no longer.
    ///   - end: called then.
    /// - Returns: whether there is a thread.
    package static func waitForEnd(
        _ rest: @escaping @Sendable () -> Duration?, then end: @escaping @Sendable () -> Void
    ) -> Bool {
        BlockingThread.start {
            // The machine's sleep counts as well, and no thread is awake to see it.
            while let rest = rest() { usleep(useconds_t(min(rest, .seconds(5)) / .microseconds(1))) }
            end()
        }
    }

    /// The card has forgotten the PIN, or knows no way to.
    package mutating func loggedOut() {
        notPresented()
        (term, logoutPending) = (.none, false)
    }
}
