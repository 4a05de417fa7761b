internal import HostAPI
internal import Platform

/// The messages of the host that a client shows during one request.
struct ShownNotices: ~Copyable {
    private let prompter: any Prompter
    private let waitPrompter: any Prompter
    private var shown: [UInt32: @Sendable () -> Void] = [:]

    /// Messages at a time; further ones are not shown. A host has one.
    private static let maximumCount = 8

    /// - Parameter waitPrompter: shows that a card is waited for.
    init(_ prompter: any Prompter, waits waitPrompter: any Prompter) {
        (self.prompter, self.waitPrompter) = (prompter, waitPrompter)
    }

    deinit { for end in shown.values { end() } }

    mutating func take(_ notice: HostNotice) {
        let (prompter, waitPrompter) = (prompter, waitPrompter)
        switch notice {
        case .remark(let text): prompter.tell(text)
        case .message(let text, let number): begin(number) { ShownNotices.show(text, by: prompter) }
        case .wait(let reader, let number): begin(number) { waitPrompter.showWait(forCardIn: reader) }
        case .over(let number): shown.removeValue(forKey: number)?()
        }
    }

    private mutating func begin(_ number: UInt32, _ show: () -> (@Sendable () -> Void)?) {
        guard shown.count < ShownNotices.maximumCount, shown[number] == nil else { return }
        shown[number] = show()
    }

    /// Takes all messages away, before a question.
    mutating func endAll() {
        for end in shown.values { end() }
        shown = [:]
    }

    /// Shows a message on a thread of its own, since a window's program may take its time.
    ///
    /// - Returns: the function that takes the message away, on another thread.
    private static func show(_ text: String, by prompter: any Prompter) -> @Sendable () -> Void {
        let number = DelayedActions.shared.begin(after: .zero) { prompter.show(text) }
        return { DelayedActions.shared.end(number) }
    }
}
