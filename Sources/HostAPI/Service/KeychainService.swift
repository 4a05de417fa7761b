public import KeychainModel
public import SecureBytes
public import SystemCrypto

/// The face of the host: everything that a front end can ask of it.
///
/// A request and its answer are values with a wire form (``HostRequest``, ``HostAnswer``), so that a front end works alike with the host
/// in its own process and behind a socket. The functions block until they are answered. All of them may be called from several threads.
///
/// An answer that is incomplete says so in its ``Outcome``: a member of the search list that fails hides no other.
public protocol KeychainService: CardService, HostStateService {
    /// The members of the search list and their state, in its order. Sends a card no command but for its label, and
    /// asks no person.
    ///
    /// - Parameter kinds: the kinds of the members. Others are neither opened nor looked for.
    func keychains(
        _ kinds: KeychainDescription.Kinds, _ context: RequestContext
    ) throws(KeychainError) -> Outcome<[KeychainDescription]>

    /// A keychain by its identifier, in the search list or not, with the details that only the keychain itself can tell.
    ///
    /// - Throws: `errSecNoSuchKeychain`.
    func keychain(_ identifier: KeychainIdentifier, _ context: RequestContext) throws(KeychainError) -> KeychainDetails

    // MARK: Keychain files

    /// The path of a keychain's file, the same in every folder. Nothing is read.
    ///
    /// - Parameter name: a name in the folder of the user's keychains, or a path, with a slash in it. A relative path
    ///   starts at the working directory of the client.
    func path(ofKeychain name: String, _ context: RequestContext) throws(KeychainError) -> String

    /// The keychain in a file, in the search list or not. This client's requests may name it from now on.
    ///
    /// - Parameter path: nil for the default keychain.
    /// - Throws: `errSecNoSuchKeychain`, `errSecInvalidKeychain`, `errSecNoDefaultKeychain`.
    func openKeychain(at path: String?, _ context: RequestContext) throws(KeychainError) -> KeychainDetails

    /// Creates a keychain, unlocked. It joins the user's search list, and becomes the default where there is none.
    ///
    /// - Parameters:
    ///   - name: as ``path(ofKeychain:_:)`` takes it.
    ///   - password: nil to have a person choose one.
    /// - Throws: `errSecDuplicateKeychain` for a path that is taken, before a person is asked.
    func createKeychain(
        _ name: String, password: SharedSecret?, _ context: RequestContext
    ) throws(KeychainError) -> KeychainDetails

    /// Deletes a keychain's file and the user's settings about it.
    ///
    /// - Throws: `errSecInvalidKeychain` for a file that is not a keychain, which is kept; `errSecNoSuchKeychain`.
    func deleteKeychain(_ name: String, _ context: RequestContext) throws(KeychainError)

    /// Sets when a keychain locks by itself. A locked keychain is unlocked for it.
    func configure(
        _ keychain: KeychainIdentifier, _ settings: KeychainSettings, _ context: RequestContext
    ) throws(KeychainError)

    /// The keychains that settings choose.
    ///
    /// - Parameter domain: nil for the settings in effect: the user's, with the system's search list behind the user's own.
    /// - Throws: `errSecInvalidPrefsDomain` for ``PreferencesDomain/dynamic``.
    func keychainChoice(
        in domain: PreferencesDomain?, _ context: RequestContext
    ) throws(KeychainError) -> KeychainChoice

    /// Changes a setting of a domain.
    ///
    /// - Throws: `errSecInvalidPrefsDomain` for ``PreferencesDomain/dynamic``, and for a login keychain that is not the
    ///   user's; `errSecWrPerm` for a default keychain that cannot be written to.
    func choose(
        _ change: KeychainChoice.Change, in domain: PreferencesDomain, _ context: RequestContext
    ) throws(KeychainError)

    /// Replaces the password of a keychain in a file. The sessions that have it unlocked lock it.
    ///
    /// - Parameters:
    ///   - old: nil to ask for it; the same for `new`.
    ///   - renewsKey: whether everything in the keychain is encrypted anew under another key as well, so that no copy of the file
    ///     from before helps to open it.
    /// - Throws: `errSecAuthFailed` for a wrong old password; `errSecDecode`, naming each, for damaged items, which would be lost with
    ///   the old key. Nothing has changed then.
    func changePassword(
        of keychain: KeychainIdentifier, from old: SharedSecret?, to new: SharedSecret?, renewingKey renewsKey: Bool,
        _ context: RequestContext
    ) throws(KeychainError) -> PasswordChange

