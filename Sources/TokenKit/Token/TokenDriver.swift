public import Localization
public import SecureBytes
public import SystemCrypto

/// The driver of one kind of card.
public protocol TokenDriver: Sendable {
    /// The first part of the ``TokenID`` of the driver's tokens.
    var name: String { get }

    /// Finds out whether the card is of this driver's kind.
    ///
    /// - Returns: nil for any other card. The next driver is asked then.
    func recognize(_ card: inout CardTransaction, atr: ATR) throws(TokenError) -> (any Token)?

    /// The tokens with remembered facts. No reader is used.
    func knownTokens() -> [KnownToken]

    /// The names of the keys that the driver's tokens may have. Where these are the same on every token, as PIV slots are, a name
    /// alone means the key of the present token.
    var keyNames: [TokenObjectID] { get }

    /// The data objects that the driver's tokens may have, in the order of their specification.
    var dataObjects: [TokenDataObject] { get }

    /// The data object of a name, or of an address that the specification of the tokens has for objects without one; or nil.
    func dataObject(named name: TokenObjectID) -> TokenDataObject?

    /// The data object with the certificate of a key; nil where the driver's tokens have none.
    func dataObject(of key: TokenObjectID) -> TokenDataObject?

    /// The facts in the content of a data object, in reading order; empty where the driver does not parse it.
    ///
    /// - Throws: ``TokenError`` `.malformed`.
    func facts(of data: TokenObjectID, content: [UInt8]) throws(TokenError) -> [TokenFact]

    /// Verifies the statement of a token that it has made a key, as ``Token/attestation(of:_:)`` gives it. No token is used.
    ///
    /// - Parameters:
    ///   - statement: the certificate of the key, and that of the token's attestation key unless it is among the roots.
    ///   - roots: the certificates of makers that are trusted.
    ///   - time: the time at which the certificates must be valid, in seconds since 1970.
    /// - Returns: nil where no token of this driver's kind makes such statements.
    /// - Throws: ``TokenError`` `.notProven` for a statement that leads to none of the roots.
    func verify(
        _ statement: [Certificate], roots: [Certificate], at time: Int64
    ) throws(TokenError) -> TokenAttestation?
}

extension TokenDriver {
    public func knownTokens() -> [KnownToken] { [] }
    public var keyNames: [TokenObjectID] { [] }
    public var dataObjects: [TokenDataObject] { [] }

    public func dataObject(named name: TokenObjectID) -> TokenDataObject? { dataObjects.first { $0.id == name } }

    public func dataObject(of key: TokenObjectID) -> TokenDataObject? { nil }
    public func facts(of data: TokenObjectID, content: [UInt8]) throws(TokenError) -> [TokenFact] { [] }
    public func verify(
        _ statement: [Certificate], roots: [Certificate], at time: Int64
    ) throws(TokenError) -> TokenAttestation? { nil }
}

/// One card while it stays inserted: the facts learned of it, and its operations.
///
/// A token is a value without a connection. Each call gives it the card, from which it reads what the call needs, and remembers
/// that. Where ``CardTransaction/epoch`` has changed, it first selects its application again.
public protocol Token: Sendable {
    /// The state of the PIN, which ``TokenSlot`` lends for each call. The token asks it before sending a value
    /// (``PINSession/requireTry(_:as:_:rejectedElsewhere:)``), and tells it of each value and answer.
    var pins: PINSession { get set }

    /// ``TokenIdentity/label``, once it has been read. Prompts show it without a command.
    var knownLabel: String? { get }

    /// ``TokenIdentity/version``, once it has been read. No command is sent for it.
    var knownVersion: String? { get }

    /// The rules for the token's PIN. Nothing is sent for them.
    var pinRules: PINRules { get }

    /// The part of the token to read for objects with a ``TokenObject/cryptokiID``; nil where no object can have it. Sends nothing.
    func selection(ofCryptokiID id: [UInt8]) -> TokenSelection?

    /// The key that binds a keychain by default: it decrypts or agrees on secrets, and needs the PIN. Nil for a kind of token
    /// without such a key.
    var bindingKey: TokenObjectID? { get }

    /// The keys that the token may have, where that is known without a command.
    var knownKeyLimits: TokenKeyLimits? { get }

    /// The keys that the token may have.
    mutating func keyLimits(_ card: inout CardTransaction) throws(TokenError) -> TokenKeyLimits

    /// Identifies the token.
    mutating func identity(_ card: inout CardTransaction) throws(TokenError) -> TokenIdentity

    /// Takes the identity from another reading of the token. Nothing is sent.
    mutating func identify(as identity: TokenIdentity)

