public import KeychainModel

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
    /// - Parameter name: the ``CardDataObject/name``.
    /// - Throws: `errSecItemNotFound` for an object that the card does not have; `errSecParam` for a keychain that is no card;
    ///   `errSecNoSuchKeychain`.
    func dataObject(
        _ name: String, of card: KeychainIdentifier, _ context: RequestContext
    ) throws(KeychainError) -> CardDataContent

    /// The PKCS #11 modules of other makers, those in use first. Each of these is started, and asked for its tokens.
    func modules(_ context: RequestContext) throws(KeychainError) -> [ModuleDescription]
}
