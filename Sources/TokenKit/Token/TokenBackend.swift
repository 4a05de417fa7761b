public import CryptokiNames
public import Platform
public import SecureBytes
public import SystemCrypto

/// A place for a token, with the token's operations.
///
/// Operations that belong together are one call, in which no other program has the token: a card in a reader (``TokenSlot``)
/// begins a transaction, selects its application, acts and ends the transaction. A call that names an insertion fails with
/// ``TokenError`` `.card(.removed)` once its token is out, and where it is about listed objects also once their list is out of date. An
/// operation that names its public key is about that key, whenever it was listed. The other calls read from the present token, and are repeated after
/// interference by another program.
public protocol TokenBackend: AnyObject, Sendable {
    /// The reader's name, or the name of the slot of a module.
    var name: String { get }

    /// The name of the slot in PKCS #11, as its own module or this package's module shows it.
    var cryptokiName: CryptokiSlotName { get }

    /// The token's presence, and a count that shows an exchange. Does not wait, and sends nothing.
    var occupancy: ReaderOccupancy { get }

    /// Whether another program held the token at the last look. Does not wait, and sends nothing.
    var isHeldElsewhere: Bool { get }

    /// Whether a program uses the token at the moment, this one or another, and may do so for long. Does not wait, and
    /// sends nothing.
    var isInUse: Bool { get }

    /// Whether the token that was there at `insertion` still is. Nothing is sent.
    func holds(_ insertion: TokenInsertion) -> Bool

    /// Cancels waits for other programs permanently, after which no token is connected to.
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

    /// Checks whether a value may be a PIN or unblocking key of the token that was there at `insertion`.
    ///
    /// - Throws: ``TokenError`` `.pinFormat` for a value that the token would refuse.
    func checkFormat(of pin: borrowing PIN, as kind: PINKind, at insertion: TokenInsertion) throws(TokenError)

    /// Whether the PIN of the token that was there at `insertion` can be typed on the reader's own keys.
    func takesTypedPIN(at insertion: TokenInsertion) -> Bool

    /// Tells the driver which token was there at `insertion`, where another reading of that token has shown it. The driver then
    /// uses the facts that it remembers of the token. Nothing is sent.
    func identify(as identity: TokenIdentity, at insertion: TokenInsertion)

    // MARK: Reading

    /// Connects to the inserted token.
    ///
    /// - Parameters:
    ///   - identifying: whether its identity is read, which may cost a command.
    ///   - arrival: the time since which the caller waits, its own queues included.
    func connect(identifying: Bool, since arrival: ContinuousClock.Instant) throws(TokenError) -> TokenArrival

    func identity() throws(TokenError) -> TokenIdentity

    /// The identity, and in the same transaction the state of the PIN.
    ///
    /// - Parameter wantsStatus: decides by the identity whether the state is read. A failure to read it is not an error.
    func identity(
        at insertion: TokenInsertion, withPINStatus wantsStatus: (TokenIdentity) -> Bool
    ) throws(TokenError) -> (identity: TokenIdentity, status: PINStatus?)

    func keyLimits(at insertion: TokenInsertion) throws(TokenError) -> TokenKeyLimits

    /// The selected objects, and the data objects that the token is known to have. A key whose uses depend on its certificate
    /// comes with the certificate.
    func inventory(
        _ selection: TokenSelection, at insertion: TokenInsertion
    ) throws(TokenError) -> (inventory: TokenInventory, knownData: Set<TokenObjectID>)

    /// The selected objects, without the identity of the token, which may cost a command.
    func inventory(_ selection: TokenSelection) throws(TokenError) -> TokenContents

    /// The identity, and the objects that `select` chooses by it; nil where it chooses none.
    func contents(_ select: (TokenIdentity) -> TokenSelection?) throws(TokenError) -> TokenContents?

    /// The key that binds a keychain by default.
    func bindingKey() throws(TokenError) -> TokenObjectID?

    /// Further facts about the token, in reading order.
    func facts() throws(TokenError) -> [TokenFact]

    /// The content of a data object; nil for an absent one.
    ///
    /// - Throws: ``TokenError`` `.pinRequired` for an object that needs the PIN first.
    func content(of data: TokenObjectID) throws(TokenError) -> [UInt8]?

    func content(of data: TokenObjectID, at insertion: TokenInsertion) throws(TokenError) -> [UInt8]?

    /// Looks for data objects, with one command each. Objects that need the PIN first are not in the result.
    func look(
        for data: [TokenObjectID], at insertion: TokenInsertion
    ) throws(TokenError) -> [TokenObjectID: TokenDataFinding]

    /// The state of a PIN or unblocking key, without spending a try.
    func status(of kind: PINKind) throws(TokenError) -> PINStatus

    /// Whether the PIN was presented here, and no later event has taken that back, or a kept one counts.
    func isPINPresented() throws(TokenError) -> Bool

    // MARK: PIN

    /// The state of a PIN or unblocking key, without spending a try.
    ///
    /// - Parameter isBeforePIN: whether a person is asked for the PIN next, so that the token is first checked as the user's
    ///   settings demand.
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

    /// Makes the token forget the PIN. A kept PIN is forgotten, with the logins of all clients.
    func logOut() throws(TokenError)

    /// Ends the logins of all clients, and has the token that was there at `insertion` forget the PIN.
    ///
    /// - Throws: ``TokenError`` `.card(.inUse)` where another program holds the token: the logout is performed later. The refusal of
    ///   a token that cannot forget the PIN: the login has ended all the same.
    func logOut(at insertion: TokenInsertion) throws(TokenError)

