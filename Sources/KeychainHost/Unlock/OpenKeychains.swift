internal import KeychainModel
internal import Synchronization

/// The keychains that are open in this process, for any client.
enum OpenKeychains {
    private struct Entry {
        weak var keychain: LocalKeychain?
    }

    private static let entries = Mutex<[ObjectIdentifier: Entry]>([:])

    static func add(_ keychain: LocalKeychain) {
        entries.withLock { $0[ObjectIdentifier(keychain)] = Entry(keychain: keychain) }
    }

    static func remove(_ keychain: LocalKeychain) {
        _ = entries.withLock { $0.removeValue(forKey: ObjectIdentifier(keychain)) }
    }

    /// The keychains by their paths. Several clients may have the same file open.
    static var byPath: [String: [LocalKeychain]] {
        Dictionary(grouping: entries.withLock { $0.values.compactMap(\.keychain) }, by: \.path)
    }
}

extension KeychainPreferences {
    /// Locks keychains for all clients of this process and in the login session: those that are open here, and those of the search list.
    ///
    /// A keychain that the session cannot lock, for instance because its file is gone, is locked here.
    ///
    /// - Parameter isIncluded: whether a keychain is locked.
    package func lockKeychains(where isIncluded: (LocalKeychain) -> Bool) {
        var keychains = OpenKeychains.byPath
        for listed in (try? open().found) ?? [] where keychains[listed.path] == nil {
            keychains[listed.path] = [listed]
        }
        for opened in keychains.values {
            for (number, keychain) in opened.enumerated() where isIncluded(keychain) {
                // The first one takes the key from the session, which the others notice. A lock of the session is recorded once.
                if number == 0 { try? keychain.lockEverywhere() }
                if !keychain.isLocked { keychain.lock() }
            }
        }
    }
}

extension LocalKeychain {
    /// Whether the keychain's settings lock it on sleep; true where they cannot be read.
    package var locksOnSleep: Bool { (try? settings.locksOnSleep) ?? true }
}
