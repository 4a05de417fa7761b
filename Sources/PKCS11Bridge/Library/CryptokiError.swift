internal import CryptokiNames
internal import KeychainModel
package import CCryptoki
internal import KeychainHost
internal import SystemCrypto
internal import TokenKit

/// The failure of a function: a return value of the standard, and the text for the log.
package struct CryptokiError: Error, Sendable, CustomStringConvertible {
    package let code: CK_RV

    /// The reason, for the log; never a PIN, key or decrypted data.
    package let reason: String

    /// - Parameter reason: what the code alone does not say.
    package init(_ code: CK_RV, _ reason: String = "") {
        self.code = code
        self.reason = reason
    }

    package var description: String {
        let name = CryptokiReturnValue.name(of: code)
        let reason = reason.isEmpty ? CryptokiError.meaning(of: code) : reason
        return reason.isEmpty ? name : "\(name): \(reason)"
    }
}

extension CryptokiError {
    init(_ error: TokenError) {
        self.init(CryptokiError.code(for: error.code), error.description)
    }

    init(_ error: KeychainError) {
        let code =
            switch error.code {
            case .authFailed: CKR_PIN_INCORRECT
            case .interactionNotAllowed, .notLoggedIn: CKR_USER_NOT_LOGGED_IN
            case .userCanceled: CKR_FUNCTION_CANCELED
            case .readOnly, .writePermission: CKR_TOKEN_WRITE_PROTECTED
            case .noSuchKeychain, .invalidKeychain: CKR_DEVICE_REMOVED
            case .deviceReset, .deviceFailed, .deviceError: CKR_DEVICE_ERROR
            case .itemNotFound, .invalidItemReference: CKR_OBJECT_HANDLE_INVALID
            case .dataNotAvailable, .keyIsSensitive: CKR_ATTRIBUTE_SENSITIVE
            case .duplicateItem, .param, .noSuchAttribute: CKR_ATTRIBUTE_VALUE_INVALID
            case .readOnlyAttribute, .dataNotModifiable: CKR_ATTRIBUTE_READ_ONLY
            case .invalidAlgorithm: CKR_MECHANISM_INVALID
            case .keySizeNotAllowed: CKR_KEY_SIZE_RANGE
            case .dataTooLarge: CKR_DATA_LEN_RANGE
            case .decode: CKR_DATA_INVALID
            case .diskFull: CKR_DEVICE_MEMORY
            case .allocate: CKR_HOST_MEMORY
            default: CKR_FUNCTION_FAILED
            }
        self.init(code, error.description)
    }

    /// The error of a question for a PIN that could not be asked, was not answered, or whose answer was wrong.
    ///
    /// - Parameter refusal: the card's error for the last answer; nil where no PIN was presented.
    init(question error: KeychainError, _ refusal: TokenError?) {
        let code =
            switch error.code {
            case .authFailed: refusal.map { CryptokiError.code(for: $0.code) } ?? CKR_PIN_LOCKED
            case .userCanceled: CKR_FUNCTION_CANCELED
            default: refusal.map { CryptokiError.code(for: $0.code) } ?? CryptokiError(error).code
            }
        self.init(code, error.description)
    }

    /// - Parameter invalid: the code for input that does not fit, which depends on the function.
    init(_ error: CryptoError, invalid: CK_RV = CKR_DATA_INVALID, length: CK_RV = CKR_DATA_LEN_RANGE) {
        let code =
            switch error.code {
            case .invalidLength: length
            case .malformed, .invalidKey: invalid
            case .unsupported: CKR_MECHANISM_INVALID
            case .decryptionFailed, .authenticationFailed: CKR_ENCRYPTED_DATA_INVALID
            default: CKR_FUNCTION_FAILED
            }
        self.init(code, error.description)
    }

    private static func code(for code: TokenError.Code) -> CK_RV {
        switch code {
        case .card(let code): self.code(for: code)
        case .unrecognized: CKR_TOKEN_NOT_RECOGNIZED
        case .notFound: CKR_KEY_HANDLE_INVALID
        case .unsupported: CKR_KEY_FUNCTION_NOT_PERMITTED
        case .invalidArgument, .decryptionFailed: CKR_DATA_INVALID
        case .malformed, .pinPadFailed, .notProven: CKR_DEVICE_ERROR
        case .pinRequired: CKR_USER_NOT_LOGGED_IN
        case .pinFormat: CKR_PIN_LEN_RANGE
        case .pinIncorrect, .pinKnownIncorrect: CKR_PIN_INCORRECT
        case .pinLastTry, .pinBlocked: CKR_PIN_LOCKED
        case .conditionsNotSatisfied: CKR_FUNCTION_REJECTED
        case .notAuthorized: CKR_USER_NOT_LOGGED_IN
        case .storage: CKR_DEVICE_MEMORY
        }
    }

    private static func code(for code: CardError.Code) -> CK_RV {
        switch code {
        // Without the card service, a reader is a slot without a token for every function.
        case .noCard, .noReader, .serviceUnavailable: CKR_TOKEN_NOT_PRESENT
        case .removed: CKR_DEVICE_REMOVED
        case .muteCard: CKR_TOKEN_NOT_RECOGNIZED
        case .cancelled: CKR_FUNCTION_CANCELED
        case .responseTooLarge, .malformed, .reset, .communication, .inUse, .accessDenied, .invalidCommand:
            CKR_DEVICE_ERROR
        }
    }

    /// Runs `body` for a session whose token was there before: an absent token was removed.
    static func removed<Result: ~Copyable>(
        _ body: () throws(CryptokiError) -> Result
    ) throws(CryptokiError) -> Result {
        do throws(CryptokiError) { return try body() } catch { throw error.inSession }
    }

    /// The error for a token that was present before.
    var inSession: CryptokiError {
        code == CKR_TOKEN_NOT_PRESENT ? CryptokiError(CKR_DEVICE_REMOVED, reason) : self
    }

    /// Runs `body`, which uses a private key: an unfit input is bad data, not a bad attribute, and an absent key was
    /// deleted by another program.
    static func mappingUse<Result: ~Copyable>(
        _ body: () throws(KeychainError) -> Result
    ) throws(CryptokiError) -> Result {
        do throws(KeychainError) { return try body() } catch {
            switch error.code {
            case .param: throw CryptokiError(CKR_DATA_INVALID, error.description)
            case .itemNotFound: throw CryptokiError(CKR_KEY_HANDLE_INVALID, error.description)
            default: throw CryptokiError(error)
            }
        }
    }

    /// Runs `body`, and converts a token's failure to a return value of the standard.
    static func mapping<Result: ~Copyable>(
        _ body: () throws(TokenError) -> Result
    ) throws(CryptokiError) -> Result {
        do throws(TokenError) { return try body() } catch { throw CryptokiError(error) }
    }

    static func mapping<Result: ~Copyable>(
        _ body: () throws(KeychainError) -> Result
    ) throws(CryptokiError) -> Result {
        do throws(KeychainError) { return try body() } catch { throw CryptokiError(error) }
    }

    static func mapping<Result: ~Copyable>(
        invalid: CK_RV = CKR_DATA_INVALID, length: CK_RV = CKR_DATA_LEN_RANGE,
        _ body: () throws(CryptoError) -> Result
    ) throws(CryptokiError) -> Result {
        do throws(CryptoError) { return try body() } catch {
            throw CryptokiError(error, invalid: invalid, length: length)
        }
    }
}
