public import SecureBytes

/// A place for a token, for whoever uses the token: values in, values out.
///
/// Operations that belong together are one call, in which nobody else has the token: a card in a reader (``TokenSlot``) begins a transaction,
/// selects its application, acts and ends the transaction. A call that names an insertion fails with ``TokenError``
/// `.card(.removed)` once its token is out. The others read, from the token that is there by now, and are repeated where another
/// program got in between.
public protocol TokenBackend: AnyObject, Sendable {
    /// The reader's name, or the name of the slot of a module.
    var name: String { get }

    /// The name of the slot in PKCS #11: that of the module that it belongs to, or that of this package's own.
    var cryptokiName: CryptokiSlotName { get }

    /// Whether a token is there, and what tells that another took its place. It waits for nobody, and nothing is sent.
    var occupancy: ReaderOccupancy { get }

    /// Whether another program held the token at the last look. It waits for nobody, and nothing is sent.
    var isHeldElsewhere: Bool { get }

    /// Whether somebody is told when the last try of a PIN was lost here.
    var tellsOfBlockedPINs: Bool { get }

    // MARK: Known without a command

    /// ``TokenIdentity/label`` of the token that was there at `insertion`, as far as it is known.
    func knownLabel(at insertion: TokenInsertion) -> String?

    /// The rules for the PIN of the token that was there at `insertion`.
    func pinRules(at insertion: TokenInsertion) -> PINRules

    /// Looks whether a value may be a PIN or unblocking key of the token that was there at `insertion`.
    ///
    /// - Throws: ``TokenError`` `.pinFormat` for one that the token would refuse.
    func checkFormat(of pin: borrowing PIN, as kind: PINKind, at insertion: TokenInsertion) throws(TokenError)

    /// Whether the PIN of the token that was there at `insertion` can be typed on the reader's own keys.
    func takesTypedPIN(at insertion: TokenInsertion, since arrival: ContinuousClock.Instant) -> Bool

    // MARK: Reading

    /// The insertion of the token that is there.
    func insertion() throws(TokenError) -> TokenInsertion

    func identity() throws(TokenError) -> TokenIdentity

    /// The selected objects, without the identity of the token, which may cost a command.
    func inventory(_ selection: TokenSelection) throws(TokenError) -> TokenContents

    /// The identity, and the objects that are selected by it; nil for none.
    func contents(_ select: (TokenIdentity) -> TokenSelection?) throws(TokenError) -> TokenContents?

    /// The part of the token to read for objects with a `CKA_ID`; nil where no object can have it.
    func selection(ofCryptokiID id: [UInt8]) throws(TokenError) -> TokenSelection?

    /// The key to which a keychain is bound where nobody names another.
    func bindingKey() throws(TokenError) -> TokenObjectID?

    /// Further facts that the token tells of itself, in reading order.
    func facts() throws(TokenError) -> [TokenFact]

    /// The content of a data object; nil where there is none.
    ///
    /// - Throws: ``TokenError`` `.pinRequired` for one that wants the PIN first.
    func content(of data: TokenObjectID) throws(TokenError) -> [UInt8]?

    /// The state of a PIN or unblocking key, without spending a try.
    func status(of kind: PINKind) throws(TokenError) -> PINStatus

    /// Whether the PIN was presented here, and nothing is known to have taken that back.
    func isPINPresented() throws(TokenError) -> Bool

    // MARK: PIN

    /// The state of a PIN or unblocking key, without spending a try.
    ///
    /// - Parameter isBeforePIN: whether a person is asked for the PIN next, so that the token first has to show what the user wants
    ///   shown before.
    func status(
        of kind: PINKind, at insertion: TokenInsertion, isBeforePIN: Bool
    ) throws(TokenError) -> PINStatus

    /// Presents the PIN (``Token/verify(_:lastTry:_:)``).
    func verify(_ pin: borrowing PIN, lastTry: LastTry, at insertion: TokenInsertion) throws(TokenError)

    /// Sets a new PIN or unblocking key in place of the old one.
    func change(
        _ kind: PINKind, from old: borrowing PIN, to new: borrowing PIN, lastTry: LastTry, at insertion: TokenInsertion
    ) throws(TokenError)

    /// Sets a new PIN by the unblocking key.
    func unblock(
        with unblockingKey: borrowing PIN, newPIN: borrowing PIN, lastTry: LastTry, at insertion: TokenInsertion
    ) throws(TokenError)

    /// Has the token forget the PIN.
    func logOut() throws(TokenError)

    /// Resets the token, so that it forgets the PIN, whichever program presented it.
    func reset() throws(TokenError)

    // MARK: Keys

    /// Has the token show, without a PIN, that it holds a key.
    ///
    /// - Throws: ``TokenError`` `.notProven` where it does not.
    func prove(_ key: ProofKey, at insertion: TokenInsertion) throws(TokenError)

    /// The key by which the token is to be known again, after the token has shown that it holds it; nil where there is none.
    func provenKey(at insertion: TokenInsertion) throws(TokenError) -> ProofKey?

    /// Performs the operation without a PIN.
    ///
    /// - Parameter notice: called when the token's turn has come; the result is called when the operation is over.
    /// - Throws: ``TokenError`` `.pinRequired` where the key wants the PIN.
    func perform(
        _ operation: TokenOperation, at insertion: TokenInsertion, notice: OperationNotice?
    ) throws(TokenError) -> Secret

    /// Presents the PIN and performs the operation right after it.
    func perform(
        _ operation: TokenOperation, presenting pin: borrowing PIN, lastTry: LastTry, at insertion: TokenInsertion,
        notice: OperationNotice?
    ) throws(TokenError) -> Secret

    /// Lets go of the token.
    ///
    /// - Parameter resetting: whether it is reset, so that it forgets a presented PIN.
    func disconnect(resetting: Bool)
}

/// Tells a person that a token may wait for a touch.
public typealias OperationNotice = @Sendable () -> @Sendable () -> Void

extension TokenBackend {
    /// Whether there is a token. It waits for nobody, and nothing is sent.
    public var hasCard: Bool { occupancy.hasCard }

    public func takesTypedPIN(at insertion: TokenInsertion) -> Bool { takesTypedPIN(at: insertion, since: .now) }

    /// Whether both are one place: a reader that two modules look into.
    package func isSamePlace(as other: any TokenBackend) -> Bool {
        let description = cryptokiName.description
        return self === other
            || name != other.name && !description.isEmpty && description == other.cryptokiName.description
    }
}

/// Tells one insertion of a token in its place from the next.
public struct TokenInsertion: Hashable, Sendable {
    package let number: Int

    package init(number: Int) {
        self.number = number
    }
}

/// The objects that were read of a token.
public struct TokenContents: Sendable {
    public let insertion: TokenInsertion

    /// Nil where it was not asked for.
    public let identity: TokenIdentity?
    public let inventory: TokenInventory

    package init(_ inventory: TokenInventory, of identity: TokenIdentity? = nil, at insertion: TokenInsertion) {
        self.insertion = insertion
        self.identity = identity
        self.inventory = inventory
    }
}
