internal import HostAPI
internal import Platform
internal import KeychainModel

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

    private let numbers: [UInt64]

    /// - Parameters:
    ///   - touch: whether the key waits for a touch.
    ///   - card: its label or its reader.
    ///   - prompter: shows the message to the person.
    ///   - notices: shows it at the desktop as well; nil for no desktop.
    init(
        _ touch: TokenTraits.TouchUse, of card: String, _ prompter: any Prompter, _ notices: ClientNotices? = nil
    ) {
        guard touch != .never, !(prompter is NoPrompter) else {
            numbers = []
            return
        }
        let (delay, message) =
            touch == .expected
            ? (TouchNotice.timeOfRefusal, "Touch the card now: '\(card)' waits for it.")
            : (TouchNotice.timeOfOperation, "Touch the card now if it blinks: '\(card)' has not answered yet.")
        // A prompter's program may take its time to show the message.
        var numbers = [DelayedActions.shared.begin(after: delay) { prompter.show(message) }]
        if let notices {
            numbers.append(
                DelayedActions.shared.begin(after: delay) {
                    notices.showTouch(of: card, isCertain: touch == .expected)
                })
        }
        self.numbers = numbers
    }

    /// Ends the wait: the card has answered.
    func end() {
        for number in numbers { DelayedActions.shared.end(number) }
    }
}
