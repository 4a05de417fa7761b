internal import Localization

/// The reason that a cryptographic operation gave no result.
///
/// Two errors are equal when their codes are. No error holds a key, a password or plaintext.
public struct CryptoError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The kind of failure.
    public enum Code: Sendable, Hashable, CaseIterable {
        /// The input breaks its format: DER, PEM, a point off its curve, a nonsensical length.
        case malformed
        /// The algorithm, curve or key type is not offered, or does not suit the key.
        case unsupported
        /// An input has a length the algorithm does not take.
        case invalidLength
        /// The parts of a key do not belong together.
        case invalidKey
        /// The data is encrypted and no password was given.
        case passwordRequired
        /// The password does not open the data.
        case wrongPassword
        /// An authentication tag does not match: wrong key, or the data was changed.
        case authenticationFailed
        /// A ciphertext does not decrypt; deliberately without a reason.
        case decryptionFailed
        /// OpenSSL refused for another reason.
        case library
    }

    public let code: Code
    /// The operation that failed, for example `AES-256-GCM open`.
    public let operation: String
    /// OpenSSL's own error text; nil where it has none.
    public let reason: String?

    public init(_ code: Code, _ operation: String, reason: String? = nil) {
        self.code = code
        self.operation = operation
        self.reason = reason
    }

    /// The sentence in the reader's language. The names of operations are those of standards and of OpenSSL.
    public var description: String {
        let words = String(localized: code.words)
        return reason.map { "\(operation): \(words) (\($0))" } ?? "\(operation): \(words)"
    }

    public static func == (left: CryptoError, right: CryptoError) -> Bool {
        left.code == right.code
    }
}

extension CryptoError.Code {
    fileprivate var words: LocalizedText {
        switch self {
        case .malformed: "it is malformed"
        case .unsupported: "it is not supported"
        case .invalidLength: "its length does not fit"
        case .invalidKey: "it is not valid"
        case .passwordRequired: "a password is needed"
        case .wrongPassword: "the password is wrong"
        case .authenticationFailed: "the data was changed, or belongs to another key"
        case .decryptionFailed: "the input is not encrypted for this key with this padding"
        case .library: "OpenSSL refused it"
        }
    }
}
