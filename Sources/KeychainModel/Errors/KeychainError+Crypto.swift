internal import Localization
public import SystemCrypto

extension KeychainError {
    /// The keychain error of a failure of the cryptographic library.
    public init(_ error: CryptoError) {
        let code: ErrSec =
            switch error.code {
            case .malformed, .invalidKey, .authenticationFailed, .decryptionFailed: .decode
            case .unsupported: .invalidAlgorithm
            case .invalidLength: .param
            case .passwordRequired: .passphraseRequired
            case .wrongPassword: .authFailed
            case .library: .internalError
            }
        self.init(code, "\(error)")
    }

    /// Runs calls of the cryptographic library and converts their errors.
    package static func mapping<Result: ~Copyable>(
        _ body: () throws(CryptoError) -> Result
    ) throws(KeychainError) -> Result {
        do {
            return try body()
        } catch {
            throw KeychainError(error)
        }
    }
}

extension KeychainError {
    package static func differentCurves(_ kind: KeyKind, _ other: KeyKind) -> KeychainError {
        KeychainError(
            .param, "the keys are on different curves: \(kind) and \(other)", key: "publicKey")
    }
}
