internal import Synchronization

/// The turn to ask a person, which one client of a host at a time has. Whoever waited for it may find that the answer to another client
/// counts for it too.
public final class QuestionTurn: Sendable {
    private let isTaken = Mutex(false)
    private let end = CountingSemaphore()

    /// The time between two calls of `check`.
    private static let interval = Duration.milliseconds(100)

    package init() {}

    /// Runs `body` once no other caller has the turn.
    ///
    /// - Parameters:
    ///   - check: called during a wait, which ends if it throws.
    ///   - body: is told whether there was a wait.
    public func take<Result: ~Copyable, Failure>(
        checking check: () throws(Failure) -> Void, _ body: (_ hasWaited: Bool) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        var hasWaited = false
        while !isTaken.withLock({ isTaken in
            defer { isTaken = true }
            return !isTaken
        }) {
            hasWaited = true
            _ = end.wait(for: QuestionTurn.interval)
            try check()
        }
        defer {
            isTaken.withLock { $0 = false }
            end.signal()
        }
        return try body(hasWaited)
    }
}
