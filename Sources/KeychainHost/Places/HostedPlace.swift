internal import HostAPI
internal import KeychainModel
internal import Localization
internal import SecureBytes

/// A place for a token, with the login of one client there.
///
/// Calls for one place may wait for its card. Calls for other places do not wait with them.
protocol HostedPlace: PlaceState {
    /// The place as it is now. Asks no card.
    var place: TokenPlace { get }

    /// Whether a PIN that another client gave would be that of a login. Does not wait.
    var hasKeptPIN: Bool { get }

    /// - Throws: a failure of kind ``TokenFailure/noToken`` where a wanted fact is a token's, and there is none.
    func describe(_ facts: TokenFacts) throws(KeychainError) -> TokenDescription

    func items(_ selection: TokenItemSelection) throws(KeychainError) -> Outcome<[Item]>

    /// Logs in with the credential of the context, else by asking a person.
    ///
    /// - Parameter use: the purpose, in words that complete "PIN to …".
    func logIn(use: String, _ authentication: AuthenticationContext) throws(KeychainError)

    /// Logs in for one use of a key that needs a login each time.
    func logInForOneUse(use: String, _ authentication: AuthenticationContext) throws(KeychainError)

    func logOut()

    func changePIN(from old: borrowing Secret, to new: borrowing Secret) throws(KeychainError)

    /// Logs in as the card's administrator.
    func logInAsAdministrator(_ key: SharedSecret?, _ authentication: AuthenticationContext) throws(KeychainError)

    func keyPlaces(_ authentication: AuthenticationContext) throws(KeychainError) -> [AdministeredKeyPlace]

    /// Changes the card's content by the login of the administrator, or of a user who can prove to be it.
    func change(
        _ change: CardChange, _ authentication: AuthenticationContext
    ) throws(KeychainError) -> CardChangeOutcome

    /// Sets the management key. Both keys have hexadecimal digits.
    func changeManagementKey(from old: borrowing Secret, to new: borrowing Secret) throws(KeychainError)

    /// Sets a new PIN by the unblocking key.
    ///
    /// - Parameter new: nil where a person is to be asked for it.
    func initializePIN(to new: SharedSecret?, _ authentication: AuthenticationContext) throws(KeychainError)

    /// A private key, as its item was found.
    ///
    /// - Parameter request: the request for the operation; nil for none.
    /// - Returns: nil where there is no such key, and a search may tell why.
    func key(_ reference: PersistentReference, for request: KeyRequest?) throws(KeychainError) -> (any KeychainKey)?

    /// A private key in decisions on its use.
    ///
    /// - Throws: `errSecItemNotFound`; `errSecInteractionNotAllowed` for a key of a locked keychain, `errSecParam` for one of a keychain
    ///   without a password.
    func accessItem(_ key: PersistentReference) throws(KeychainError) -> AccessItem

    /// The content of a card's data object.
    func content(of data: PersistentReference) throws(KeychainError) -> SharedSecret?

    /// The token as a member of a search list.
    var keychain: any Keychain { get }

    /// Ends waits for the token, which could delay its end.
    func endWaits()

    /// Logs out, and drops all known facts about the token.
    func letGo()
}

extension HostedPlace {
    var administration: Int? { nil }

    func logInAsAdministrator(
        _ key: SharedSecret?, _ authentication: AuthenticationContext
    ) throws(KeychainError) { throw .noAdministrator }

    func keyPlaces(_ authentication: AuthenticationContext) throws(KeychainError) -> [AdministeredKeyPlace] {
        throw .noAdministrator
    }

    func change(
        _ change: CardChange, _ authentication: AuthenticationContext
    ) throws(KeychainError) -> CardChangeOutcome { throw .noAdministrator }

    func changeManagementKey(from old: borrowing Secret, to new: borrowing Secret) throws(KeychainError) {
        throw .noAdministrator
    }

    func initializePIN(
        to new: SharedSecret?, _ authentication: AuthenticationContext
    ) throws(KeychainError) { throw .noAdministrator }
}

extension KeychainError {
    static let noAdministrator = KeychainError(.invalidAlgorithm, "a keychain has no administrator, only its user")
    static let noToken = KeychainError(.noSuchKeychain, "there is no token in the place", failure: .noToken)
    static let anotherToken = KeychainError(.deviceReset, "another card has come", failure: .removed)
    static let loggedIn = KeychainError(.param, "the client is logged in", failure: .alreadyLoggedIn)
    static let notLoggedIn = KeychainError(.notLoggedIn, "the client is not logged in", failure: .loginRequired)
    static let nobodyToAsk = KeychainError(
        .interactionNotAllowed, "no PIN, and nobody to ask", failure: .nobodyToAsk)

    /// The error as that of another failure.
    func failing(_ failure: TokenFailure?) -> KeychainError {
        KeychainError(code, reasonText, remedy: remedyText, key: key, triesLeft: triesLeft, failure: failure)
    }
}
