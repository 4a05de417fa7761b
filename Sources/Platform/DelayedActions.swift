internal import Synchronization

/// Actions that begin after a delay, unless they are ended before. One thread waits for all of them: a thread for each would make a
/// signature a quarter longer, and most end before their delay.
package final class DelayedActions: Sendable {
    package static let shared = DelayedActions()

    /// An action, on a thread of its own since it may take its time. It returns the function that undoes it; nil for none.
    package typealias Action = @Sendable () -> (@Sendable () -> Void)?

    private struct Entry {
        let action: Action
        /// The time to begin it; nil once it has begun.
        var time: ContinuousClock.Instant?
        var undo: (@Sendable () -> Void)?
    }

    private struct State {
        var last: UInt64 = 0
        var entries: [UInt64: Entry] = [:]
        var hasThread = false
        /// The time at which the thread looks again; nil while it waits for an action.
        var nextLook: ContinuousClock.Instant?
    }

    private let state = Mutex(State())
    private let change = CountingSemaphore()

    /// - Returns: the number by which to end the action, also once it has begun.
    package func begin(after delay: Duration, _ action: @escaping Action) -> UInt64 {
        let time = ContinuousClock.now + delay
        let (number, isEarlier, isFirst) = state.withLock { state in
            state.last += 1
            state.entries[state.last] = Entry(action: action, time: time)
            let isEarlier = state.nextLook.map { time < $0 } ?? true
            if isEarlier { state.nextLook = time }
            let isFirst = !state.hasThread
            state.hasThread = true
            return (state.last, isEarlier, isFirst)
        }
        if isFirst {
            // A system without a thread to spare has no delayed actions.
            let isStarted = BlockingThread.start { [self] in while true { look() } }
            if !isStarted { state.withLock { $0.hasThread = false } }
        } else if isEarlier {
            change.signal()
        }
        return number
    }

    /// The action is undone by a thread of its own, since a window's program may take its time to end.
    package func end(_ number: UInt64) {
        guard let undo = state.withLock({ $0.entries.removeValue(forKey: number) })?.undo else { return }
        BlockingThread.start(undo)
    }

    /// Begins what is due, and waits for the next time or action.
    private func look() {
        let now = ContinuousClock.now
        let (due, next) = state.withLock { state in
            let due = state.entries.filter { $0.value.time.map { $0 <= now } ?? false }
            for number in due.keys { state.entries[number]?.time = nil }
            state.nextLook = state.entries.values.compactMap(\.time).min()
            return (due, state.nextLook)
        }
        for (number, entry) in due { BlockingThread.start { [self] in perform(entry.action, number) } }
        if let next { _ = change.wait(for: now.duration(to: next)) } else { change.wait() }
    }

    private func perform(_ action: Action, _ number: UInt64) {
        guard let undo = action() else { return }
        let isOver = state.withLock { state in
            state.entries[number]?.undo = undo
            return state.entries[number] == nil
        }
        if isOver { undo() }
    }
}
