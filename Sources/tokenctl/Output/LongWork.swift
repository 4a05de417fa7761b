internal import HostAPI
internal import Localization
internal import Platform
internal import Synchronization

/// Work of a card that may take minutes, and that nothing breaks off.
///
/// A terminal shows that it runs, and an interruption is answered with what it leaves. Questions and notices pause both: the terminal is theirs.
final class LongWork: Sendable {
    private struct State {
        /// What the card does; nil where it does nothing.
        var title: String?
        var consequence = ""
        var pauses = 0
        var isShown = false
    }

    private let state = Mutex(State())

    /// - Parameters:
    ///   - title: what the card does.
    ///   - consequence: what an interruption leaves, and what to do then.
    func perform<Result, Failure: Error>(
        _ title: LocalizedText, leaving consequence: LocalizedText, _ body: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let done = CountingSemaphore()
        begin(String(localized: title), String(localized: consequence), until: done)
        defer {
            done.signal()
            end()
        }
        return try body()
    }

    /// Leaves the terminal to a question or a notice.
    func pause() {
        state.withLock { state in
            state.pauses += 1
            if state.pauses == 1, state.title != nil { Interruption.forget() }
            LongWork.hide(&state)
        }
    }

    func resume() {
        state.withLock { state in
            state.pauses -= 1
            if state.pauses == 0, state.title != nil { Interruption.announce(state.consequence) }
        }
    }

    private func begin(_ title: String, _ consequence: String, until done: CountingSemaphore) {
        state.withLock { ($0.title, $0.consequence) = (title, consequence) }
        Interruption.announce(consequence)
        guard StandardError.isInteractive, Warnings.areWanted else { return }
        let start = ContinuousClock.now
        BlockingThread.start { [self] in
            while !done.wait(for: .seconds(1)) { show(after: ContinuousClock.now - start) }
        }
    }

    private func show(after time: Duration) {
        state.withLock { state in
            guard let title = state.title, state.pauses == 0 else { return }
            StandardError.replaceLine(String(localized: "\(title): \(time.components.seconds) s"))
            state.isShown = true
        }
    }

    private func end() {
        state.withLock { state in
            state.title = nil
            LongWork.hide(&state)
        }
        Interruption.forget()
    }

    private static func hide(_ state: inout State) {
        guard state.isShown else { return }
        StandardError.replaceLine("")
        state.isShown = false
    }
}
