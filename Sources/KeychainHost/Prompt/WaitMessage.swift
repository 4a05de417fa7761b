internal import HostAPI
internal import Platform
internal import Synchronization

/// Tells a person, after a second, that a card is waited for. Neither the beginning nor the end of the wait takes longer for it.
final class WaitMessage: Sendable {
    private enum State {
        case pending, over
        case shown(@Sendable () -> Void)
    }

    private static let firstShown: Duration = .seconds(1)

    private let state = Mutex(State.pending)

    /// Begins a wait for the card in a reader.
    ///
    /// - Returns: the function that ends the wait, and takes the message away before it returns. It may be called more than once.
    static func begin(_ reader: String, _ prompter: any Prompter) -> @Sendable () -> Void {
        let message = WaitMessage()
        let number = DelayedActions.shared.begin(after: firstShown) {
            message.show(reader, prompter)
            return nil
        }
        return {
            DelayedActions.shared.end(number)
            message.end()
        }
    }

    private func show(_ reader: String, _ prompter: any Prompter) {
        state.withLock { state in
            guard case .pending = state else { return }
            if let end = prompter.showWait(forCardIn: reader) { state = .shown(end) }
        }
    }

    private func end() {
        state.withLock { state in
            if case .shown(let end) = state { end() }
            state = .over
        }
    }
}