    /// Lets a card open a keychain in a file. The card has to open it once right away. A binding that it had is replaced.
    ///
    /// - Parameter key: the name of the card's key, which decrypts or agrees on secrets; nil for the one that is meant for it.
    /// - Throws: `errSecParam` for a key that only signs, or that is used without a PIN; `errSecItemNotFound` where the card has no such
    ///   key.
    func bind(
        _ keychain: KeychainIdentifier, to card: KeychainIdentifier, key: String?, _ context: RequestContext
    ) throws(KeychainError) -> BoundCard

    /// Has a card no longer open a keychain in a file.
    ///
    /// - Parameter card: nil for all.
    /// - Returns: the cards that opened it.
    /// - Throws: `errSecItemNotFound` where no such card did.
    func unbind(
        _ keychain: KeychainIdentifier, from card: KeychainIdentifier?, _ context: RequestContext
    ) throws(KeychainError) -> [BoundCard]

    /// Copies a keychain to a new file, without the items that are to stay on this device. The keychain may be locked.
    ///
    /// - Throws: `errSecDuplicateKeychain` if anything is at the path; no copy is left after any error.
    func backUp(
        _ keychain: KeychainIdentifier, to path: String, _ context: RequestContext
    ) throws(KeychainError) -> BackupCount

    /// Makes a keychain of a backup, once every item in it has been checked. It joins the search list as a new one does.
    ///
    /// - Parameters:
    ///   - name: as ``path(ofKeychain:_:)`` takes it.
    ///   - password: the password that the keychain had; nil to ask for it.
    /// - Throws: `errSecDuplicateKeychain` for a path that is taken and `errSecInvalidKeychain` for a file that is no backup, before a
    ///   person is asked; `errSecAuthFailed`. No keychain is left then.
    func restoreKeychain(
        from backup: String, as name: String, password: SharedSecret?, _ context: RequestContext
    ) throws(KeychainError) -> KeychainDetails

    /// Tells whether a person could prove to be present, by a keychain's password or a card's PIN. Asks no person.
    func presenceProof(
        for keychain: KeychainIdentifier, _ context: RequestContext
    ) throws(KeychainError) -> PresenceProof

    /// Asks a person for a keychain's password, or its card's PIN, as a proof of presence, and unlocks the keychain. The proof counts for
    /// later requests of the same authentication context, for as long as the keychain stays unlocked. The PIN of a card is presented even
    /// where the card counts it as presented.
    ///
    /// - Throws: as ``unlock(_:_:)`` does.
    func confirmPresence(for keychain: KeychainIdentifier, _ context: RequestContext) throws(KeychainError)

    // MARK: Items

    /// The items of one class that a query finds. Asks no person.
    ///
    /// - Throws: `errSecParam` or a similar error, naming the key; the error of the first member where every member failed.
    func items(matching query: Query, _ context: RequestContext) throws(KeychainError) -> Outcome<[Item]>

    /// The damaged items in files that match a query by those of their values that can still be read. Asks no person.
    ///
    /// A search tells of every damaged item that it cannot rule out. Who deletes items before they are added anew has to know only of these.
    func damage(matching query: Query, _ context: RequestContext) throws(KeychainError) -> [Missing]

    /// The identities that a query finds, each a certificate and its private key, wherever the two are.
    ///
    /// - Throws: as ``items(matching:_:)`` does.
    func identities(matching query: Query, _ context: RequestContext) throws(KeychainError) -> Outcome<[Identity]>

    /// The items or identities that a query finds, with their secrets and keychains where these are wanted: a page of them where the
    /// secrets are more than one message carries. A person is asked for what reading the secrets needs, for one item after the other.
    /// Damaged items are left out, and told.
    ///
    /// - Throws: as ``items(matching:_:)`` and ``secret(of:_:)`` do.
    func search(_ request: SearchRequest, _ context: RequestContext) throws(KeychainError) -> Outcome<SearchPage>

    /// The way that a search for a query's items would go. Asks no person, and reads no secret.
    ///
    /// - Parameter readsSecrets: whether the data of the items are wanted as well.
    /// - Throws: as the search does for a query that cannot be honoured.
    func explain(
        _ query: Query, readingSecrets readsSecrets: Bool, _ context: RequestContext
    ) throws(KeychainError) -> Explanation

    /// The secret of an item: a password, a key's PKCS #8 or its bytes; nil for an item without one.
    ///
    /// - Throws: `errSecItemNotFound`, `errSecDataNotAvailable` for a key that is not extractable,
    ///   `errSecKeyIsSensitive` for one that leaves its keychain only encrypted, `errSecInteractionNotAllowed` where a
    ///   password is needed and no person can be asked, `errSecAuthFailed`.
    func secret(of item: PersistentReference, _ context: RequestContext) throws(KeychainError) -> SharedSecret?

    /// The secret of an item in a file as the file has it, encrypted; nil for an item without one. Asks no person.
    ///
    /// - Throws: `errSecItemNotFound`; `errSecParam` for an item on a token, where no secret is told.
    func storedSecret(of item: PersistentReference, _ context: RequestContext) throws(KeychainError) -> SharedSecret?

