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
    /// - Parameter machine: its ``RemoteMachine/id``.
    /// - Throws: as ``allowAlwaysSigning(with:in:from:)``.
    func mayAlwaysSign(
        with key: PersistentReference, in place: String, from machine: String
    ) throws(KeychainError) -> Bool

    /// Notes that a person has allowed another machine all signatures with a key: in the key's keychain, or for one of a card for as long as
    /// the host's process runs.
    ///
    /// - Throws: `errSecInteractionNotAllowed` for a key of a locked keychain, `errSecParam` for one of a keychain without a password;
    ///   `errSecItemNotFound`.
    func allowAlwaysSigning(
        with key: PersistentReference, in place: String, from machine: RemoteMachine
    ) throws(KeychainError)

    /// The state of a place, which stays current for as long as the client lives.
    ///
    /// - Throws: `errSecNoSuchKeychain`.
    func state(of place: String) throws(KeychainError) -> any PlaceState

    /// Ends the client: its waits and logins end, and its cards and files are released.
    func end()
}

/// The state of a place for tokens, which a client in the host's process looks at with each of its calls. Nothing here waits for a card.
package protocol PlaceState: AnyObject, Sendable {
    var occupancy: TokenPlace.Occupancy { get }

    /// Counts the different tokens in the place.
    var generation: Int { get }

    /// The number of this client's login, unique to it; 0 where no login is needed; nil for none.
    var login: Int? { get }

    /// Ends a login that is over, where only a check shows it. A token that is in use counts as present.
    func noticeEndOfLogin()
}
