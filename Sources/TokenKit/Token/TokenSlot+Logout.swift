internal import Glibc
internal import Synchronization

// Having the card forget a presented PIN: because somebody asks for it, or because its time is over.
extension TokenSlot {
    /// Ends the login, and has the card that was there at `insertion` forget a presented PIN.
    ///
    /// Where another program holds the card for longer than a second that is made up for: before the card is next used here, and
    /// in any case once it is free, for as long as this process runs and the card answers as cards do.
    ///
    /// - Throws: ``TokenError`` `.card(.inUse)` where it is yet to be done.
    public func logOut(at insertion: TokenInsertion) throws(TokenError) {
        state.withLock { state in
            state.pins.endLogin()
            if state.insertion == insertion, state.connection != nil { state.pins.logoutPending = true }
        }
        do throws(TokenError) {
            let deadline = ContinuousClock.now + .seconds(1)
            while isInUse {
                guard ContinuousClock.now < deadline else {
                    throw TokenError(.card(.inUse), "another program holds the card in '\(name)' (close it or wait)")
                }
                usleep(20_000)
            }
            try performPendingLogout(at: insertion)
        } catch {
            if error.code == .card(.inUse) {
                PendingLogouts.begin()
                let isStarted = BlockingThread.start { [self] in
                    performPendingLogoutLater(at: insertion)
                    PendingLogouts.end()
                }
                if !isStarted { PendingLogouts.end() }
            }
            throw error
        }
    }

    private func performPendingLogout(at insertion: TokenInsertion) throws(TokenError) {
        // Each transaction begins with a pending logout.
        try perform(at: insertion) { (_, _) throws(TokenError) in }
    }

    private func performPendingLogoutLater(at insertion: TokenInsertion) {
        // A card that answers nothing that makes sense is not asked for ever.
        let limit = 10
        var failures = 0
        while failures < limit, state.withLock({ $0.pins.logoutPending && $0.insertion == insertion }) {
            usleep(100_000)
            guard !isInUse else { continue }
            do throws(TokenError) {
                try performPendingLogout(at: insertion)
            } catch {
                if error.code != .card(.inUse) { failures += 1 }
            }
        }
        state.withLock { state in
            if failures == limit, state.insertion == insertion { state.pins.logoutPending = false }
            if state.isLetGo { TokenSlot.drop(&state) }
        }
    }

    static func logOut(_ token: inout any Token, _ card: inout CardTransaction) throws(TokenError) {
        do throws(TokenError) {
            try token.logOut(&card)
        } catch {
            // A card that answers, and knows no way to forget the PIN, would not do so the next time either. It would have to be
            // reset, and no other program is to notice: it is not.
            if case .card = error.code { throw error }
        }
        token.pins.loggedOut()
    }

    // MARK: - The PIN's time

    /// Takes an expired PIN back before any other command.
    func endOverduePIN(_ state: inout State) { state.pins.endTerm(at: now()) }

    func beginTerm(_ state: inout State) {
        guard state.pins.beginTerm(until: pinTimeout().map { now() + $0 }) else { return }
        state.pins.isAwaited = PINSession.waitForEnd { [weak self] in
            self?.restOfPIN()
        } then: { [weak self] in
            self?.performPendingLogoutOfOverduePIN()
        }
    }

    /// The time for which the PIN still counts; nil once it does not count, or counts without an end.
    private func restOfPIN() -> Duration? {
        state.withLock { state in
            endOverduePIN(&state)
            return state.pins.rest(at: now())
        }
    }

    private func performPendingLogoutOfOverduePIN() {
        performPendingLogoutLater(at: state.withLock { $0.insertion })
    }
}

/// The logouts that wait for another program to let go of its card. A process that ends with one of them leaves the PIN verified.
package enum PendingLogouts {
    private static let count = Atomic(0)

    static func begin() { count.add(1, ordering: .sequentiallyConsistent) }

    static func end() { count.subtract(1, ordering: .sequentiallyConsistent) }

    /// Waits until no logout is pending.
    package static func wait() {
        while count.load(ordering: .sequentiallyConsistent) > 0 { usleep(50_000) }
    }
}
