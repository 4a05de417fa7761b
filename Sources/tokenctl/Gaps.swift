internal import ArgumentParser
internal import KeychainModel

/// The gaps of a command's searches. Each is printed once.
final class Gaps {
    private var told: [Missing] = []

    /// Prints gaps as warnings.
    ///
    /// - Parameter isFailure: whether they are what the command ends with, which is printed in any case.
    func tell(_ missing: [Missing], isFailure: Bool = false) {
        for gap in missing where !told.contains(gap) {
            told.append(gap)
            if isFailure {
                printError(gap.text)
            } else {
                gap.lasts ? Warnings.showDaily(gap.text) : Warnings.show(gap.text)
            }
        }
    }

    /// Runs `body`. Its error for no match also says that the item may be in a gap, and ends the command with the gap's
    /// status.
    func doubting<Result>(_ body: () throws -> Result) throws -> Result {
        do { return try body() } catch let error as KeychainError where error.code == .itemNotFound {
            if let damage = told.first(where: \.isDamagedFile)?.error {
                throw KeychainError(damage.code, "\(error.reason), unless it is the damaged one", remedy: damage.remedy)
            }
            guard let card else { throw error }
            throw KeychainError(card.code, "\(error.reason), unless it is on the card that could not be read")
        }
    }

    /// Ends a command that lists everything.
    ///
    /// - Throws: the exit status for a card that could not be read: the list lacks what is on it.
    func end() throws(ExitCode) {
        if let card { throw ExitCode(CommandLineInterpreter.status(of: card.code)) }
    }

    private var card: KeychainError? { told.first { $0.place == .card }?.error }
}

extension Missing {
    /// The keychain and the error. A path stands once where the reason has it too.
    var text: String {
        keychain.contains("/") && error.reason.contains(keychain) ? error.description : "\(keychain): \(error)"
    }

    /// Whether the gap lasts until a person repairs it.
    fileprivate var lasts: Bool { kind == .absentKeychain || place == .module }

    /// Whether a keychain file lacks what may have been looked for.
    fileprivate var isDamagedFile: Bool { place == .file && isDamage }

    /// Whether something is damaged that may have been looked for.
    var isDamage: Bool { kind == .damagedItem || kind == .damagedKeychain }
}
