internal import HostAPI
internal import KeychainModel
internal import TokenKit

/// The keychains that a host has for its client.
protocol HostedKeychains: Sendable {
    /// The keychains as they are now.
    ///
    /// - Parameters:
    ///   - cards: whether readers are looked into.
    ///   - locals: whether files are opened.
    func session(
        cards: Bool, locals: Bool, for client: SearchClient, authentication: AuthenticationContext
    ) throws(KeychainError) -> KeychainSession

    /// A context in which `prompter` asks.
    func authentication(_ prompter: any Prompter, lastTry: LastTry) -> AuthenticationContext

    /// Locks all files.
    ///
    /// - Returns: the files that could not be locked.
    func lockFiles() throws(KeychainError) -> [Missing]

    /// The settings that choose keychains.
    var preferences: KeychainPreferences { get }

    /// The drivers of cards, with those that the user has disabled.
    var allDrivers: [any TokenDriver] { get }

    /// The keychain in a file that the client names. It stays open, and its identifier means this file from now on.
    func open(_ path: String) throws(KeychainError) -> LocalKeychain

    /// Keeps a keychain that was just created.
    func adopt(_ keychain: LocalKeychain)

    /// The readers, in their order, and the files of the search list, without a look at any card.
    func presentPlaces() -> Outcome<(cards: [any TokenBackend], files: [LocalKeychain])>

    /// The modules of other makers that are searched.
    func presentModules() throws(KeychainError) -> [ModuleKeychain]

    /// The modules that the configuration leaves out, each with the reason as a sentence.
    var leftOutModules: @Sendable () -> [(name: String, reason: String)] { get }

    /// Closes all files and cards.
    func letGo()

    /// A watch over all keychains.
    func watch() -> KeychainWatch

    /// A new slot for the reader of a name, which shares no state with others.
    func newSlot(reader name: String) -> TokenSlot
}

extension ProcessKeychains: HostedKeychains {
    func session(
        cards: Bool, locals: Bool, for client: SearchClient, authentication: AuthenticationContext
    ) throws(KeychainError) -> KeychainSession {
        try present(cards: cards, locals: locals).session(
            accessGroups: client.accessGroups ?? .all, authentication: authentication,
            trustAnchors: client.trustAnchors)
    }

    /// Cards can be used also with unreadable settings.
    func presentPlaces() -> Outcome<(cards: [any TokenBackend], files: [LocalKeychain])> {
        var outcome = Outcome<(cards: [any TokenBackend], files: [LocalKeychain])>(([], []))
        var present = PresentKeychains(process: self)
        do throws(KeychainError) { present = try self.present() } catch {
            outcome.missing.append(Missing(.unreadableKeychain, in: .file, of: "the search list", error))
            if let cards = try? self.present(locals: false) { present = cards }
        }
        outcome.found = (present.tokens.map(\.slot), present.locals)
        outcome.add(missing: present.missing)
        return outcome
    }

    func presentModules() throws(KeychainError) -> [ModuleKeychain] { try present(locals: false).modules }

    func watch() -> KeychainWatch { KeychainWatch(preferences) { self.newSlot(reader: $0) } }

    func newSlot(reader name: String) -> TokenSlot { slot(of: reader(named: name)) }
}
