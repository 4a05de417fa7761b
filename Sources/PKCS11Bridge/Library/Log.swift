internal import Synchronization

/// Collects what happens while a client's calls are answered. The client writes it to its log (`TOKENKIT_DEBUG`), where one is wanted.
/// PINs, keys and decrypted data are never part of it.
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
