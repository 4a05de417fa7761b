public import KeychainModel
public import TokenKit

extension KeychainError {
    /// A card's failure in the keychain's terms (keychain semantics 1.12).
    public init(_ error: TokenError) {
        self.init(KeychainError.code(for: error.code), error.description, triesLeft: error.triesLeft)
    }

    private static func code(for code: TokenError.Code) -> ErrSec {
        switch code {
        case .card(let code): self.code(for: code)
        case .unrecognized: .noSuchKeychain
        case .notFound: .itemNotFound
        case .unsupported: .invalidAlgorithm
        case .invalidArgument: .param
        case .decryptionFailed, .malformed: .decode
        case .pinRequired: .notLoggedIn
        case .pinFormat, .pinIncorrect, .pinKnownIncorrect, .pinLastTry, .pinBlocked, .notAuthorized: .authFailed
        case .notProven: .verifyFailed
        case .conditionsNotSatisfied, .storage, .pinPadFailed: .deviceError
        }
    }

    private static func code(for code: CardError.Code) -> ErrSec {
        switch code {
        case .serviceUnavailable, .accessDenied, .inUse: .notAvailable
        case .noReader, .noCard: .noSuchKeychain
        case .removed, .reset: .deviceReset
        case .muteCard, .communication: .deviceFailed
        case .cancelled: .userCanceled
        case .malformed, .responseTooLarge: .decode
        case .invalidCommand: .param
        }
    }
}
