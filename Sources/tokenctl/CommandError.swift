internal import KeychainHost
internal import Synchronization

/// Why a command could not do what it was asked: what failed, why, and what to do.
struct CommandError: Error, CustomStringConvertible {
    let description: String

    init(_ what: String, _ why: String? = nil, advice: String? = nil) {
        description = what + (why.map { ": \($0)" } ?? "") + (advice.map { " (\($0))" } ?? "")
    }
}

/// What was told of damage in local keychains while a command ran: what it then calls missing may be that.
enum ToldDamage {
    private static let first = Mutex<KeychainError?>(nil)

    static func note(_ errors: [KeychainError]) {
        guard let damage = errors.first(where: { [.decode, .invalidKeychain].contains($0.code) }) else { return }
        first.withLock { $0 = $0 ?? damage }
    }

    static func forget() { first.withLock { $0 = nil } }

    /// The error for somebody who is told that there is no such item.
    static func doubting(_ error: KeychainError) -> KeychainError {
        guard error.code == .itemNotFound, let damage = first.withLock({ $0 }) else { return error }
        return KeychainError(damage.code, "\(error.reason), unless it is what is damaged", remedy: damage.remedy)
    }
}
