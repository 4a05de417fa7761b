package import HostAPI
package import TokenKit

/// Asks a person to touch the card, where a key's operation waits for that: where the key's policy says so, and where it says nothing
/// and the card has not answered for a second.
///
///     let notice = TouchNotice(key.touchPolicy, of: label, prompter)
///     defer { notice.end() }
package struct TouchNotice: Sendable {
    /// How long a card may take that refuses at once, for want of the PIN.
    private static let timeOfRefusal: Duration = .milliseconds(300)
    /// How long a card takes that waits for nothing.
    private static let timeOfOperation: Duration = .seconds(1)

    private let answered = CountingSemaphore()

    /// - Parameters:
    ///   - policy: the key's.
    ///   - card: its label or its reader.
    ///   - prompter: by whom the person is told.
    package init(_ policy: TouchPolicy, of card: String, _ prompter: any Prompter) {
        guard policy != .never, !(prompter is NoPrompter) else { return }
        let (delay, message) =
            policy.mayWait
            ? (TouchNotice.timeOfRefusal, "Touch the card now: '\(card)' waits for it.")
            : (TouchNotice.timeOfOperation, "Touch the card now if it blinks: '\(card)' has not answered yet.")
        BlockingThread.start { [answered] in
            if !answered.wait(for: delay) { prompter.tell(message) }
        }
    }

    /// Ends the wait: the card has answered.
    package func end() { answered.signal() }
}
