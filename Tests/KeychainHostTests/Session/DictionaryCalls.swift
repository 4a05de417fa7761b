import HostAPI
import ItemDictionaries
import TokenKit

@testable import KeychainHost
@testable import KeychainModel

/// Keychains of a host that a test has put together.
private struct FixedKeychains: HostedKeychains {
    let all: KeychainSession

    func session(
        cards: Bool, locals: Bool, for client: SearchClient, authentication: AuthenticationContext
    ) throws(KeychainError) -> KeychainSession {
        let members = all.searchList.members.filter { $0 is any CardKeychain ? cards : locals }
        return KeychainSession(
            searchList: SearchList(locals: members, missing: all.searchList.missing),
            defaultKeychain: all.defaultKeychain, accessGroups: all.accessGroups, authentication: authentication,
            trustAnchors: all.trustAnchors, knownTokens: all.knownTokens, openedKeychains: all.openedKeychains)
    }

    func authentication(_ prompter: any Prompter, lastTry: LastTry) -> AuthenticationContext {
        AuthenticationContext(prompter: prompter, lastTry: lastTry, cards: all.authentication.cards)
    }

    let preferences = KeychainPreferences()
    let allDrivers: [any TokenDriver] = []

    func open(_ path: String) throws(KeychainError) -> LocalKeychain { try LocalKeychain.open(path) }

    func adopt(_ keychain: LocalKeychain) {}

    func lockFiles() throws(KeychainError) -> [Missing] { [] }

    func presentPlaces() -> Outcome<(cards: [any TokenBackend], files: [LocalKeychain])> {
        let members = all.searchList.members
        return Outcome(
            (members.compactMap { ($0 as? TokenKeychain)?.slot }, members.compactMap { $0 as? LocalKeychain }))
    }

    func presentModules() throws(KeychainError) -> [ModuleKeychain] { [] }

    let leftOutModules: @Sendable () -> [(name: String, reason: String)] = { [] }

    func letGo() {}

    func watch() -> KeychainWatch {
        KeychainWatch(KeychainPreferences()) { newSlot(reader: $0) }
    }

    func newSlot(reader name: String) -> TokenSlot { TokenSlot(reader: PCSCReader(name: name), drivers: []) }
}

/// SecItem's calls of a client whose host has these keychains.
extension KeychainSession {
    /// A host of the session's keychains, which asks through the session's prompter.
    var host: Host {
        Host(
            of: FixedKeychains(all: self), for: client, prompter: authentication.prompter)
    }

    /// The context of a request, with the credentials of the session.
    private var request: RequestContext {
        var request = RequestContext(mayUseLastTry: authentication.lastTry == .spend)
        for kind in CredentialKind.allCases {
            if let credential = authentication.credential(kind) { request.credentials.append(.init(kind, credential)) }
        }
        return request
    }

    /// The same session with another authentication context.
    func asking(_ authentication: AuthenticationContext) -> KeychainSession {
        KeychainSession(
            searchList: searchList, defaultKeychain: defaultKeychain, accessGroups: accessGroups,
            authentication: authentication, trustAnchors: trustAnchors, knownTokens: knownTokens,
            openedKeychains: openedKeychains)
    }

    func copyMatching(_ query: ItemDictionary) throws(KeychainError) -> Outcome<ItemValue?> {
        try host.copyMatching(query, request)
    }

    func add(_ item: ItemDictionary) throws(KeychainError) -> ItemValue? { try host.add(item, request) }

    @discardableResult
    func update(_ query: ItemDictionary, to changes: ItemDictionary) throws(KeychainError) -> Outcome<Int> {
        try host.update(query, to: changes, request)
    }

    @discardableResult
    func delete(_ query: ItemDictionary) throws(KeychainError) -> Outcome<Int> { try host.delete(query, request) }

    func explain(_ query: ItemDictionary) throws(KeychainError) -> Explanation { try host.explain(query, request) }
}
