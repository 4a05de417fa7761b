package import KeychainModel

/// The channel between the programs of a user, as long as they share no host: for changes of keychains, and blocked PINs.
package protocol SessionSignals: Sendable {
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

/// The signals of programs that share no host: the WAL files of keychains, and a file in a folder of the session.
package struct ProgramSignals: SessionSignals {
    private let folder: @Sendable () -> String?

    /// - Parameter folder: the user's folder that is emptied when the machine is switched off; nil for none. It is asked for each time,
    ///   since it may be made or removed.
    package init(_ folder: @escaping @Sendable () -> String?) {
        self.folder = folder
    }

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
