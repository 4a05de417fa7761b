internal import Platform
internal import Synchronization

/// Shows on a terminal, after a second, that a card is waited for, in a line that is removed when the wait is over.
enum CardWaitNotice {
    private static let firstShown: Duration = .seconds(1)

    /// Begins a wait for the card in a reader.
    ///
    /// - Returns: the function that ends the wait.
    static func begin(_ reader: String) -> @Sendable () -> Void {
        guard StandardError.isInteractive, Warnings.areWanted else { return {} }
        let wait = Wait()
        BlockingThread.start { wait.show("waiting for the card in '\(reader)', which another program may be using") }
        return wait.end
    }

    private final class Wait: Sendable {
        private enum State { case pending, shown, over }

        private let state = Mutex(State.pending)
        private let over = CountingSemaphore()

        func show(_ text: String) {
            guard !over.wait(for: CardWaitNotice.firstShown) else { return }
            state.withLock { state in
                guard state == .pending else { return }
                state = .shown
                StandardError.replaceLine(text)
            }
        }

        @Sendable func end() {
            state.withLock { state in
                if state == .shown { StandardError.replaceLine("") }
                state = .over
            }
            over.signal()
        }
    }
}
