internal import Synchronization

/// Collects lines about events during a client's calls. The client writes them to its log, where `TOKENKIT_DEBUG` asks for one.
/// They never contain PINs, keys or decrypted data.
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

    /// Removes the collected lines, and returns them with the call's outcome as the last.
    func take(ending outcome: @autoclosure () -> String) -> [[UInt8]] {
        guard isWanted else { return [] }
        let lines = lines.withLock { lines in
            defer { lines = [] }
            return lines
        }
        return (lines + [outcome()]).map { Array($0.utf8) }
    }
}
