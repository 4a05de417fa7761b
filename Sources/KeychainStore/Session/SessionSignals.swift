package import KeychainModel
package import SecureBytes

/// The channel between the programs of a user, as long as they share no host: for the keys of unlocked keychains, changes of keychains, and
/// blocked PINs.
package protocol SessionSignals: Sendable {
    // MARK: Keys of unlocked keychains

    /// Keeps a key for the programs of the login session, in place of an earlier one of the name.
    ///
    /// - Parameter seconds: the time that it is kept; at least 1.
    /// - Throws: `errSecNotAvailable` where nothing is kept for a session.
    func keep(_ key: borrowing Secret, as name: String, seconds: UInt32) throws(KeychainError)

    /// The key of a name; nil if it is absent or its time is over.
    func key(_ name: String) throws(KeychainError) -> Secret?

    func hasKey(_ name: String) throws(KeychainError) -> Bool

    /// Sets the time for which a key is kept, in seconds from now.
    ///
    /// - Returns: whether there is one.
    func prolong(_ name: String, to seconds: UInt32) throws(KeychainError) -> Bool

    /// Takes a key from all programs of the session.
    ///
    /// - Returns: whether there was one.
    func withdraw(_ name: String) throws(KeychainError) -> Bool

    // MARK: Changes

    /// Wakes the programs that listen for changes of a keychain's file.
    ///
    /// - Parameter path: without symbolic links.
    func tellOfChange(of path: String)

    /// Whether a program may listen for them.
    func hasListeners(to path: String) -> Bool

    /// A descriptor that listens until it is closed; negative where that is not possible.
    func listen(to path: String) -> Int32

    /// The file that is opened for writing whenever the keychain at a path has changed, for inotify(7).
    func signalFile(of path: String) -> String

    // MARK: Blocked PINs

    /// Tells the user's other programs that the PIN of a card is blocked: no card tells it by itself, and asking would cost commands.
    func tellOfBlockedPIN(in reader: String)

    /// The PINs that other programs said are blocked, after a position, which moves to the end.
    func blockedPINs(after position: inout Int) -> [KeychainEvent]

    /// The folder in which something changes whenever a program says so; nil where programs are not told.
    var folderOfBlockedPINs: String? { get }
}

/// The signals of programs that share no host: the kernel's keyring, the WAL files of keychains, and a file in a folder of the session.
package struct ProgramSignals: SessionSignals {
    private let folder: @Sendable () -> String?

    /// - Parameter folder: the user's folder that is emptied when the machine is switched off; nil for none. It is asked for each time,
    ///   since it may be made or removed.
    package init(_ folder: @escaping @Sendable () -> String?) {
        self.folder = folder
    }

    package func keep(_ key: borrowing Secret, as name: String, seconds: UInt32) throws(KeychainError) {
        try KernelKeyring.store(key, as: name, seconds: seconds, wrappedIn: folder())
    }

    package func key(_ name: String) throws(KeychainError) -> Secret? {
        try KernelKeyring.secret(name, wrappedIn: folder())
    }

    package func hasKey(_ name: String) throws(KeychainError) -> Bool { try KernelKeyring.contains(name) }

    package func prolong(_ name: String, to seconds: UInt32) throws(KeychainError) -> Bool {
        try KernelKeyring.keep(name, seconds: seconds)
    }

    package func withdraw(_ name: String) throws(KeychainError) -> Bool { try KernelKeyring.revoke(name) }

    package func tellOfChange(of path: String) { ChangeNotifier(of: path).notify() }

    package func hasListeners(to path: String) -> Bool { ChangeNotifier(of: path).hasListeners }

    package func listen(to path: String) -> Int32 { ChangeNotifier(of: path).listen() }

    package func signalFile(of path: String) -> String { ChangeNotifier(of: path).log }

    package func tellOfBlockedPIN(in reader: String) { BlockedPINs(in: folder()).note(reader: reader) }

    package func blockedPINs(after position: inout Int) -> [KeychainEvent] {
        BlockedPINs(in: folder()).events(after: &position)
    }

    package var folderOfBlockedPINs: String? { BlockedPINs(in: folder()).folder }
}
