internal import Synchronization

/// What happened while a client's calls were answered, for somebody who looks for a fault: the client writes it to its log
/// (`TOKENKIT_DEBUG`), where it is wanted. A PIN, a key or decrypted data is never part of it.
package final class Log: Sendable {
    private let isWanted: Bool
    private let lines = Mutex<[String]>([])

    /// Lines that are kept for the next answer.
    private static let limit = 256

    package init(isWanted: Bool = false) {
        self.isWanted = isWanted
    }

    package func write(_ text: @autoclosure () -> String) {
        guard isWanted else { return }
        let line = text()
        lines.withLock { lines in if lines.count < Log.limit { lines.append(line) } }
    }

    /// The lines that there are, which are kept no longer, and what came of a call as the last.
    func take(ending outcome: @autoclosure () -> String) -> [[UInt8]] {
        guard isWanted else { return [] }
        let lines = lines.withLock { lines in
            defer { lines = [] }
            return lines
        }
        return (lines + [outcome()]).map { Array($0.utf8) }
    }
}
