public import KeychainModel
public import SystemCrypto

/// The part of the host's face that concerns cards, their drivers and their settings, and the modules of other makers.
public protocol CardService: Sendable {
    /// The drivers of cards that the host has, in the order in which they are asked whether they know a card. Asks no card.
    func drivers(_ context: RequestContext) throws(KeychainError) -> [CardDriver]

    /// The settings of cards.
    ///
    /// - Parameters:
    ///   - parts: the settings that are wanted.
    ///   - domain: nil for the settings in effect: of the user's and the system's time for a PIN the shorter one, and a card's proof if
    ///     one of the two wants it.
    /// - Throws: `errSecInvalidPrefsDomain` for ``PreferencesDomain/dynamic``.
    func cardSettings(
        _ parts: CardSettings.Parts, in domain: PreferencesDomain?, _ context: RequestContext
    ) throws(KeychainError) -> CardSettings

    /// Changes a setting of a domain.
    ///
    /// - Throws: `errSecParam` for a time of 0; `errSecInvalidPrefsDomain` for ``PreferencesDomain/dynamic``, and for a driver in another
    ///   domain than the user's.
    func configureCards(
        _ change: CardSettings.Change, in domain: PreferencesDomain, _ context: RequestContext
    ) throws(KeychainError)

    /// The content and the state of a card. Asks no person, and spends no try of a PIN.
    ///
    /// - Parameter parts: the parts that are wanted. The card is sent no command for others.
    /// - Throws: `errSecParam` for a keychain that is no card; `errSecNoSuchKeychain`.
    func card(
        _ identifier: KeychainIdentifier, telling parts: CardOverview.Parts, _ context: RequestContext
    ) throws(KeychainError) -> CardOverview

    /// Reads a data object of a card. Asks for the PIN where the card wants it.
    ///
    /// - Parameter name: the ``CardDataObject/name``, or a slot's name for the object with its certificate.
    /// - Throws: `errSecItemNotFound` for an object that the card does not have; `errSecParam` for a keychain that is no card;
    ///   `errSecNoSuchKeychain`.
    func dataObject(
        _ name: String, of card: KeychainIdentifier, _ context: RequestContext
    ) throws(KeychainError) -> CardDataContent

    /// Changes the content of a card, which needs its management key. Asks for that, and for the PIN where the card keeps the key or the
    /// change wants it.
    ///
    /// - Throws: `errSecAuthFailed` for a wrong management key; `errSecParam` for a slot that the card does not have, or one with a key
    ///   that may not be replaced; `errSecInvalidAlgorithm` for what the card cannot do; `errSecDeviceError` where its memory is full;
    ///   `errSecNoSuchKeychain`. Nothing is changed before the card has accepted the key.
    func administer(
        _ card: KeychainIdentifier, _ change: CardChange, by authority: CardAuthority, _ context: RequestContext
    ) throws(KeychainError) -> CardChangeOutcome

    /// The facts of a card's management key. Asks no person, and spends no try.
    func managementKey(
        of card: KeychainIdentifier, _ context: RequestContext
    ) throws(KeychainError) -> CardManagementKeyStatus

    /// Deletes all keys, certificates and data of a card, and sets its PIN, unblocking key and management key to those that it was
    /// delivered with. Needs none of them, and asks nobody. A card that wants it loses all tries of both first.
    ///
    /// - Throws: `errSecInvalidAlgorithm` for a card that cannot do that, which loses no try.
    func erase(_ card: KeychainIdentifier, _ context: RequestContext) throws(KeychainError)

    /// A card's statement that it has made the key of a slot itself, and on which conditions it is used: a certificate in
    /// DER, and that of the key which signed it.
    ///
    /// - Throws: `errSecItemNotFound` for a slot without such a key; `errSecInvalidAlgorithm` for a card that states nothing.
    func attestation(
        of slot: String, on card: KeychainIdentifier, _ context: RequestContext
    ) throws(KeychainError) -> [[UInt8]]

    /// Verifies a card's statement, as ``attestation(of:on:_:)`` gives it. Asks no card.
    ///
    /// - Parameters:
    ///   - statement: the certificate of the key, and that of the key which signed it unless it is among the roots.
    ///   - roots: the certificates of makers that are trusted.
    /// - Throws: `errSecVerifyFailed` for a statement that leads to none of the roots; `errSecParam` for certificates that are no
    ///   statement of a card.
    func verifyAttestation(
        _ statement: [Certificate], roots: [Certificate], _ context: RequestContext
    ) throws(KeychainError) -> CardAttestation

    /// The PKCS #11 modules of other makers, those in use first. Each of these is started, and asked for its tokens.
    func modules(_ context: RequestContext) throws(KeychainError) -> [ModuleDescription]
}
