internal import Localization

/// Shows on a terminal, after a second, how far work has come, in a line that is removed when the work is done.
struct Progress: ~Copyable {
    private static let firstShown: Duration = .seconds(1)
    private static let interval: Duration = .milliseconds(200)

    private let text: (Int64) -> String
    private let start = ContinuousClock.now
    private var shown: ContinuousClock.Instant?
    private let isWanted = StandardError.isInteractive && Warnings.areWanted

    /// - Parameter text: the line for the amount that is done.
    init(_ text: @escaping (Int64) -> String) {
        self.text = text
    }

    /// The progress of reading a number of bytes.
    ///
    /// - Parameter total: nil where it is not known.
    static func reading(_ name: String, of total: Int64?) -> Progress {
        Progress { done in
            guard let total, total > 0 else { return String(localized: "reading \(name): \(done >> 20) MiB") }
            return String(localized: "reading \(name): \(min(99, done * 100 / total)) % of \(total >> 20) MiB")
        }
    }

    mutating func advance(to done: Int64) {
        guard isWanted else { return }
        let now = ContinuousClock.now
        guard now - start >= Progress.firstShown, shown.map({ now - $0 >= Progress.interval }) ?? true else { return }
        shown = now
        StandardError.replaceLine(text(done))
    }

    deinit {
        if shown != nil { StandardError.replaceLine("") }
    }
}
