package import KeychainModel
package import SecureBytes

/// The face of a host in the same process: the requests, and calls that have no wire form.
package protocol InProcessHost: KeychainService {
    /// The host for requests whose client asks this person. All else is shared with this host.
    func asking(_ person: any Prompter) -> Self

    /// The bytes of a secret key in a file, for its use, even where they must not be revealed. This has no wire form: they leave no process.
    ///
    /// - Parameter use: the use that a person allows the client's program.
    func keyBytes(
        of key: PersistentReference, in place: String, for use: AccessQuestion.Use, _ context: RequestContext
    ) throws(KeychainError) -> Secret

    /// Whether a person has allowed another machine all signatures with a key.
    ///
    /// - Parameters:
    ///   - place: the key's ``TokenPlace/location``; nil for a key of a module's token.
    ///   - machine: its ``RemoteMachine/id``.
    /// - Throws: as ``allowAlwaysSigning(with:in:from:)``.
    func mayAlwaysSign(
        with key: PersistentReference, in place: String?, from machine: String
    ) throws(KeychainError) -> Bool

    /// Notes that a person has allowed another machine all signatures with a key: in the key's keychain, or for one of a card in the login
    /// keychain, without which the decision ends with the host's process.
    ///
    /// - Throws: `errSecInteractionNotAllowed` for a key of a locked keychain, `errSecParam` for one of a keychain without a password;
    ///   `errSecItemNotFound`.
    func allowAlwaysSigning(
        with key: PersistentReference, in place: String?, from machine: RemoteMachine
    ) throws(KeychainError)

    /// Logs in to the token of the host's modules that takes a PIN, with the one that comes along.
    ///
    /// - Throws: `errSecNoSuchKeychain` where no token takes a PIN; `errSecParam` where several do, and the PIN is tried on none;
    ///   `errSecAuthFailed`.
    func logInToModule(_ context: RequestContext) throws(KeychainError)

    /// Logs in to a card as its administrator, whom PKCS #11 calls the security officer. The login ends as a user's does, and goes on while
    /// the card's content is changed by it.
    ///
    /// - Parameter key: the management key in hexadecimal digits, or the PIN where the card keeps the key; nil where a person is to be asked.
    /// - Throws: `errSecAuthFailed` for a wrong one, `errSecParam` during a login, `errSecInvalidAlgorithm` for a token that is administered
    ///   with its own tool.
    func logInAsAdministrator(
        to place: String, _ key: SharedSecret?, _ context: RequestContext
    ) throws(KeychainError)

    /// The places for keys on the card that the client administers, in the order of the card's standard.
    ///
    /// - Throws: as ``change(_:in:_:)``.
    func keyPlaces(in place: String, _ context: RequestContext) throws(KeychainError) -> [AdministeredKeyPlace]

    /// Changes the content of the card that the client administers, as the administrator, or as a user who proves to be it: by the PIN that
    /// the client gave at its login where the card keeps its management key, else by a person's answer.
    ///
    /// - Throws: `errSecNotLoggedIn`; `errSecInteractionNotAllowed` where nobody can be asked; `errSecAuthFailed` for a wrong answer.
    func change(
        _ change: CardChange, in place: String, _ context: RequestContext
    ) throws(KeychainError) -> CardChangeOutcome

    /// Sets the management key of the card that the client administers.
    ///
    /// - Parameter old: the key with which the client has logged in. Both have hexadecimal digits.
    /// - Throws: `errSecNotLoggedIn`, `errSecAuthFailed` for another old key or a key of another length.
    func changeManagementKey(
        of place: String, from old: SharedSecret, to new: SharedSecret, _ context: RequestContext
    ) throws(KeychainError)

    /// Sets a new PIN of the card that the client administers by the unblocking key, which a person is asked for.
    ///
    /// - Parameter new: nil where a person is to be asked for it.
    /// - Throws: `errSecNotLoggedIn`.
    func initializePIN(of place: String, to new: SharedSecret?, _ context: RequestContext) throws(KeychainError)

    /// The state of a place, which stays current for as long as the client lives.
    ///
    /// - Throws: `errSecNoSuchKeychain`.
    func state(of place: String) throws(KeychainError) -> any PlaceState

    /// Ends the client: its waits and logins end, and its cards and files are released.
    func end()
}

/// A place for a key on a card, as its administrator sees it.
package struct AdministeredKeyPlace: Sendable, Hashable {
    package let slot: String
    package let use: KeyRole
    /// The `CKA_ID` of the place's objects.
    package let cryptokiID: [UInt8]

    package init(_ slot: String, for use: KeyRole, cryptokiID: [UInt8]) {
        (self.slot, self.use, self.cryptokiID) = (slot, use, cryptokiID)
    }
}

/// The state of a place for tokens, which a client in the host's process looks at with each of its calls. Nothing here waits for a card.
package protocol PlaceState: AnyObject, Sendable {
    var occupancy: TokenPlace.Occupancy { get }

    /// Counts the different tokens in the place.
    var generation: Int { get }

    /// The number of this client's login, unique to it; 0 where no login is needed; nil for none.
    var login: Int? { get }

    /// The number of this client's login as the card's administrator; nil for none.
    var administration: Int? { get }

    /// Ends a login that is over, where only a check shows it. A token that is in use counts as present.
    func noticeEndOfLogin()
}
