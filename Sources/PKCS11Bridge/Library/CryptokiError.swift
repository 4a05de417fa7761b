internal import CryptokiNames
internal import KeychainModel
package import CCryptoki
internal import SystemCrypto

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
    init(_ error: KeychainError) {
        if let failure = error.failure {
            self.init(CryptokiError.code(for: failure), error.description)
            return
        }
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

    private static func code(for failure: TokenFailure) -> CK_RV {
        switch failure {
        case .noToken: CKR_TOKEN_NOT_PRESENT
        case .removed: CKR_DEVICE_REMOVED
        case .unrecognized: CKR_TOKEN_NOT_RECOGNIZED
        case .cancelled, .permissionRequired: CKR_FUNCTION_CANCELED
        case .noKey: CKR_KEY_HANDLE_INVALID
        case .notPermitted: CKR_KEY_FUNCTION_NOT_PERMITTED
        case .invalidInput: CKR_DATA_INVALID
        case .device: CKR_DEVICE_ERROR
        case .loginRequired: CKR_USER_NOT_LOGGED_IN
        case .alreadyLoggedIn: CKR_USER_ALREADY_LOGGED_IN
        case .pinFormat: CKR_PIN_LEN_RANGE
        case .pinCharacters: CKR_PIN_INVALID
        case .pinIncorrect: CKR_PIN_INCORRECT
        case .pinLocked: CKR_PIN_LOCKED
        case .nobodyToAsk: CKR_ARGUMENTS_BAD
        case .rejected: CKR_FUNCTION_REJECTED
        case .noMemory: CKR_DEVICE_MEMORY
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

    /// Runs `body`, which uses a private key of a session's token: an unfit input is bad data, not a bad attribute, and an absent key was
    /// deleted by another program.
    static func mappingUse<Result: ~Copyable>(
        _ body: () throws(KeychainError) -> Result
    ) throws(CryptokiError) -> Result {
        do throws(KeychainError) { return try body() } catch {
            switch error.code {
            case .param where error.failure == nil: throw CryptokiError(CKR_DATA_INVALID, error.description)
            case .itemNotFound where error.failure == nil:
                throw CryptokiError(CKR_KEY_HANDLE_INVALID, error.description)
            default: throw CryptokiError(error).inSession
            }
        }
    }

    /// Runs `body` for a session, whose token was there before.
    static func inSession<Result: ~Copyable>(
        _ body: () throws(KeychainError) -> Result
    ) throws(CryptokiError) -> Result {
        do throws(KeychainError) { return try body() } catch { throw CryptokiError(error).inSession }
    }

    /// Runs `body`, and converts its failure to a return value of the standard.
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
