internal import Glibc
internal import Platform

// The time for which a presented PIN is valid, and the logout at its end. Keychain semantics 7.5.
extension PINSession {
    /// Whether a PIN was presented here, and the time until which it is valid.
    enum Term: Hashable, Sendable {
        case none, lasting
        case until(ContinuousClock.Instant)
    }

    /// Whether a presented PIN has no term yet.
    ///
    /// A term begins with the first presentation. A card that forgets the PIN by itself neither ends nor renews the term, since a
    /// caller who kept the PIN may present it again.
    package var wantsTerm: Bool { isPresented && term == .none }

    /// - Parameter end: the end of the term; nil for a PIN that is valid for as long as the card accepts it.
    /// - Returns: whether the caller must start a thread that waits for the end, as ``rest(at:)`` gives it.
    package mutating func beginTerm(until end: ContinuousClock.Instant?) -> Bool {
        term = end.map { .until($0) } ?? .lasting
        guard end != nil, !isAwaited else { return false }
        isAwaited = true
        return true
    }

    /// Ends a term that is over, and with it the login. The card must then forget the PIN.
    ///
    /// - Returns: whether a term ended.
    @discardableResult
    package mutating func endTerm(at now: ContinuousClock.Instant) -> Bool {
        guard case .until(let end) = term, end <= now else { return false }
        term = .none
        logoutPending = true
        if loginState == .lasting { login = .timedOut }
        return true
    }

    /// The remaining time of the PIN; nil, also for the waiting thread to end, where it is no longer valid or has no limit.
    package mutating func rest(at now: ContinuousClock.Instant) -> Duration? {
        if case .until(let end) = term { return max(now.duration(to: end), .zero) }
        isAwaited = false
        return nil
    }

    /// Waits on a thread of its own for the end of a term.
    ///
    /// - Parameters:
    ///   - rest: gives the remaining time; nil ends the wait.
    ///   - end: called after the wait.
    /// - Returns: whether a thread could be started.
    package static func waitForEnd(
        _ rest: @escaping @Sendable () -> Duration?, then end: @escaping @Sendable () -> Void
    ) -> Bool {
        BlockingThread.start {
            // The machine's sleep counts too, so that the clock is read at least every 5 seconds.
            while let rest = rest() { usleep(useconds_t(min(rest, .seconds(5)) / .microseconds(1))) }
            end()
        }
    }

    /// Notes that the card has forgotten the PIN, or has no command for that.
    package mutating func loggedOut() {
        notPresented()
        (term, logoutPending) = (.none, false)
    }
}
