internal import KeychainModel
internal import KeychainStore
internal import Synchronization

/// The keychain files of a host's process, each opened once for all its clients: what one client has unlocked is unlocked for the others.
///
/// A file stays open while a client uses it or it is unlocked.
public final class SharedKeychains: Sendable {
    private let opened = Mutex<[String: LocalKeychain]>([:])
    private let isForSession: Bool

    /// The files of a host for one program.
    public convenience init() { self.init(forSession: false) }

    /// - Parameter isForSession: whether the host serves the programs of a session.
    package init(forSession isForSession: Bool) { self.isForSession = isForSession }

    /// The keychain in a file.
    ///
    /// - Throws: as ``LocalKeychain/open(_:)``.
    func keychain(at path: String) throws(KeychainError) -> LocalKeychain {
        if let known = known(at: path) { return known }
        // The file may be open under another path.
        let file = try KeychainFile(existing: path)
        if let known = known(at: file.path) { return known }
        return adopt(try LocalKeychain.open(file.path))
    }

    private func known(at path: String) -> LocalKeychain? {
        guard let known = opened.withLock({ $0[path] }), known.isValid else { return nil }
        return known
    }

    /// Takes in a keychain that was just opened or created.
    ///
    /// - Returns: the keychain that another thread has opened in the same file meanwhile, perhaps to unlock it; else the given one.
    @discardableResult
    func adopt(_ keychain: LocalKeychain) -> LocalKeychain {
        let former = opened.withLock { opened -> LocalKeychain? in
            if let other = opened[keychain.path], other.isValid { return other }
            return opened.updateValue(keychain, forKey: keychain.path)
        }
        if let former, former.isValid { return former }
        // Its file is gone, and nobody will use its key.
        former?.lock()
        if isForSession { keychain.share() }
        return keychain
    }

    /// Closes the files that no client uses. A session's host keeps those that are unlocked.
    func closeUnused() {
        // They are released outside the lock: the end of their timers may wait.
        var unused: [LocalKeychain] = []
        opened.withLock { opened in
            for path in Array(opened.keys) where isKnownUniquelyReferenced(&opened[path]) {
                guard let keychain = opened[path], !isForSession || keychain.isLocked else { continue }
                unused.append(keychain)
                opened[path] = nil
            }
        }
    }

    /// The open keychain of a place that is unlocked; nil without one.
    func unlocked(at place: String) -> LocalKeychain? {
        opened.withLock { Array($0.values) }.first { $0.accessPlace == place && !$0.isLocked }
    }

    /// The keychain in a file that is open and unlocked; nil without one.
    func unlocked(inFile path: String) -> LocalKeychain? {
        guard let keychain = known(at: path) ?? (try? KeychainFile(existing: path)).flatMap({ known(at: $0.path) }),
            !keychain.isLocked
        else { return nil }
        return keychain
    }

    /// The open keychains that are unlocked, in the order of their paths.
    var allUnlocked: [LocalKeychain] {
        opened.withLock { Array($0.values) }.filter { !$0.isLocked }.sorted { $0.path < $1.path }
    }

    /// Whether a keychain is unlocked, or in use just now. Does not wait.
    package var mayBeUnlocked: Bool { opened.withLock { Array($0.values) }.contains { $0.state.mayHaveKey } }

    /// The paths of the keychains that are unlocked, in alphabetical order.
    package var unlocked: [String] { allUnlocked.map(\.path) }

    /// Locks the open keychains for all clients.
    ///
    /// - Parameter isIncluded: whether a keychain is locked.
    package func lock(where isIncluded: (LocalKeychain) -> Bool = { _ in true }) {
        for keychain in opened.withLock({ Array($0.values) }) where isIncluded(keychain) { keychain.lock() }
        closeUnused()
    }
}

extension LocalKeychain {
    /// Whether the keychain's settings lock it on sleep; true where they cannot be read.
    package var locksOnSleep: Bool { (try? settings.locksOnSleep) ?? true }
}
