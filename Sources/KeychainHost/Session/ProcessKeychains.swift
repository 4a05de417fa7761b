internal import Synchronization
public import TokenKit

/// The keychains of one process: the cards in its readers and the files of the search list, each opened once, so that what
/// was unlocked or verified stays so from call to call.
public final class ProcessKeychains: Sendable {
    public let preferences: KeychainPreferences

    private let drivers: [any TokenDriver]
    private let state = Mutex(State())

    private struct State {
        var locals: [String: LocalKeychain] = [:]
        var slots: [String: TokenSlot] = [:]
    }

    /// - Parameter drivers: for cards; none leaves all readers alone.
    public init(preferences: KeychainPreferences = KeychainPreferences(), drivers: [any TokenDriver] = []) {
        self.preferences = preferences
        self.drivers = drivers
    }

    /// The keychain in a file.
    ///
    /// - Parameter path: without symbolic links where it was given before.
    public func keychain(at path: String) throws(KeychainError) -> LocalKeychain {
        if let open = state.withLock({ $0.locals[path] }), open.isValid { return open }
        let opened = try LocalKeychain.open(path)
        return state.withLock { state in
            // Another thread may have been first, and have unlocked its own.
            if let other = state.locals[path], other.isValid { return other }
            state.locals[path] = opened
            return opened
        }
    }

    /// Keeps a keychain that was just created, and with it that it is unlocked.
    public func adopt(_ keychain: LocalKeychain) {
        state.withLock { $0.locals[keychain.path] = keychain }
    }

    /// The files of the search list that can be opened.
    public func localKeychains() throws(KeychainError) -> [LocalKeychain] {
        try preferences.searchList().compactMap { try? keychain(at: $0) }
    }

    /// The cards that are in, then the files of the search list, and why others are missing.
    public func searchList() throws(KeychainError) -> (list: SearchList, failures: [SearchList.Failure]) {
        var failures: [SearchList.Failure] = []
        let tokens = slots(&failures).map { TokenKeychain($0) }
        var locals: [LocalKeychain] = []
        for path in try preferences.searchList() {
            do throws(KeychainError) {
                locals.append(try keychain(at: path))
            } catch {
                failures.append(SearchList.Failure(keychain: path, error: error))
            }
        }
        return (SearchList(tokens: tokens, locals: locals), failures)
    }

    /// The keychain that gets new items.
    ///
    /// - Throws: `errSecNoDefaultKeychain`.
    public func defaultKeychain() throws(KeychainError) -> LocalKeychain {
        try keychain(at: preferences.defaultKeychain())
    }

    /// Locks every file of the search list, here and in the login session.
    public func lockAll() throws(KeychainError) {
        let open = state.withLock { Array($0.locals.values) }
        for keychain in open { keychain.lock() }
        for path in try preferences.searchList() { _ = try? keychain(at: path).lockSession() }
    }

    /// A slot for each reader; one that was there before keeps its PIN state.
    private func slots(_ failures: inout [SearchList.Failure]) -> [TokenSlot] {
        guard !drivers.isEmpty else { return [] }
        do throws(CardError) {
            let readers = try PCSCReader.all()
            return state.withLock { state in
                state.slots = readers.reduce(into: [:]) { slots, reader in
                    slots[reader.name] = state.slots[reader.name] ?? TokenSlot(reader: reader, drivers: drivers)
                }
                return readers.compactMap { state.slots[$0.name] }
            }
        } catch {
            // A machine without a reader, or without the service for one, has its files.
            if error.code != .noReader, error.code != .serviceUnavailable {
                failures.append(SearchList.Failure(keychain: "smart cards", error: KeychainError(TokenError(error))))
            }
            return []
        }
    }
}
