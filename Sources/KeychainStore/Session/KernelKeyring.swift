package import KeychainModel
internal import CLinux
internal import Glibc
internal import Platform
package import SecureBytes

/// The kernel's keyring of the login session, where one process can leave a key for the next without writing it down.
///
/// The kernel keeps the bytes in memory that is never swapped. A key is readable by programs of the same session, and
/// goes away with its timeout, by ``revoke(_:)``, or with the session. Where no session was begun for the process, the
/// keyring of the user's session-less processes takes its place. keyrings(7).
///
/// Programs of other users that inherit the session find its secrets encrypted under a ``SessionSecret``. Like every
/// such cache, it does not protect against programs of the same user.
package enum KernelKeyring {
    /// The longest payload, in bytes; the kernel's own limit for keys of type `user`.
    private static let maximumPayload = 32_767
    /// The longest secret, in bytes.
    static let maximumLength = maximumPayload - SessionSecret.overhead

    /// Keeps a secret under a description, replacing an earlier one.
    ///
    /// - Parameters:
    ///   - seconds: the time that the secret is kept; at least 1.
    ///   - folder: where the user's ``SessionSecret`` is, or is made.
    /// - Throws: `errSecNotAvailable` where there is no keyring, as in many containers, or no folder of the session.
    package static func store(
        _ secret: borrowing Secret, as description: String, seconds: UInt32, wrappedIn folder: String?
    ) throws(KeychainError) {
        guard seconds > 0, !secret.isEmpty, secret.count <= maximumLength else { throw KeychainError(.param) }
        let keyring = try sessionKeyring()
        let sealed = try SessionSecret.make(in: folder).seal(secret, as: description)
        let added = unsafe sealed.withUnsafeBytes { buffer in
            unsafe clinux_add_user_key(description, buffer.baseAddress, buffer.count, keyring)
        }
        let key = try serial(added, "keep a key")
        do {
            // Access for the possessor alone and the timeout are set before another process is told that the key is
            // there. The right to write serves to replace the secret later.
            let permissions =
                CLINUX_KEY_POSSESSOR_VIEW | CLINUX_KEY_POSSESSOR_READ | CLINUX_KEY_POSSESSOR_WRITE
                | CLINUX_KEY_POSSESSOR_SEARCH | CLINUX_KEY_POSSESSOR_SETATTR
            try check(clinux_set_key_timeout(key, seconds), "limit a key's time")
            try check(clinux_set_key_permissions(key, permissions), "protect a key")
        } catch {
            _ = clinux_revoke_key(key)
            throw error
        }
    }

    /// The secret under a description; nil if it is absent or expired, or another user's.
    ///
    /// - Parameter folder: where the user's ``SessionSecret`` is.
    /// - Throws: `errSecNotAvailable` where there is no keyring.
    package static func secret(
        _ description: String, wrappedIn folder: String?
    ) throws(KeychainError) -> Secret? {
        guard let key = try find(description), let wrapping = SessionSecret(in: folder) else { return nil }
        let length = clinux_read_key(key, nil, 0)
        guard !isAbsent(length) else { return nil }
        try check(length, "read a key")
        guard length <= maximumPayload else { throw KeychainError(.dataTooLarge) }
        var sealed = [UInt8](repeating: 0, count: length)
        let read = unsafe sealed.withUnsafeMutableBytes { unsafe clinux_read_key(key, $0.baseAddress, $0.count) }
        guard !isAbsent(read) else { return nil }
        try check(read, "read a key")
        // Another process may have replaced it in between.
        guard read == length else { return nil }
        return wrapping.open(sealed, as: description)
    }

    /// Whether there is a key under the description.
    static func contains(_ description: String) throws(KeychainError) -> Bool {
        try find(description) != nil
    }

    /// Sets the time for which a key is kept, in seconds from now.
    ///
    /// - Returns: whether there is one.
    static func keep(_ description: String, seconds: UInt32) throws(KeychainError) -> Bool {
        guard let key = try find(description) else { return false }
        let result = clinux_set_key_timeout(key, max(seconds, 1))
        guard !isAbsent(result) else { return false }
        try check(result, "limit a key's time")
        return true
    }

    /// Revokes a key, also for processes that have found it already.
    ///
    /// - Returns: whether there was one.
    @discardableResult
    package static func revoke(_ description: String) throws(KeychainError) -> Bool {
        guard let key = try find(description) else { return false }
        let result = clinux_revoke_key(key)
        guard !isAbsent(result) else { return false }
        try check(result, "revoke a key")
        return true
    }

    private static func find(_ description: String) throws(KeychainError) -> Int32? {
        let keyring = try sessionKeyring()
        let found = unsafe clinux_search_user_key(keyring, description)
        return isAbsent(found) ? nil : try serial(found, "find a key")
    }

    /// The session's keyring by its number. Adding to `KEY_SPEC_SESSION_KEYRING` itself would begin a new session for
    /// this process alone where the process has none.
    private static func sessionKeyring() throws(KeychainError) -> Int32 {
        try serial(clinux_keyring_id(KEY_SPEC_SESSION_KEYRING), "find the session")
    }

    private static func serial(_ result: Int, _ operation: String) throws(KeychainError) -> Int32 {
        try check(result, operation)
        guard let serial = Int32(exactly: result) else {
            throw KeychainError(.internal, "cannot \(operation) in the kernel's keyring")
        }
        return serial
    }

    private static func isAbsent(_ result: Int) -> Bool {
        [ENOKEY, EKEYEXPIRED, EKEYREVOKED].contains { result == -Int($0) }
    }

    private static func check(_ result: Int, _ operation: String) throws(KeychainError) {
        guard result < 0 else { return }
        let reason = SystemError(Int32(truncatingIfNeeded: -result)).reason
        throw KeychainError(
            .notAvailable, "cannot \(operation) in the kernel's keyring: \(reason)",
            remedy: "the keychain can still be unlocked for one program at a time")
    }
}