    /// Resets the token, so that it forgets the PIN, whichever program presented it.
    func reset() throws(TokenError)

    // MARK: Login

    /// Keeps a PIN that the token at `insertion` has just accepted (``PINSession/beginLogin(with:)``), unless the token is out. During a
    /// login, the PIN takes the place of the former one.
    func beginLogin(with pin: borrowing PIN, at insertion: TokenInsertion)

    /// Whether a PIN that one client gave is kept, and counts for all clients of the host.
    var keepsPIN: Bool { get }

    /// The turn to ask for a PIN that counts for all clients; nil where each client's counts for it alone.
    var questionTurn: QuestionTurn? { get }

    /// Whether the PIN that one client gave would be a login's of another. Does not wait: false while the token is in use.
    var hasKeptPIN: Bool { get }

    /// Begins the login of this client with the PIN that another client gave, without a command. A key that needs the PIN before each
    /// use needs it anew.
    ///
    /// - Returns: false where there is none that counts.
    func beginLoginWithKeptPIN(at insertion: TokenInsertion) -> Bool

    /// Notes that a person typed the PIN on the reader again, for one use of a key.
    func refreshLogin()

    func endLogin()

    /// The state of the login; nil while the token is in use. Does not wait, and sends nothing.
    var loginState: PINSession.LoginState? { get }

    /// The PIN of the login; nil where there is none, and for one that was typed on the reader.
    func loginPIN() -> PIN?

    /// The PIN of the login, for a use of a key that needs it.
    ///
    /// - Throws: ``TokenError`` `.pinRequired` where a new login is needed.
    func loginPIN(for key: TokenObjectID, at insertion: TokenInsertion) throws(TokenError) -> PIN

    // MARK: Keys

    /// Makes the token prove, without a PIN, that it holds a key.
    ///
    /// - Throws: ``TokenError`` `.notProven` where it fails to.
    func prove(_ key: ProofKey, at insertion: TokenInsertion) throws(TokenError)

    /// The key that tells the token from its clones; nil for a token without one. It cannot be challenged where the token did not
    /// prove to hold it.
    func provenKey(at insertion: TokenInsertion) throws(TokenError) -> ProofKey?

    /// Performs the operation without a PIN.
    ///
    /// - Parameter notice: called once this call has the token. Its result is called when the operation is over.
    /// - Throws: ``TokenError`` `.pinRequired` where the key wants the PIN.
    func perform(
        _ operation: TokenOperation, at insertion: TokenInsertion, notice: OperationNotice?
    ) throws(TokenError) -> Secret

    /// Presents the PIN and performs the operation right after it.
    func perform(
        _ operation: TokenOperation, presenting pin: borrowing PIN, lastTry: LastTry, at insertion: TokenInsertion,
        notice: OperationNotice?
    ) throws(TokenError) -> Secret

    // MARK: Administration

    func managementKey(at insertion: TokenInsertion) throws(TokenError) -> ManagementKeyStatus

    /// Changes the token's content (``Token/perform(_:by:_:)``). The token counts as put in anew afterwards: what was listed before
    /// has to be listed again.
    func perform(
        _ change: TokenChange, by administrator: borrowing TokenAdministrator, at insertion: TokenInsertion
    ) throws(TokenError) -> TokenChangeOutcome

    /// Deletes all content (``Token/erase(_:)``). The token counts as put in anew afterwards.
    func erase(at insertion: TokenInsertion) throws(TokenError)

    func attestation(of key: TokenObjectID, at insertion: TokenInsertion) throws(TokenError) -> [[UInt8]]

    /// Releases the token.
    ///
    /// - Parameter resetting: whether the token is reset, so that it forgets a presented PIN.
    func disconnect(resetting: Bool)
}

/// Tells a person that a token may wait for a touch.
public typealias OperationNotice = @Sendable () -> @Sendable () -> Void

extension TokenBackend {
    public var keepsPIN: Bool { false }
    public var questionTurn: QuestionTurn? { nil }
    public var hasKeptPIN: Bool { false }
    public func beginLoginWithKeptPIN(at insertion: TokenInsertion) -> Bool { false }

    private var unmanaged: TokenError {
        TokenError(.unsupported, "the token in '\(name)' is administered with its own tool")
    }

    public func managementKey(at insertion: TokenInsertion) throws(TokenError) -> ManagementKeyStatus {
        throw unmanaged
    }

    public func perform(
        _ change: TokenChange, by administrator: borrowing TokenAdministrator, at insertion: TokenInsertion
    ) throws(TokenError) -> TokenChangeOutcome { throw unmanaged }

    public func erase(at insertion: TokenInsertion) throws(TokenError) { throw unmanaged }

    public func attestation(of key: TokenObjectID, at insertion: TokenInsertion) throws(TokenError) -> [[UInt8]] {
        throw unmanaged
    }

    /// Whether a token is present. Does not wait, and sends nothing.
    public var hasCard: Bool { occupancy.hasCard }

    /// The insertion of the present token.
    public func insertion() throws(TokenError) -> TokenInsertion {
        try connect(identifying: false, since: .now).insertion
    }
}

/// Tells one insertion of a token in its place from the next.
public struct TokenInsertion: Hashable, Sendable {
    package let number: Int

    /// The time since which the caller waits, its own queues included; nil for a caller who has not waited.
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

/// A connected token.
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

/// Facts that are known from other answers of the token, or from its kind. No command is sent for them.
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

/// The objects that were read from a token.
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
