internal import KeychainModel
internal import KeychainHost
internal import Synchronization

/// Why a command could not do what it was asked: what failed, why, and what to do.
struct CommandError: Error, CustomStringConvertible {
    let description: String

    init(_ what: String, _ why: String? = nil, advice: String? = nil) {
        description = what + (why.map { ": \($0)" } ?? "") + (advice.map { " (\($0))" } ?? "")
    }
}

/// What was told of damage in local keychains and of cards that could not be read while a command ran: what it then calls missing
/// may be that.
enum ToldFailures {
    private struct First {
        var damage: KeychainError?
        var card: KeychainError?
        var texts: Set<String> = []
    }

    private static let first = Mutex(First())

    static func note(damage errors: [KeychainError]) {
        guard let damage = errors.first(where: { [.decode, .invalidKeychain].contains($0.code) }) else { return }
        first.withLock { $0.damage = $0.damage ?? damage }
    }

    static func note(ofCards errors: [KeychainError]) {
        guard let error = errors.first else { return }
        first.withLock { $0.card = $0.card ?? error }
    }

    /// Whether the command has not told this yet. It counts as told from now on.
    static func isNew(_ text: String) -> Bool { first.withLock { $0.texts.insert(text).inserted } }

    static func forget() { first.withLock { $0 = First() } }

    /// Why a card could not be read, which is a reason for a list of everything not to count as complete.
    static var ofCard: KeychainError? { first.withLock { $0.card } }

    /// The error for somebody who is told that there is no such item.
    static func doubting(_ error: KeychainError) -> KeychainError {
        guard error.code == .itemNotFound else { return error }
        let told = first.withLock { $0 }
        if let damage = told.damage {
            return KeychainError(damage.code, "\(error.reason), unless it is the damaged one", remedy: damage.remedy)
        }
        guard let card = told.card else { return error }
        return KeychainError(card.code, "\(error.reason), unless it is on the card that could not be read")
    }
}

/// A list that lacks what is on a card which could not be read. The reason has been told.
struct IncompleteListError: Error {
    let cause: KeychainError

    /// - Throws: where the list is not complete.
    static func check() throws {
        if let cause = ToldFailures.ofCard { throw IncompleteListError(cause: cause) }
    }
}
