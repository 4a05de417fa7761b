internal import Glibc
internal import HostAPI
public import KeychainModel
internal import KeychainStore
internal import Localization
internal import Synchronization
public import TokenKit

/// The keychains of one process: the cards in its readers and the files of the search list, each opened once, so that what
/// was unlocked or verified stays so from call to call.
///
/// It is the one way from readers and files to the keychains that a search visits; its creator names the drivers.
///
///     let process = ProcessKeychains(drivers: StandardDrivers.all)
///     let list = try process.present().searchList
public final class ProcessKeychains: Sendable {
    public let preferences: KeychainPreferences

    /// The drivers of cards, with those that the user or the system has disabled.
    let allDrivers: [any TokenDriver]
    private let drivers: [any TokenDriver]
    /// The error for which all cards are left alone: the setting that names the disabled drivers cannot be read.
    private let driversFailure: KeychainError?
    private let modules: @Sendable () -> [any TokenModule]
    /// The modules that the configuration leaves out, each with the reason.
    let leftOutModules: @Sendable () -> [(name: String, reason: String)]
    private let includesToken: @Sendable (TokenKeychain) -> Bool
    private let readers: @Sendable () throws(CardError) -> [any CardReader]
    private let trace: (any CardTrace)?
    private let waitsOnce: Bool
    private let tellNews: TokenNews.Listener?
    /// The cards that clients of the host have in common; nil where this client has its own.
    private let sharedCards: SharedCards?
    private let asksEachTime: Bool
    /// The open files, which the clients of a session's host have in common.
    private let files: SharedKeychains
    private let state = Mutex(State())

    private struct State {
        var locals: [String: LocalKeychain] = [:]
        /// The paths of the files that were asked for by path, by their identifiers. Of a copy and its original, the last one counts.
        var named: [KeychainIdentifier: String] = [:]
        var slots: [String: TokenSlot] = [:]
        /// Nil until they are asked for the first time.
        var modules: [any TokenModule]?
    }

    /// - Parameters:
    ///   - recalls: whether drivers use what is remembered of cards.
    ///   - trace: receives each command to a card, and its answer.
    ///   - waitsOnce: whether a card that was waited for in vain is not waited for again.
    ///   - sharedCards: the cards that clients of the host have in common. A client that recalls nothing, or has a trace, has its own.
    ///   - asksEachTime: whether a person has to allow each use of a shared card's PIN.
    ///   - files: the files that clients of the host have in common.
    ///   - drivers: makes the drivers for cards, given the caches in which they may remember what they read. Drivers
    ///     that the user has disabled are not used; without any driver, all readers are left alone.
    ///   - modules: further sources of tokens; asked for once, when tokens are searched for the first time.
    ///   - leftOutModules: the modules that the configuration leaves out, each with the reason as a sentence.
    ///   - includesToken: whether a token of a module is used.
    ///   - readers: the readers to look for cards in.
    ///   - tellNews: told of cards what the person at the machine should know.
    public init(
        _ preferences: KeychainPreferences = KeychainPreferences(), recalls: Bool = true,
        trace: (any CardTrace)? = nil, waitsOnce: Bool = false, sharedCards: SharedCards? = nil,
        askingEachTime asksEachTime: Bool = false,
        files: SharedKeychains = SharedKeychains(),
        drivers: (TokenCaches) -> [any TokenDriver] = { _ in [] },
        modules: @escaping @Sendable () -> [any TokenModule] = { [] },
        leftOutModules: @escaping @Sendable () -> [(name: String, reason: String)] = { [] },
        includesToken: @escaping @Sendable (TokenKeychain) -> Bool = { _ in true },
        readers: @escaping @Sendable () throws(CardError) -> [any CardReader] = { () throws(CardError) in
            try PCSCReader.all()
        },
        tellingNews tellNews: TokenNews.Listener? = nil
    ) {
        self.preferences = preferences
        self.modules = modules
        self.leftOutModules = leftOutModules
        self.includesToken = includesToken
        self.readers = readers
        self.trace = trace
        self.waitsOnce = waitsOnce
        self.tellNews = tellNews
        self.files = files
        self.asksEachTime = asksEachTime
        self.sharedCards = recalls && trace == nil ? sharedCards : nil
        allDrivers = drivers(
            TokenCaches(in: preferences.directories, recalls: recalls) { preferences.effectiveProofBeforePIN })
        do throws(KeychainError) {
            let disabled = try allDrivers.isEmpty ? [] : preferences.disabledDrivers
            self.drivers = allDrivers.filter { !disabled.contains($0.name) }
            driversFailure = nil
        } catch {
            (self.drivers, driversFailure) = ([], error)
        }
    }

