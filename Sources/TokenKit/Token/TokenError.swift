@_exported public import Localization
public import SecureBytes

/// The reason that a token could not do an operation.
public struct TokenError: Error, Hashable, Sendable, CustomStringConvertible {
    public enum Code: Hashable, Sendable {
        /// The card could not be reached, or its answer could not be used.
        case card(CardError.Code)
        /// No driver knows the card.
        case unrecognized
        /// The object, key or function is not on this token.
        case notFound
        /// The token lacks the algorithm or the function.
        case unsupported
        /// An argument does not fit this key. Nothing was sent.
        case invalidArgument
        /// The ciphertext was not made for this key, or with another padding.
        case decryptionFailed
        /// The card's answer does not follow its specification.
        case malformed
        /// The operation needs a PIN first.
        case pinRequired
        /// Another client gave the PIN, and a person has to allow the operation first. Nothing was sent.
        case permissionRequired
        /// The PIN has a length or characters that the card would refuse. Nothing was sent.
        case pinFormat
        /// The card refused the PIN.
        case pinIncorrect
        /// The card refused this very PIN before, and it was not sent again.
        case pinKnownIncorrect
        /// One try is left, and no person agreed to spend it.
        case pinLastTry
        /// No try is left.
        case pinBlocked
        /// The reader's own keys failed; the PIN may be presented in another way.
        case pinPadFailed
        /// A touch, or another condition that the card sets, did not come.
        case conditionsNotSatisfied
        /// The token does not hold the key by which it is known: it is another token, or a copy.
        case notProven
        /// The management key is needed, or was refused.
        case notAuthorized
        /// The card's memory is full or failed.
        case storage
        /// The content is larger than the token takes.
        case tooLarge
    }

    public let code: Code

    package let reasonText: LocalizedText

    /// The reason and the remedy in the current language; never a PIN, key or decrypted data.
    public var reason: String { String(localized: reasonText) }

    /// The number of tries that the PIN has left; nil where the card did not tell.
    public let triesLeft: Int?

    /// The card's status word; nil for an error without one.
    public let status: StatusWord?

    public init(_ code: Code, _ reason: LocalizedText, triesLeft: Int? = nil, status: StatusWord? = nil) {
        self.code = code
        reasonText = reason
        self.triesLeft = triesLeft
        self.status = status
    }

    /// The error text for a reader whose keys fail.
    package static let pinPadFailure: LocalizedText =
        "the reader's keypad failed (with TOKENKIT_PINPAD=no it is not used)"

    /// The error of a card that could not be reached or used.
    public init(_ error: CardError) {
        self.init(.card(error.code), error.reasonText)
    }

    public static func == (left: TokenError, right: TokenError) -> Bool { left.code == right.code }

    public func hash(into hasher: inout Hasher) { hasher.combine(code) }

    public var description: String {
        status.map { "\(reason) (\($0))" } ?? reason
    }
}

extension CardTransaction {
    /// ``send(_:limit:)`` for code that throws ``TokenError``.
    public mutating func exchange(
        _ command: CommandAPDU, limit: Int = CommandAPDU.anyLength
    ) throws(TokenError) -> ResponseAPDU {
        do { return try send(command, limit: limit) } catch { throw TokenError(error) }
    }

    /// ``sendForFirstPart(_:)`` for code that throws ``TokenError``.
    public mutating func exchangeForFirstPart(_ command: CommandAPDU) throws(TokenError) -> ResponseAPDU {
        do { return try sendForFirstPart(command) } catch { throw TokenError(error) }
    }

    /// ``send(_:secret:)`` for code that throws ``TokenError``.
    public mutating func exchange(_ header: CommandAPDU, secret: borrowing Secret) throws(TokenError) -> ResponseAPDU {
        do { return try send(header, secret: secret) } catch { throw TokenError(error) }
    }

    /// ``send(_:entering:)`` for code that throws ``TokenError``.
    ///
    /// - Throws: ``TokenError`` `.pinPadFailed` where the reader fails, since it may still pass on other commands.
    public mutating func exchange(_ header: CommandAPDU, entering entry: PINEntry) throws(TokenError) -> ResponseAPDU {
        do {
            return try send(header, entering: entry)
        } catch  where error.code == .communication || error.code == .malformed {
            throw TokenError(.pinPadFailed, "\(TokenError.pinPadFailure): \(error)")
        } catch {
            throw TokenError(error)
        }
    }
}