    /// Carries out all steps, in any keychains, or none of them.
    ///
    /// - Throws: `errSecDuplicateItem`, `errSecReadOnly` for a token, `errSecNoDefaultKeychain`, `errSecItemNotFound` for an update or
    ///   a deletion that finds nothing; nothing has changed then.
    func change(_ steps: [ChangeStep], _ context: RequestContext) throws(KeychainError) -> Outcome<ChangeResult>

    /// The private keys that a selector names. Of a card only these are read. Asks no person.
    ///
    /// - Throws: the error of the first member where every member failed.
    func keys(matching query: KeyQuery, _ context: RequestContext) throws(KeychainError) -> Outcome<[KeyDescription]>

    /// Asks for the PIN or password that an action needs, ahead of long work before the action, which has to belong to the same
    /// authentication context. A PIN that counts for one use is kept with the context.
    ///
    /// - Throws: `errSecReadOnly` for a change of a keychain that is only read, before anybody is asked.
    func askAhead(of action: GuardedAction, _ context: RequestContext) throws(KeychainError)

    /// Tells whether the key of a keychain vouches for the public part of an item. Asks for the password of a locked keychain where the
    /// context lets it.
    ///
    /// - Parameter der: the public part that is about to be used.
    /// - Throws: `errSecDecode` for an item that has been altered, `errSecItemNotFound`.
    func vouching(
        for item: PersistentReference, with der: [UInt8], _ context: RequestContext
    ) throws(KeychainError) -> Vouching

    /// Has a key do an operation where it is. The result is a signature, a ciphertext, a plaintext, or an agreed secret.
    ///
    /// - Throws: `errSecParam` for an algorithm that is not the key's or an input of the wrong length, before anybody is asked;
    ///   `errSecVerifyFailed` for a signature that is not the key's; `errSecNoSuchKeychain` for a card that is not inserted.
    func perform(_ operation: KeyRequest, _ context: RequestContext) throws(KeychainError) -> SharedSecret

    /// Tells whether a key can do an operation by an algorithm. A private key verifies and encrypts by its public half. Asks no person.
    ///
    /// - Throws: `errSecItemNotFound` for a key that is no longer there.
    func isSupported(
        _ algorithm: KeyAlgorithm, for operation: KeyOperation, by key: KeyRequest.Key, _ context: RequestContext
    ) throws(KeychainError) -> Bool

    /// Reads a file of certificates and keys, and adds its content to a keychain where one is named. Items that the keychain has
    /// already stay unchanged.
    ///
    /// - Throws: `errSecDecode` for a malformed part; `errSecUnknownFormat` for a file without anything that is wanted;
    ///   `errSecUnsupportedFormat` for an unsupported kind of key; `errSecPassphraseRequired`, and for a wrong passphrase
    ///   `errSecPkcs12VerifyFailure` or, of a key, `errSecAuthFailed`; `errSecMultiplePrivKeys`; `errSecDataTooLarge`;
    ///   `errSecNoSuchAttr`; `errSecDuplicateItem` for a private key that the keychain has under another protection.
    func importFile(_ request: ImportRequest, _ context: RequestContext) throws(KeychainError) -> ImportedContent

    /// Writes certificates and keys as a file.
    ///
    /// - Throws: `errSecParam` for objects that the format cannot hold; `errSecPassphraseRequired`; `errSecDataNotAvailable` for a key
    ///   that is on a card or not extractable, `errSecKeyIsSensitive` for one that may leave its keychain only encrypted.
    func exportFile(_ request: ExportRequest, _ context: RequestContext) throws(KeychainError) -> SharedSecret

    // MARK: Certificates

    /// The roots that the system trusts.
    ///
    /// - Throws: `errSecTrustNotAvailable` where they cannot be read.
    func trustedRoots(_ context: RequestContext) throws(KeychainError) -> [Certificate]

    /// Looks for a chain from a certificate to a trusted one. Asks no person, and fetches nothing.
    ///
    /// - Returns: the verdict, and the keychains whose certificates could not be read.
    /// - Throws: `errSecTrustNotAvailable`; `errSecDecode` for a revocation list that cannot be read.
    func judge(
        _ request: ChainRequest, _ context: RequestContext
    ) throws(KeychainError) -> Outcome<CertificateChain.Outcome>

    // MARK: Access

