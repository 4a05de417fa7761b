internal import Glibc
internal import Platform

// The time for which a presented PIN is valid, and the logout at its end. Keychain semantics 7.5.
extension PINSession {
    /// Whether a PIN was presented here, and the time until which it is valid.
    enum Term: Hashable, Sendable {
        case none, lasting
        /// - Parameter unused: the time without a use that ends the term earlier; nil for none.
        case until(ContinuousClock.Instant, unused: Duration?)
    }

    /// Whether a presented PIN has no term yet.
    ///
    /// A term begins with the first presentation. A card that forgets the PIN by itself neither ends nor renews the term, since a
    /// caller who kept the PIN may present it again.
    package var wantsTerm: Bool { wasPresented && term == .none }

    /// - Returns: whether the caller must start a thread that waits for the end, as ``rest(at:)`` gives it.
    package mutating func beginTerm(_ limits: PINLimits, at now: ContinuousClock.Instant) -> Bool {
        lastUse = now
        guard let total = limits.total ?? limits.unused else {
            term = .lasting
            return false
        }
        term = .until(now + total, unused: limits.unused)
        guard !isAwaited else { return false }
        isAwaited = true
        return true
    }

    /// Notes that the PIN, or a key that needs it, is used.
    mutating func noteUse(at now: ContinuousClock.Instant) { lastUse = now }

    private var end: ContinuousClock.Instant? {
        guard case .until(let end, let unused) = term else { return nil }
        return unused.map { min(end, lastUse + $0) } ?? end
    }

    /// Ends a term that is over, and with it all logins. The card must then forget the PIN.
    ///
    /// - Returns: whether a term ended.
    @discardableResult
    package mutating func endTerm(at now: ContinuousClock.Instant) -> Bool {
        guard let end, end <= now else { return false }
        logoutPending = true
        forgetPIN(leaving: .timedOut)
        return true
    }

    /// The remaining time of the PIN; nil, also for the waiting thread to end, where it is no longer valid or has no limit.
    package mutating func rest(at now: ContinuousClock.Instant) -> Duration? {
        if let end { return max(now.duration(to: end), .zero) }
        isAwaited = false
        return nil
    }

    /// Waits on a thread of its own for the end of a term.
    ///
    /// - Parameters:
    ///   - interval: the longest time between two looks at the rest. The machine's sleep counts too.
    ///   - rest: gives the remaining time; nil ends the wait.
    ///   - end: called after the wait.
    /// - Returns: whether a thread could be started.
    package static func waitForEnd(
        lookingEvery interval: Duration = .seconds(5), _ rest: @escaping @Sendable () -> Duration?,
        then end: @escaping @Sendable () -> Void
    ) -> Bool {
        BlockingThread.start {
            while let rest = rest() { usleep(useconds_t(min(rest, interval) / .microseconds(1))) }
            end()
        }
    }

    /// Notes that the card has forgotten the PIN, or has no command for that.
    package mutating func loggedOut() {
        notPresented()
        (term, logoutPending) = (.none, false)
    }
}
