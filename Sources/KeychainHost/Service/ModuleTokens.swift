internal import HostAPI
internal import KeychainModel
internal import TokenKit

/// The tokens of a process's modules as the only keychains. Cards in readers are looked at only to leave out a token that a driver reads
/// as well.
struct ModuleTokens: HostedKeychains {
    let process: ProcessKeychains

    func session(
        cards: Bool, locals: Bool, for client: SearchClient, authentication: AuthenticationContext
    ) throws(KeychainError) -> KeychainSession {
        KeychainSession(
            searchList: SearchList(members: try presentModules()), accessGroups: client.accessGroups ?? .all,
            authentication: authentication, trustAnchors: client.trustAnchors)
    }

    func authentication(_ prompter: any Prompter, lastTry: LastTry) -> AuthenticationContext {
        AuthenticationContext(prompter: prompter, lastTry: lastTry)
    }

    func presentPlaces() -> Outcome<(cards: [any TokenBackend], files: [LocalKeychain])> { Outcome(([], [])) }
    func presentModules() throws(KeychainError) -> [ModuleKeychain] { try process.presentModules() }
    func lockFiles() -> [Missing] { [] }
    func open(_ path: String) throws(KeychainError) -> LocalKeychain { try process.open(path) }
    func adopt(_ keychain: LocalKeychain) { process.adopt(keychain) }
    func letGo() { process.letGo() }
    func watch() -> KeychainWatch { process.watch() }
    func newSlot(reader name: String) -> TokenSlot { process.newSlot(reader: name) }

    var preferences: KeychainPreferences { process.preferences }
    var allDrivers: [any TokenDriver] { process.allDrivers }
    var leftOutModules: @Sendable () -> [(name: String, reason: String)] { process.leftOutModules }
}