    /// Makes the secrets of a keychain readable, for every program of the login session: by its password, or a card's PIN. Asks where
    /// that is needed. A password that comes along is checked also where the keychain is unlocked.
    ///
    /// - Parameter seconds: the time for which the session keeps a file unlocked; nil for the usual time, or this program alone where
    ///   the system keeps nothing for a session.
    /// - Throws: `errSecNoSuchKeychain`, `errSecAuthFailed`, `errSecUserCanceled`, `errSecInteractionNotAllowed`;
    ///   `errSecNotAvailable` for a given time where the system keeps nothing for a session.
    func unlock(
        _ keychain: KeychainIdentifier, for seconds: UInt32?, _ context: RequestContext
    ) throws(KeychainError)

    /// Locks a keychain, or logs out of a card; nil for all of them.
    ///
    /// - Returns: the members that could not be locked.
    func lock(_ keychain: KeychainIdentifier?, _ context: RequestContext) throws(KeychainError) -> [Missing]

    /// Administers a card: changes or unblocks its PIN, or resets it. Asks for the old and the new values.
    ///
    /// - Throws: `errSecParam` for a keychain that is no card.
    func administer(
        _ keychain: KeychainIdentifier, _ administration: CardAdministration, _ context: RequestContext
    ) throws(KeychainError)

    /// The events after a position. Waits for the first one until the time is over.
    ///
    /// - Parameters:
    ///   - topic: the events of a new subscription; those of another one stay the same.
    ///   - position: the ``EventPage/next`` of the page before; nil for a new subscription, whose first events report
    ///     the cards that are inserted already.
    ///   - patience: the longest wait. Without events by then, the page is empty.
    func events(
        of topic: EventTopic, after position: EventPosition?, waiting patience: Duration, _ context: RequestContext
    ) throws(KeychainError) -> EventPage

    /// Ends a subscription to events of this client. A request that waits for its events fails.
    func endEvents(at position: EventPosition, _ context: RequestContext) throws(KeychainError)

    /// The kinds of credentials that the request's authentication context has: given, and not refused. Asks no person.
    func usableCredentials(_ context: RequestContext) throws(KeychainError) -> [CredentialKind]
    // MARK: Tokens of PKCS #11

    /// The places for tokens: readers in their order, then the files of the search list. Asks no card.
    func places(_ context: RequestContext) throws(KeychainError) -> Outcome<[TokenPlace]>

    /// The places, once they are others or a card has come or gone. Waits until then, or until the request is cancelled.
    func awaitPlaces(
        otherThan known: [TokenPlace], _ context: RequestContext
    ) throws(KeychainError) -> Outcome<[TokenPlace]>

    /// Facts of the token in a place. Only ``TokenFacts/name``, ``TokenFacts/pin`` and ``TokenFacts/keyLimits`` may
    /// wait for a card.
    ///
    /// - Parameter place: the ``TokenPlace/location``.
    /// - Throws: `errSecNoSuchKeychain`, where the name or the PIN of a token is wanted that is not there.
    func token(
        in place: String, telling facts: TokenFacts, _ context: RequestContext
    ) throws(KeychainError) -> TokenDescription

    /// The items of a token, of several classes at once. What was read of a card counts for as long as the card stays in, so that a
    /// further search costs no command.
    func tokenItems(
        in place: String, _ selection: TokenItemSelection, _ context: RequestContext
    ) throws(KeychainError) -> Outcome<[Item]>

    /// Logs in to a token, for this client alone: with the credential that comes along, else by asking. The host keeps the PIN of a card
    /// for as long as the login lasts, and presents it again where a key needs it.
    ///
    /// - Parameter isForOneUse: whether the login is for one use of a key that wants the PIN each time, which a request with
    ///   ``KeyRequest/isAuthorized`` then makes. An empty PIN stands for that of the login.
    func logIn(
        to place: String, forOneUse isForOneUse: Bool, _ context: RequestContext
    ) throws(KeychainError)

    /// Ends this client's login.
    func logOut(of place: String, _ context: RequestContext) throws(KeychainError)

    /// Sets a new PIN of a card, or a new password of a keychain, by the old one. Asks no person.
    func changePIN(
        of place: String, from old: SharedSecret, to new: SharedSecret, _ context: RequestContext
    ) throws(KeychainError)

    /// Ends an authentication context of this client. Requests that are under way keep it.
    func endAuthentication(_ number: AuthenticationNumber, _ context: RequestContext) throws(KeychainError)

    /// Ends a request of this client: it fails with `errSecUserCanceled` before anything else is begun for it. A command that is under
    /// way at a card comes to its end first.
    func cancel(_ request: RequestNumber)
}

extension KeychainService {
    /// All members of the search list and their state.
    public func keychains(_ context: RequestContext) throws(KeychainError) -> Outcome<[KeychainDescription]> {
        try keychains(.all, context)
    }

    /// Unlocks for the usual time.
    public func unlock(_ keychain: KeychainIdentifier, _ context: RequestContext) throws(KeychainError) {
        try unlock(keychain, for: nil, context)
    }
}