    /// The selected objects. Objects that were read are not read again.
    mutating func inventory(
        _ selection: TokenSelection, _ card: inout CardTransaction
    ) throws(TokenError) -> TokenInventory

    /// The token's further facts for people, in reading order.
    mutating func facts(_ card: inout CardTransaction) throws(TokenError) -> [TokenFact]

    /// The data objects that a token of its kind may have. Nothing is sent.
    var possibleData: [TokenDataObject] { get }

    /// The data objects that this token is known to have and gives without the PIN. Nothing is sent.
    var knownData: Set<TokenObjectID> { get }

    /// Looks for a data object with one command, whatever its size.
    ///
    /// - Throws: ``TokenError`` `.pinRequired` for one that wants the PIN first.
    mutating func look(
        for data: TokenObjectID, _ card: inout CardTransaction
    ) throws(TokenError) -> TokenDataFinding

    /// Reads a data object; nil for an absent one.
    ///
    /// - Throws: ``TokenError`` `.pinRequired` for one that wants the PIN first.
    mutating func content(of data: TokenObjectID, _ card: inout CardTransaction) throws(TokenError) -> [UInt8]?

    /// The state of a PIN. Costs no try.
    mutating func status(of pin: PINKind, _ card: inout CardTransaction) throws(TokenError) -> PINStatus

    /// Checks whether a value may be a PIN or unblocking key of the token. Sends nothing.
    ///
    /// - Throws: ``TokenError`` `.pinFormat` for a length or characters that the token would refuse.
    func checkFormat(of pin: borrowing PIN, as kind: PINKind) throws(TokenError)

    /// Presents the PIN.
    ///
    /// - Throws: ``TokenError`` `.pinFormat`, `.pinKnownIncorrect` or `.pinLastTry` before anything is sent; `.pinIncorrect` with
    ///   the tries left, or `.pinBlocked`, when the card refuses. For ``PIN/typed``: `.card(.cancelled)` where the PIN is not
    ///   typed, `.pinPadFailed`.
    mutating func verify(
        _ pin: borrowing PIN, lastTry: LastTry, _ card: inout CardTransaction
    ) throws(TokenError)

    /// Sets a new PIN or unblocking key in place of the old one.
    mutating func change(
        _ kind: PINKind, from old: borrowing PIN, to new: borrowing PIN, lastTry: LastTry,
        _ card: inout CardTransaction
    ) throws(TokenError)

    /// Sets a new PIN by the unblocking key.
    mutating func unblock(
        with unblockingKey: borrowing PIN, newPIN: borrowing PIN, lastTry: LastTry, _ card: inout CardTransaction
    ) throws(TokenError)

    /// The key that tells the token from its clones; nil for a token without one.
    mutating func proofKey(_ card: inout CardTransaction) throws(TokenError) -> ProofKey?

    /// Makes the token prove, without a PIN, that it holds a key.
    ///
    /// - Throws: ``TokenError`` `.notProven` where it fails to.
    mutating func prove(_ key: ProofKey, _ card: inout CardTransaction) throws(TokenError)

    /// Checks the token as the user's settings demand, before any PIN is asked for or sent.
    ///
    /// - Throws: ``TokenError`` `.notProven` for a token that must not get a PIN.
    mutating func checkBeforePIN(_ card: inout CardTransaction) throws(TokenError)

    /// Makes the card forget that a PIN was presented.
    mutating func logOut(_ card: inout CardTransaction) throws(TokenError)

    /// Performs the operation without a PIN.
    ///
    /// - Throws: ``TokenError`` `.pinRequired` where the card wants one; `.invalidArgument` or `.unsupported` for an operation
    ///   that the key cannot do, before anything is sent.
    mutating func perform(_ operation: TokenOperation, _ card: inout CardTransaction) throws(TokenError) -> Secret

    /// Presents the PIN and performs the operation right after it.
    mutating func perform(
        _ operation: TokenOperation, presenting pin: borrowing PIN, lastTry: LastTry, _ card: inout CardTransaction
    ) throws(TokenError) -> Secret

    // MARK: Administration

    mutating func managementKey(_ card: inout CardTransaction) throws(TokenError) -> ManagementKeyStatus

    /// Changes the token's content. Its facts that are no longer true are forgotten, also where the change fails half-way.
    ///
    /// - Throws: ``TokenError`` `.notAuthorized` for a wrong management key; `.invalidArgument` for a place that holds what may not be
    ///   replaced, before anything is changed; `.unsupported`, `.storage`, and what ``verify(_:lastTry:_:)`` throws.
    mutating func perform(
        _ change: TokenChange, by administrator: borrowing TokenAdministrator, _ card: inout CardTransaction
    ) throws(TokenError) -> TokenChangeOutcome

