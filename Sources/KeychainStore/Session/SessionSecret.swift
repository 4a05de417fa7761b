internal import KeychainModel
internal import Platform
internal import SecureBytes
internal import SystemCrypto

/// The key that encrypts a user's secrets in the kernel's keyring of the login session.
///
/// Programs of other users that `sudo` or `su` starts inherit the session and its keyring. The key lies in a file that
/// only this user can read and that is gone when the machine is off, so that reading a secret from the keyring takes
/// both the user and the session.
struct SessionSecret: ~Copyable {
    private let key: Secret

    private static let length = 32

    /// - Parameter folder: the user's folder, which is emptied when the machine is off.
    /// - Returns: nil where none was made yet, or another user could have made it.
    init?(in folder: String?) {
        guard let folder = folder.map(SessionSecret.place), Folder.isOwn(folder),
            var bytes = OwnFile.read("\(folder)/key", limit: SessionSecret.length), bytes.count == SessionSecret.length
        else { return nil }
        key = Secret(consuming: &bytes)
    }

    /// The existing secret, or a new one.
    ///
    /// - Throws: `errSecNotAvailable` where there is no folder for it.
    static func make(in folder: String?) throws(KeychainError) -> SessionSecret {
        if let folder, SessionSecret(in: folder) == nil, var bytes = try? RandomBytes.make(count: length) {
            try? Folder(path: place(in: folder)).make()
            try? AtomicFile.create("\(place(in: folder))/key", with: bytes.span, isLasting: false)
            bytes.wipe()
        }
        guard let made = SessionSecret(in: folder) else {
            throw KeychainError(
                .notAvailable,
                "there is no folder of the session in which the key's wrapping would be this user's alone",
                remedy: "set XDG_RUNTIME_DIR; the keychain can still be unlocked for one program at a time")
        }
        return made
    }

    private static func place(in folder: String) -> String { "\(folder)/tokenkit-session" }

    // MARK: Wrapping

    /// The length that sealing adds, in bytes.
    static let overhead = SealedBox.overhead

    /// - Parameter description: the secret's name in the keyring; it does not open under another name.
    borrowing func seal(_ secret: borrowing Secret, as description: String) throws(KeychainError) -> [UInt8] {
        do throws(CryptoError) {
            return try SealedBox.seal(secret.bytes, key: key, authenticating: Self.data(description))
        } catch {
            throw KeychainError(error)
        }
    }

    /// - Returns: nil for what was not sealed with this value under this name.
    borrowing func open(_ sealed: [UInt8], as description: String) -> Secret? {
        do throws(CryptoError) {
            return try SealedBox.open(sealed, key: key, authenticating: Self.data(description))
        } catch {
            return nil
        }
    }

    private static func data(_ description: String) -> AssociatedData {
        var data = AssociatedData("tokenkit session keyring 1")
        data.append(Array(description.utf8))
        return data
    }
}
