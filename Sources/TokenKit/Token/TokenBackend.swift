public import SecureBytes

/// A token's place, with its operations as values in and out.
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

    /// The token's presence, and the count that tells when another took its place. Does not wait, and sends nothing.
    var occupancy: ReaderOccupancy { get }

    /// Whether another program held the token at the last look. Does not wait, and sends nothing.
    var isHeldElsewhere: Bool { get }

    /// Whether a program uses the token at the moment, this one or another, and may do so for long. Does not wait, and
    /// sends nothing.
    var isInUse: Bool { get }

    /// Whether the token that was there at `insertion` still is. Nothing is sent.
    func holds(_ insertion: TokenInsertion) -> Bool

    /// Cancels waits for other programs permanently; no token is connected to after it.
    func endWaits()

    /// Whether the loss of a PIN's last try here is reported to other programs.
    var tellsOfBlockedPINs: Bool { get }

    // MARK: Known without a command

    /// ``TokenIdentity/label`` of the token that was there at `insertion`, as far as it is known.
    func knownLabel(at insertion: TokenInsertion) -> String?

    /// Facts of the token that was there at `insertion`; nil while it is in use. Does not wait.
    func knownFacts(at insertion: TokenInsertion) -> KnownTokenFacts?

    /// The part of the token at `insertion` to read for objects with a `CKA_ID`; nil where no object can have it.
    func selection(ofCryptokiID id: [UInt8], at insertion: TokenInsertion) -> TokenSelection?

    /// The rules for the PIN of the token that was there at `insertion`.
    func pinRules(at insertion: TokenInsertion) -> PINRules

    /// Looks whether a value may be a PIN or unblocking key of the token that was there at `insertion`.
    ///
    /// - Throws: ``TokenError`` `.pinFormat` for one that the token would refuse.
    func checkFormat(of pin: borrowing PIN, as kind: PINKind, at insertion: TokenInsertion) throws(TokenError)

    /// Whether the PIN of the token that was there at `insertion` can be typed on the reader's own keys.
    func takesTypedPIN(at insertion: TokenInsertion) -> Bool

    // MARK: Reading

    /// Connects to the inserted token.
    ///
    /// - Parameters:
    ///   - identifying: whether its identity is read, which may cost a command.
    ///   - arrival: since when the caller waits, in queues of its own.
    func connect(identifying: Bool, since arrival: ContinuousClock.Instant) throws(TokenError) -> TokenArrival

    func identity() throws(TokenError) -> TokenIdentity

    /// The identity, and in the same transaction the state of the PIN.
    ///
    /// - Parameter wantsStatus: judges by the identity whether the state is read. What keeps it from being read is no error.
    func identity(
        at insertion: TokenInsertion, withPINStatus wantsStatus: (TokenIdentity) -> Bool
    ) throws(TokenError) -> (identity: TokenIdentity, status: PINStatus?)

    func keyLimits(at insertion: TokenInsertion) throws(TokenError) -> TokenKeyLimits

    /// The selected objects, each key whose use depends on its certificate with that; and the data objects that the
    /// token is known to have.
    func inventory(
        _ selection: TokenSelection, at insertion: TokenInsertion
    ) throws(TokenError) -> (inventory: TokenInventory, knownData: Set<TokenObjectID>)

    /// The selected objects, without the identity of the token, which may cost a command.
    func inventory(_ selection: TokenSelection) throws(TokenError) -> TokenContents

    /// The identity, and the objects that are selected by it; nil for none.
    func contents(_ select: (TokenIdentity) -> TokenSelection?) throws(TokenError) -> TokenContents?

    /// The key that binds a keychain by default.
    func bindingKey() throws(TokenError) -> TokenObjectID?

    /// Further facts that the token tells of itself, in reading order.
    func facts() throws(TokenError) -> [TokenFact]

    /// The content of a data object; nil for an absent one.
    ///
    /// - Throws: ``TokenError`` `.pinRequired` for one that wants the PIN first.
    func content(of data: TokenObjectID) throws(TokenError) -> [UInt8]?

    func content(of data: TokenObjectID, at insertion: TokenInsertion) throws(TokenError) -> [UInt8]?

    /// Looks whether there are data objects, at one command each. Those that want the PIN first are not in the result.
    func look(
        for data: [TokenObjectID], at insertion: TokenInsertion
    ) throws(TokenError) -> [TokenObjectID: TokenDataFinding]

    /// The state of a PIN or unblocking key, without spending a try.
    func status(of kind: PINKind) throws(TokenError) -> PINStatus

    /// Whether the PIN was presented here, and no later event has taken that back.
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

    /// Ends the login, and has the token that was there at `insertion` forget the PIN.
    ///
    /// - Throws: ``TokenError`` `.card(.inUse)` where another program holds the token: the logout is made up for.
    func logOut(at insertion: TokenInsertion) throws(TokenError)

    /// Resets the token, so that it forgets the PIN, whichever program presented it.
    func reset() throws(TokenError)

    // MARK: Login

    /// Keeps a PIN that the token at `insertion` has just taken (``PINSession/beginLogin(with:)``); not where that is out.
    func beginLogin(with pin: borrowing PIN, at insertion: TokenInsertion)

    /// A person typed the PIN on the reader again, for one use of a key.
    func refreshLogin()

    func endLogin()

    /// The state of the login; nil while the token is in use. Does not wait, and sends nothing.
    var loginState: PINSession.LoginState? { get }

    /// The PIN of the login; nil where there is none, and for one that was typed on the reader.
    var loginPIN: PIN? { get }

    /// The PIN of the login for a use of a key that wants it.
    ///
    /// - Throws: ``TokenError`` `.pinRequired` where another login is wanted.
    func loginPIN(for key: TokenObjectID, at insertion: TokenInsertion) throws(TokenError) -> PIN

    // MARK: Keys

    /// Has the token show, without a PIN, that it holds a key.
    ///
    /// - Throws: ``TokenError`` `.notProven` where it does not.
    func prove(_ key: ProofKey, at insertion: TokenInsertion) throws(TokenError)

    /// The key that tells the token from its clones, after the token has proved to hold it; nil for a token without
    /// one.
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
    /// Whether a token is present. Does not wait, and sends nothing.
    public var hasCard: Bool { occupancy.hasCard }

    /// The insertion of the present token.
    public func insertion() throws(TokenError) -> TokenInsertion {
        try connect(identifying: false, since: .now).insertion
    }

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

    /// The time since which its caller waits, in queues of its own; nil for a caller who has just come.
    private(set) var arrival: ContinuousClock.Instant?

    package init(number: Int) {
        self.number = number
    }

    /// The insertion, named by a caller who has waited since `arrival`.
    package func waiting(since arrival: ContinuousClock.Instant) -> TokenInsertion {
        var insertion = self
        insertion.arrival = arrival
        return insertion
    }

    public static func == (left: TokenInsertion, right: TokenInsertion) -> Bool { left.number == right.number }

    public func hash(into hasher: inout Hasher) { hasher.combine(number) }
}

/// A token that was connected to.
public struct TokenArrival: Sendable {
    public let insertion: TokenInsertion

    /// Nil where it was not asked for.
    public let identity: TokenIdentity?
    public let facts: KnownTokenFacts

    package init(_ insertion: TokenInsertion, _ identity: TokenIdentity?, _ facts: KnownTokenFacts) {
        self.insertion = insertion
        self.identity = identity
        self.facts = facts
    }
}

/// Facts that a token has told by the way, or that hold for its kind: no command is sent for them.
public struct KnownTokenFacts: Sendable {
    /// ``TokenIdentity/version``.
    public let version: String?
    public let keyLimits: TokenKeyLimits?
    public let pinRules: PINRules

    /// The data objects that a token of its kind may have.
    public let possibleData: [TokenDataObject]

    package init(
        version: String?, keyLimits: TokenKeyLimits? = nil, pinRules: PINRules, possibleData: [TokenDataObject] = []
    ) {
        self.version = version
        self.keyLimits = keyLimits
        self.pinRules = pinRules
        self.possibleData = possibleData
    }

    init(_ token: any Token) {
        self.init(
            version: token.knownVersion, keyLimits: token.knownKeyLimits, pinRules: token.pinRules,
            possibleData: token.possibleData)
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
