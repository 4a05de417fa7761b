internal import Glibc
internal import Platform
internal import Synchronization

// Makes the card forget a presented PIN, on request or because the PIN's time is over.
extension TokenSlot {
    /// Ends the login of each client, and makes the card that was there at `insertion` forget a presented PIN.
    ///
    /// Where another program holds the card for longer than a second, the logout is performed later: before the card is next used
    /// here, and in any case once it is free, while this process runs and the card gives valid answers.
    ///
    /// - Throws: ``TokenError`` `.card(.inUse)` where the logout is pending; the refusal of a card that cannot forget the PIN.
    public func logOut(at insertion: TokenInsertion) throws(TokenError) {
        shared.state.withLock { state in
            state.pins.forgetPIN()
            state.logoutRefusal = nil
            if state.hasCard(of: insertion) { state.pins.logoutPending = true }
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
        try performOnCard(of: insertion) { (_, _) throws(TokenError) in }
        if let refusal = shared.state.withLock({ $0.logoutRefusal }) { throw refusal }
    }

    private func performPendingLogoutLater(at insertion: TokenInsertion) {
        // A card that keeps failing is not asked for ever.
        let limit = 10
        var failures = 0
        while failures < limit, shared.state.withLock({ $0.pins.logoutPending && $0.hasCard(of: insertion) }) {
            usleep(100_000)
            guard !isInUse else { continue }
            do throws(TokenError) {
                try performPendingLogout(at: insertion)
            } catch {
                if error.code != .card(.inUse) { failures += 1 }
            }
        }
        shared.state.withLock { state in
            if failures == limit, state.hasCard(of: insertion) { state.pins.logoutPending = false }
            if state.isLetGo { TokenSlot.drop(&state) }
        }
    }

    /// - Returns: the refusal of a card that answers, but cannot forget the PIN. It could not do so the next time either. Only a
    ///   reset would help, which other programs would notice: it is not done.
    static func logOut(_ token: inout any Token, _ card: inout CardTransaction) throws(TokenError) -> TokenError? {
        var refusal: TokenError?
        do throws(TokenError) {
            try token.logOut(&card)
        } catch {
            if case .card = error.code { throw error }
            refusal = error
        }
        token.pins.loggedOut()
        return refusal
    }

    // MARK: - The PIN's time

    /// Ends the term of an expired PIN before any other command.
    func endOverduePIN(_ state: inout State) { state.pins.endTerm(at: now()) }

    func beginTerm(_ state: inout State) {
        guard state.pins.beginTerm(pinLimits(), at: now()) else { return }
        // A shared PIN is forgotten soon after its card was taken out, also while nobody uses the card. This client may end before.
        let interval = Duration.seconds(keepsPIN ? 1 : 5)
        state.pins.isAwaited = PINSession.waitForEnd(lookingEvery: interval) { [weak slot = shared.firstSlot] in
            slot?.restOfPIN()
        } then: { [weak slot = shared.firstSlot] in
            slot?.performPendingLogoutOfOverduePIN()
        }
    }

    /// The remaining time of the PIN; nil where it is no longer valid, or has no limit.
    private func restOfPIN() -> Duration? {
        shared.state.withLock { state in
            if keepsPIN, let connection = state.connection, !connection.isCardPresent { TokenSlot.drop(&state) }
            endOverduePIN(&state)
            return state.pins.rest(at: now())
        }
    }

    private func performPendingLogoutOfOverduePIN() {
        performPendingLogoutLater(at: shared.state.withLock { $0.insertion })
        if keepsPIN { release() }
    }
}

/// The logouts that wait for another program to release its card. A process that ends before them leaves the PIN verified.
package enum PendingLogouts {
    private static let count = Atomic(0)

    static func begin() { count.add(1, ordering: .sequentiallyConsistent) }

    static func end() { count.subtract(1, ordering: .sequentiallyConsistent) }

    /// Waits until no logout is pending.
    package static func wait() {
        while count.load(ordering: .sequentiallyConsistent) > 0 { usleep(50_000) }
    }
}
