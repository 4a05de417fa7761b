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

    /// The keychain in a file, which stays open.
    func keychain(at path: String) throws(KeychainError) -> LocalKeychain

    /// Keeps a keychain that was just created.
    func adopt(_ keychain: LocalKeychain)

    /// A watch over all keychains.
    func watch() -> KeychainWatch
}

extension ProcessKeychains: HostedKeychains {
    func session(
        cards: Bool, locals: Bool, for client: SearchClient, authentication: AuthenticationContext
    ) throws(KeychainError) -> KeychainSession {
        try present(cards: cards, locals: locals).session(
            accessGroups: client.accessGroups ?? .all, authentication: authentication,
            trustAnchors: client.trustAnchors)
    }

    func lockFiles() throws(KeychainError) -> [Missing] { try lockAll().missing }

    func watch() -> KeychainWatch { KeychainWatch(preferences) { self.slot(of: PCSCReader(name: $0)) } }
}
