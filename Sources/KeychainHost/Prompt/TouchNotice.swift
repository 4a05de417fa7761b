package import HostAPI
package import TokenKit

/// Asks a person to touch the card during a key's operation: at once where the key's policy is known to want it, and
/// after a second without an answer where the policy is unknown.
///
///     let notice = TouchNotice(key.touchPolicy, of: label, prompter)
///     defer { notice.end() }
package struct TouchNotice: Sendable {
    /// The time that a card may take to refuse at once, for want of the PIN.
    private static let timeOfRefusal: Duration = .milliseconds(300)
    /// The time that a card takes for an operation that needs no touch.
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
