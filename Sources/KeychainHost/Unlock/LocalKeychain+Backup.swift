internal import KeychainStore
internal import KeychainModel
internal import Localization
internal import SecureBytes

// A backup is a keychain file like any other, made at one moment, without the items that never leave their device.
// Keychain semantics 3.1.
extension LocalKeychain {
    /// Writes all items that may leave this device to a new file, with their secrets encrypted as they are. Other
    /// programs can write meanwhile, and the keychain may be locked.
    ///
    /// - Throws: `errSecDuplicateKeychain` if anything is at `path`, `errSecDiskFull`; no backup is left then.
    func backUp(to path: String) throws(KeychainError) -> BackupCount {
        // No folder is made: a missing one may belong to a disk that is missing, and a backup in a new one would not be
        // found later.
        let file = try KeychainFile(new: path, makesFolders: false)
        try file.checkAbsent()
        return try use { opened throws(KeychainError) in try opened.backUp(to: file) }
    }

    /// Checks that a file is a backup, before a person is asked for its password.
    ///
    /// - Throws: `errSecInvalidKeychain` for any other file, and the errors of ``open(_:)`` for its path.
    static func checkBackup(_ backup: String) throws(KeychainError) {
        do throws(KeychainError) { try KeychainFile.check(backup) } catch { throw error.ofBackup }
    }

    /// Restores a keychain from a backup, unlocked, once every item in it has been checked.
    ///
    /// It replaces its original: its id, the references of its items and mentions of it elsewhere stay valid, whatever
    /// the name of the new file. Beside its original it is another keychain, with an id and item references of its own.
    ///
    /// - Parameter others: the keychains that are used beside it.
    /// - Throws: `errSecDuplicateKeychain` if anything is at `path`, `errSecAuthFailed` for a wrong password,
    ///   `errSecInvalidKeychain` for a backup that is damaged; no keychain is left then.
    static func restore(
        _ backup: String, to path: String, password: borrowing Secret, beside others: [KeychainIdentifier] = []
    ) throws(KeychainError) -> LocalKeychain {
        let source = try KeychainFile(existing: backup)
        let file = try KeychainFile(new: path)
        try file.checkAbsent()
        let key: Secret
        do throws(KeychainError) {
            key = try KeychainConnection.restore(source, to: file, password: password, beside: others)
        } catch {
            throw error.ofBackup
        }
        let keychain = try open(file.path)
        try keychain.take(key)
        return keychain
    }
}

extension KeychainError {
    /// The error as one about a backup: it cannot be restored from itself.
    fileprivate var ofBackup: KeychainError {
        code == .invalidKeychain && remedy != nil ? KeychainError(code, reasonText, remedy: "use another backup") : self
    }
}