    /// The inserted cards and the files of the search list, and the gaps for those that are missing.
    ///
    /// - Parameters:
    ///   - cards: whether readers are looked into.
    ///   - locals: whether files are opened.
    public func present(
        cards: Bool = true, locals: Bool = true
    ) throws(KeychainError) -> PresentKeychains {
        var present = PresentKeychains(process: self)
        if cards {
            let tokens = tokens()
            (present.tokens, present.missing) = (tokens.found, tokens.missing)
            present.modules = knownModules().map { module in
                ModuleKeychain(module, includesToken) { reader in
                    tokens.found.first { ModuleSlot.isReader(reader, $0.name) && $0.isRecognized }?.name
                } areAllReadOtherwise: { [hasDrivers = !drivers.isEmpty] in
                    hasDrivers
                        && tokens.found.allSatisfy {
                            !$0.slot.hasCard || $0.slot.isHeldElsewhere || $0.isRecognized || $0.slot.isHeldElsewhere
                        }
                }
            }
        }
        guard locals else { return present }
        let opened = try listedKeychains()
        present.locals = opened.found
        present.missing += opened.missing
        present.missing += present.removeCopies()
        return present
    }

    /// The files of the search list. Where the settings cannot be read, a client that has named a file can go on with it.
    private func listedKeychains() throws(KeychainError) -> Outcome<[LocalKeychain]> {
        do throws(KeychainError) { return try localKeychains() } catch {
            guard !state.withLock(\.named.isEmpty) else { throw error }
            return Outcome([], missing: [Missing(.unreadableKeychain, in: .file, of: "the search list", error)])
        }
    }

    /// The context for questions. A keychain that is bound to an inserted card is unlocked with that card.
    func authentication(
        _ prompter: any Prompter = NoPrompter(), lastTry: LastTry = .keep
    ) -> AuthenticationContext {
        AuthenticationContext(prompter: prompter, lastTry: lastTry, cards: self.tokens().found)
    }

    // MARK: Files

    /// The keychain in a file.
    ///
    /// - Parameter path: without symbolic links where it was given before.
    public func keychain(at path: String) throws(KeychainError) -> LocalKeychain {
        if let open = state.withLock({ $0.locals[path] }), open.isValid { return open }
        let opened = try files.keychain(at: path)
        state.withLock { $0.locals[path] = opened }
        return opened
    }

    /// The keychain in a file that the client names. From now on, the client means this file by the keychain's identifier, and not a
    /// copy of it that is in the search list.
    func open(_ path: String) throws(KeychainError) -> LocalKeychain {
        let keychain = try keychain(at: path)
        state.withLock { $0.named[keychain.identifier] = path }
        return keychain
    }

    /// The files that the client has named.
    func namedKeychains() -> [LocalKeychain] {
        state.withLock { state in state.named.values.compactMap { state.locals[$0] } }.filter(\.isValid)
    }

    /// The files that are open, whether or not they are in the search list.
    func openedKeychains() -> [LocalKeychain] {
        state.withLock { Array($0.locals.values) }.filter(\.isValid)
    }

    /// Keeps a keychain that was just created, so that it stays unlocked.
    func adopt(_ keychain: LocalKeychain) {
        let keychain = files.adopt(keychain)
        state.withLock { state in
            state.locals[keychain.path] = keychain
            state.named[keychain.identifier] = keychain.path
        }
    }

    /// The files of the search list, and those that cannot be opened.
    func localKeychains() throws(KeychainError) -> Outcome<[LocalKeychain]> {
        try preferences.open { path throws(KeychainError) in try keychain(at: path) }
    }

    /// The keychain that gets new items.
    ///
    /// - Throws: `errSecNoDefaultKeychain`.
    func defaultKeychain() throws(KeychainError) -> LocalKeychain {
        try keychain(at: preferences.defaultKeychain())
    }

    /// Locks every open file, for all clients.
    ///
    /// - Returns: the gaps for the files of the search list that cannot be opened.
    func lockFiles() throws(KeychainError) -> [Missing] {
        files.lock()
        return try localKeychains().missing
    }

    /// Closes all files and cards, which are opened anew when they are needed.
    func letGo() {
        state.withLock { $0 = State(modules: $0.modules) }
        files.closeUnused()
    }

    // MARK: Cards

    private func knownModules() -> [any TokenModule] {
        state.withLock { state in
            let modules = state.modules ?? modules()
            state.modules = modules
            return modules
        }
    }

