internal import KeychainModel
internal import Localization
internal import TokenKit

extension KeychainError {
    /// A card's failure in the keychain's terms (keychain semantics 1.12).
    init(_ error: TokenError) {
        self.init(
            KeychainError.code(for: error.code), error.status.map { "\(error.reasonText) (\($0))" } ?? error.reasonText,
            triesLeft: error.triesLeft,
            failure: TokenFailure(error.code))
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
        case .permissionRequired: .interactionNotAllowed
        case .pinFormat, .pinIncorrect, .pinKnownIncorrect, .pinLastTry, .pinBlocked, .notAuthorized: .authFailed
        case .notProven: .verifyFailed
        case .conditionsNotSatisfied, .storage, .pinPadFailed: .deviceError
        case .tooLarge: .dataTooLarge
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

extension TokenFailure {
    init(_ code: TokenError.Code) {
        self =
            switch code {
            case .card(let code): TokenFailure(code)
            case .unrecognized: .unrecognized
            case .notFound: .noKey
            case .unsupported: .notPermitted
            case .invalidArgument, .decryptionFailed: .invalidInput
            case .malformed, .pinPadFailed, .notProven: .device
            case .pinRequired, .notAuthorized: .loginRequired
            case .permissionRequired: .permissionRequired
            case .pinFormat: .pinFormat
            case .pinIncorrect, .pinKnownIncorrect: .pinIncorrect
            case .pinLastTry, .pinBlocked: .pinLocked
            case .conditionsNotSatisfied: .rejected
            case .storage, .tooLarge: .noMemory
            }
    }

    private init(_ code: CardError.Code) {
        self =
            switch code {
            // Without the card service, a reader is a place without a token.
            case .noCard, .noReader, .serviceUnavailable: .noToken
            case .removed: .removed
            case .muteCard: .unrecognized
            case .cancelled: .cancelled
            case .responseTooLarge, .malformed, .reset, .communication, .inUse, .accessDenied, .invalidCommand: .device
            }
    }
}
