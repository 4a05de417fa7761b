internal import HostAPI
internal import KeychainModel
internal import Platform
internal import Synchronization

/// Asks a person to touch the card during a key's operation: after 300 ms where the key is known to wait for that, and
/// after a second without an answer where it is unknown. The operation never waits for the message.
///
///     let notice = TouchNotice(.expected, of: label, prompter)
///     defer { notice.end() }
struct TouchNotice: Sendable {
    /// The time within which a card refuses an operation that lacks the PIN.
    private static let timeOfRefusal: Duration = .milliseconds(300)
    /// The time that a card takes for an operation that needs no touch.
    private static let timeOfOperation: Duration = .seconds(1)

    private let number: UInt64?

    /// - Parameters:
    ///   - touch: whether the key waits for a touch.
    ///   - card: its label or its reader.
    ///   - prompter: shows the message to the person.
    init(_ touch: TokenTraits.TouchUse, of card: String, _ prompter: any Prompter) {
        guard touch != .never, !(prompter is NoPrompter) else {
            number = nil
            return
        }
        let (delay, message) =
            touch == .expected
            ? (TouchNotice.timeOfRefusal, "Touch the card now: '\(card)' waits for it.")
            : (TouchNotice.timeOfOperation, "Touch the card now if it blinks: '\(card)' has not answered yet.")
        number = DelayedMessages.shared.begin(message, by: prompter, after: delay)
    }

    /// Ends the wait: the card has answered.
    func end() {
        if let number { DelayedMessages.shared.end(number) }
    }
}

/// Messages that are shown after a delay, unless they are ended before. One thread waits for all of them: a thread for each would make
/// a signature a quarter longer, and most end before their delay.
private final class DelayedMessages: Sendable {
    static let shared = DelayedMessages()

    private struct Message {
        let text: String
        let prompter: any Prompter
        /// The time to show it; nil once that has begun.
        var time: ContinuousClock.Instant?
        /// Takes the shown message away.
        var hide: (@Sendable () -> Void)?
    }

    private struct State {
        var last: UInt64 = 0
        var messages: [UInt64: Message] = [:]
        var hasThread = false
        /// The time at which the thread looks again; nil while it waits for a message.
        var nextLook: ContinuousClock.Instant?
    }

    private let state = Mutex(State())
    private let change = CountingSemaphore()

    func begin(_ text: String, by prompter: any Prompter, after delay: Duration) -> UInt64 {
        let time = ContinuousClock.now + delay
        let (number, isEarlier, isFirst) = state.withLock { state in
            state.last += 1
            state.messages[state.last] = Message(text: text, prompter: prompter, time: time)
            let isEarlier = state.nextLook.map { time < $0 } ?? true
            if isEarlier { state.nextLook = time }
            let isFirst = !state.hasThread
            state.hasThread = true
            return (state.last, isEarlier, isFirst)
        }
        if isFirst {
            // A system without a thread to spare has no notices.
            let isStarted = BlockingThread.start { [self] in while true { look() } }
            if !isStarted { state.withLock { $0.hasThread = false } }
        } else if isEarlier {
            change.signal()
        }
        return number
    }

    /// The message is taken away by a thread of its own, since a window's program may take its time to end.
    func end(_ number: UInt64) {
        guard let hide = state.withLock({ $0.messages.removeValue(forKey: number) })?.hide else { return }
        BlockingThread.start(hide)
    }

    /// Shows what is due, and waits for the next time or message.
    private func look() {
        let now = ContinuousClock.now
        let (due, next) = state.withLock { state in
            let due = state.messages.filter { $0.value.time.map { $0 <= now } ?? false }
            for number in due.keys { state.messages[number]?.time = nil }
            state.nextLook = state.messages.values.compactMap(\.time).min()
            return (due, state.nextLook)
        }
        // A prompter may take its time.
        for (number, message) in due { BlockingThread.start { [self] in show(message, number) } }
        if let next { _ = change.wait(for: now.duration(to: next)) } else { change.wait() }
    }

    private func show(_ message: Message, _ number: UInt64) {
        guard let hide = message.prompter.show(message.text) else { return }
        let isOver = state.withLock { state in
            state.messages[number]?.hide = hide
            return state.messages[number] == nil
        }
        if isOver { hide() }
    }
}