    /// A new slot for a reader, which shares no state with the process's own.
    func slot(of reader: any CardReader) -> TokenSlot { slot(of: reader, keepingPIN: false) }

    private func slot(of reader: any CardReader, keepingPIN keepsPIN: Bool) -> TokenSlot {
        TokenSlot(
            reader: reader, drivers: drivers, trace: trace, waitsOnce: waitsOnce, keepingPIN: keepsPIN,
            endingPINsAfter: { [preferences] in
                let timeout = preferences.effectivePINTimeout
                return timeout == nil && keepsPIN ? SharedCards.pinLimits : PINLimits(total: timeout)
            },
            tellingOfBlockedPINs: { EventInbox.post(KeychainEvent(.pinBlocked, location: $0, process: getpid())) },
            tellingNews: tellNews)
    }

    /// The client's slot for a reader, with the card and the PIN that it shares with others.
    private func ownSlot(of reader: any CardReader) -> TokenSlot {
        guard let sharedCards else { return slot(of: reader) }
        let place = SharedCards.Place(reader: reader.name, drivers: drivers.map(\.name))
        return sharedCards.slot(
            at: place, waitsOnce: waitsOnce, askingEachTime: asksEachTime, tellingNews: tellNews
        ) {
            slot(of: reader, keepingPIN: true)
        }
    }

    /// The reader of a name, whether or not it is among those to look for cards in.
    func reader(named name: String) -> any CardReader {
        ((try? readers()) ?? []).first { $0.name == name } ?? PCSCReader(name: name)
    }

    /// The cards that were read before, whether or not they are inserted now.
    func knownTokens() -> [KnownToken] { drivers.flatMap { $0.knownTokens() } }

    /// A keychain for each reader, whose PIN state lasts from call to call; or the error of the readers.
    private func tokens() -> Outcome<[TokenKeychain]> {
        var result = Outcome<[TokenKeychain]>([], missing: driversFailure.map { [.allCards($0)] } ?? [])
        guard !drivers.isEmpty else { return result }
        do throws(CardError) {
            let readers = try readers()
            result.found = state.withLock { state in
                let slots = readers.map { state.slots[$0.name] ?? ownSlot(of: $0) }
                state.slots = Dictionary(slots.map { ($0.name, $0) }) { first, _ in first }
                return slots.map { TokenKeychain($0) }
            }
        } catch {
            if error.code != .noReader { result.missing = [.allCards(KeychainError(TokenError(error)))] }
        }
        return result
    }
}

/// The keychains of a process at one moment.
public struct PresentKeychains: Sendable {
    let process: ProcessKeychains
    /// A keychain for each reader, in their order.
    public var tokens: [TokenKeychain] = []
    /// Modules of other makers, each with its tokens.
    var modules: [ModuleKeychain] = []
    /// The files, in the order of the search list.
    var locals: [LocalKeychain] = []
    /// The missing members, which hide no other.
    var missing: [Missing] = []

    public var searchList: SearchList { SearchList(tokens: tokens + modules, locals: locals, missing: missing) }

    /// Leaves out keychains that are copies of an earlier one: both have the same id, so that a change of an item in
    /// one could reach the other.
    fileprivate mutating func removeCopies() -> [Missing] {
        var originals: [KeychainIdentifier: LocalKeychain] = [:]
        var copies: [Missing] = []
        locals = locals.filter { keychain in
            guard let original = originals[keychain.identifier] else {
                originals[keychain.identifier] = keychain
                return true
            }
            guard original !== keychain else { return true }
            let error = KeychainError(
                .duplicateKeychain,
                "\(keychain.path) is a copy of \(original.path), and has the same items",
                remedy: "name one of them, or take one out of the search list")
            copies.append(Missing(.unreadableKeychain, in: .file, of: keychain.name, error))
            return false
        }
        return copies
    }

    /// A session over these keychains, which adds to the default keychain and knows the cards that are not inserted.
    ///
    /// - Parameter accessGroups: those that are open to the client.
    func session(
        accessGroups: AccessGroups = .configured, authentication: AuthenticationContext = AuthenticationContext(),
        trustAnchors: TrustAnchors = .system
    ) -> KeychainSession {
        KeychainSession(
            searchList: searchList, lookingForDefaultKeychain: { [process] in try? process.defaultKeychain() },
            accessGroups: accessGroups, authentication: authentication, trustAnchors: trustAnchors,
            knownTokens: process.knownTokens,
            openedKeychains: process.openedKeychains, namedKeychains: process.namedKeychains)
    }
}