    /// Deletes all keys, certificates and data, and sets PIN, unblocking key and management key to those that the token was delivered
    /// with. Spends all tries of PIN and unblocking key first where the token wants that.
    mutating func erase(_ card: inout CardTransaction) throws(TokenError)

    /// The token's statement that it has made a key, and how the key is used: a certificate in DER, and that of the key which signed it.
    mutating func attestation(
        of key: TokenObjectID, _ card: inout CardTransaction
    ) throws(TokenError) -> [[UInt8]]
}

extension Token {
    public var knownLabel: String? { nil }
    public var knownVersion: String? { nil }
    public var pinRules: PINRules { PINRules() }
    public func selection(ofCryptokiID id: [UInt8]) -> TokenSelection? { .all }
    public var bindingKey: TokenObjectID? { nil }
    public mutating func identify(as identity: TokenIdentity) {}
    public func checkFormat(of pin: borrowing PIN, as kind: PINKind) throws(TokenError) {}
    public mutating func proofKey(_ card: inout CardTransaction) throws(TokenError) -> ProofKey? { nil }
    public mutating func prove(_ key: ProofKey, _ card: inout CardTransaction) throws(TokenError) {
        throw TokenError(.notProven, "tokens of this kind do not show which keys they hold")
    }
    public mutating func checkBeforePIN(_ card: inout CardTransaction) throws(TokenError) {}
}

/// The rules for the PIN of a token, whatever its value.
public struct PINRules: Hashable, Sendable {
    /// Whether the PIN is changed and unblocked here, instead of by the token's own tool.
    public var isManagedHere: Bool

    /// Whether the PIN can only be typed on the token's own keys.
    public var isTypedOnToken: Bool

    /// Whether the token has a PIN at all, which its private keys want.
    public var isWanted: Bool

    /// The form of an entry on a reader's keys; nil where that is not possible.
    public var entry: PINEntry?

    /// The lengths of the PIN and of the unblocking key, in bytes.
    public var lengths: ClosedRange<Int>

    /// Whether the PIN has only digits. An unblocking key may have other characters.
    public var onlyDigits: Bool

    public init(
        lengths: ClosedRange<Int> = 0...255, onlyDigits: Bool = false, isManagedHere: Bool = true,
        isTypedOnToken: Bool = false, isWanted: Bool = true, entry: PINEntry? = nil
    ) {
        self.lengths = lengths
        self.onlyDigits = onlyDigits
        self.isManagedHere = isManagedHere
        self.isTypedOnToken = isTypedOnToken
        self.isWanted = isWanted
        self.entry = entry
    }
}

/// The secrets of a token.
public enum PINKind: String, Hashable, Sendable {
    /// The PIN, which protects the use of keys.
    case pin
    /// The key that unblocks the PIN.
    case unblockingKey

    /// The name that people use.
    public var name: String { self == .pin ? "PIN" : "PUK" }

    /// The advice for a blocked unblocking key.
    public static let adviceToReset: LocalizedText =
        "reset the card, which deletes its keys and certificates: 'tokenctl card reset', where the card can do that"

    /// The remaining tries, in the words that an error's text adds to "wrong PIN".
    public static func remark(triesLeft: Int?) -> LocalizedText {
        switch triesLeft {
        case 0?: ": no try is left"
        case 1?: ": one try is left"
        case let count?: ": \(count) tries are left"
        case nil: ""
        }
    }
}

/// The state of a PIN.
public struct PINStatus: Hashable, Sendable {
    /// Tries left; nil where the card does not tell.
    public let triesLeft: Int?

    /// Whether the card does not tell its tries, and ``triesLeft`` is the number after the last refused value.
    public var areTriesBelieved = false

    /// Tries after a right PIN; nil where the card does not tell.
    public let maximumTries: Int?

    /// Whether the card counts the PIN as presented, at this moment.
    public let isVerified: Bool

    /// Whether the PIN is still the factory's; nil where the card does not tell.
    public let isDefault: Bool?

    public init(triesLeft: Int?, maximumTries: Int? = nil, isVerified: Bool = false, isDefault: Bool? = nil) {
        self.triesLeft = triesLeft
        self.maximumTries = maximumTries
        self.isVerified = isVerified
        self.isDefault = isDefault
    }

    public var isBlocked: Bool { triesLeft == 0 }
}

/// Whether the last try of a PIN may be spent.
public enum LastTry: Hashable, Sendable {
    /// The default, so that a typing error does not block a card.
    case keep
    /// A person has agreed to it.
    case spend
}
