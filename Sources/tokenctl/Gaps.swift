internal import ArgumentParser
internal import KeychainModel
internal import Localization

/// The gaps of a command's searches. Each is printed once.
final class Gaps {
    private var told: [Missing] = []

    /// Prints gaps as warnings.
    ///
    /// - Parameter isFailure: whether the command fails with them: they are printed as errors, even where warnings are not.
    func tell(_ missing: [Missing], isFailure: Bool = false) {
        for gap in missing where !told.contains(gap) {
            told.append(gap)
            if isFailure {
                printError("\(gap.text)")
            } else {
                gap.lasts ? Warnings.showDaily("\(gap.text)") : Warnings.show("\(gap.text)")
            }
        }
    }

    /// Runs `body`. If nothing matches and the item may be in a gap, the error says so, and has the gap's code.
    func doubting<Result>(_ body: () throws -> Result) throws -> Result {
        do { return try body() } catch let error as KeychainError where error.code == .itemNotFound {
            if let damage = told.first(where: \.isDamagedFile)?.error {
                throw KeychainError(
                    damage.code, "\(error.reasonText), unless it is the damaged one", remedy: damage.remedyText)
            }
            guard let card else { throw error }
            throw KeychainError(card.code, "\(error.reasonText), unless it is on the card that could not be read")
        }
    }

    /// Ends a command that lists everything.
    ///
    /// - Throws: the exit status for a card that could not be read, since the list lacks its items.
    func end() throws(ExitCode) {
        guard let card else { return }
        // Errors that decide the exit status are printed even with -q, which silences warnings.
        if !Warnings.areWanted {
            for gap in told where gap.place == .card { printError("\(gap.text)") }
        }
        throw ExitCode(CommandLineInterpreter.status(of: card.code))
    }

    private var card: KeychainError? { told.first { $0.place == .card }?.error }
}

extension Missing {
    /// The keychain and the error; the error alone if its reason has the keychain's path.
    var text: String {
        keychain.contains("/") && error.reason.contains(keychain) ? error.description : "\(keychain): \(error)"
    }

    /// Whether the gap lasts until a person repairs it.
    fileprivate var lasts: Bool { kind == .absentKeychain || place == .module }

    /// Whether damage of a keychain file may hide the item.
    fileprivate var isDamagedFile: Bool { place == .file && isDamage }

    /// Whether a damaged item or keychain may hide the item.
    var isDamage: Bool { kind == .damagedItem || kind == .damagedKeychain }
}
