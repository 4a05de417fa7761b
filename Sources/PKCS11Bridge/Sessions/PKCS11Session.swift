internal import KeychainModel
package import CCryptoki
internal import SecureBytes
internal import Synchronization
internal import SystemCrypto

/// A program's session with a token. Its calls are made one after the other, in parallel with those of other sessions.
final class PKCS11Session: Sendable {
    let handle: CK_SESSION_HANDLE
    let slot: Slot

    /// The generation of the session's token.
    let generation: Int
    let isWritable: Bool
    let state = Mutex(State())
    private let canceled = Mutex<CanceledUse?>(nil)

    /// A use of a key for which a person cancelled the prompt, and the time.
    private struct CanceledUse {
        let key: ObjectName
        let use: KeyUse
        let time: ContinuousClock.Instant
    }

    struct State: ~Copyable {
        /// The handles that a search has found and the program has not fetched; nil for no search.
        var search: ArraySlice<CK_OBJECT_HANDLE>?
        var signature: SignatureOperation?
        var verification: SignatureOperation?
        var encryption: CipherOperation?
        var decryption: CipherOperation?
        var digest: Input?
    }

    init(_ handle: CK_SESSION_HANDLE, _ slot: Slot, generation: Int, isWritable: Bool) {
        self.handle = handle
        self.slot = slot
        self.generation = generation
        self.isWritable = isWritable
    }

    /// Uses a private key of the session's token, or of a session with it.
    ///
    /// A use that was just cancelled prompts no second time, since OpenSSL repeats a failed ECDSA signature.
    func perform(
        _ use: KeyUse, with key: CryptokiObject, isAuthorized: Bool = false
    ) throws(CryptokiError) -> Secret {
        guard let own = key.sessionKey else {
            if let canceled = canceled.withLock({ $0 }), canceled.key == key.name, canceled.use == use,
                canceled.time.duration(to: .now) < PKCS11Session.memoryOfCanceling
            {
                throw CryptokiError(CKR_FUNCTION_CANCELED, "the same was canceled a moment ago")
            }
            do throws(CryptokiError) {
                return try slot.perform(use, with: key, isAuthorized: isAuthorized)
            } catch {
                if error.code == CKR_FUNCTION_CANCELED {
                    canceled.withLock { $0 = CanceledUse(key: key.name, use: use, time: .now) }
                }
                throw error
            }
        }
        return try CryptokiError.mappingUse { () throws(KeychainError) in
            do throws(CryptoError) { return try own.perform(use.step, use.input) } catch { throw KeychainError(error) }
        }
    }

    /// A person needs longer than this to try again.
    private static let memoryOfCanceling = Duration.seconds(1)

    /// - Parameter login: the login in which the operation was begun.
    /// - Throws: `CKR_USER_NOT_LOGGED_IN` where the login is over, and the key needs one; `CKR_DEVICE_REMOVED` where the token is
    ///   out.
    func requireLogin(_ login: Int?, for key: CryptokiObject) throws(CryptokiError) {
        guard key.isPrivate, slot.login != login else { return }
        let present = try CryptokiError.removed { () throws(CryptokiError) in try slot.generation() }
        throw CryptokiError(present == generation ? CKR_USER_NOT_LOGGED_IN : CKR_DEVICE_REMOVED, "the login is over")
    }

    /// Ends operations with the user's keys, with logins for one use, and decrypted data.
    func endPrivateOperations() {
        state.withLock { state in
            if state.signature?.key.isPrivate == true { state.signature = nil }
            if state.verification?.key.isPrivate == true { state.verification = nil }
            if state.encryption?.key.isPrivate == true { state.encryption = nil }
            if state.decryption?.key.isPrivate == true { state.decryption = nil }
        }
    }

    /// PKCS #11 §5.6, `CK_STATE`.
    var stateNumber: CK_STATE {
        guard !slot.isSecurityOfficer else { return CKS_RW_SO_FUNCTIONS }
        return switch (slot.isLoggedIn, isWritable) {
        case (false, false): CKS_RO_PUBLIC_SESSION
        case (false, true): CKS_RW_PUBLIC_SESSION
        case (true, false): CKS_RO_USER_FUNCTIONS
        case (true, true): CKS_RW_USER_FUNCTIONS
        }
    }
}

/// The content of `C_GetSessionInfo`.
package struct SessionInfo: Sendable {
    package let slot: CK_SLOT_ID
    package let state: CK_STATE
    package let flags: CK_FLAGS
}

extension Cryptoki {
    /// PKCS #11 3.0 §5.6.7: ends the operations of a session that the flags name.
    package func cancel(_ handle: CK_SESSION_HANDLE, flags: CK_FLAGS) throws(CryptokiError) {
        try session(handle).state.withLock { state in
            if flags & CKF_SIGN != 0 { state.signature = nil }
            if flags & CKF_VERIFY != 0 { state.verification = nil }
            if flags & CKF_ENCRYPT != 0 { state.encryption = nil }
            if flags & CKF_DECRYPT != 0 { state.decryption = nil }
            if flags & CKF_DIGEST != 0 { state.digest = nil }
            if flags & findObjectsFlag != 0 { state.search = nil }
        }
    }

    /// Ends the present operation, for a function that begins one but is given no mechanism. PKCS #11 3.0 §5.8 and later
    /// sections.
    ///
    /// - Throws: `CKR_ARGUMENTS_BAD` where there is no operation.
    package func cancelBegun(_ handle: CK_SESSION_HANDLE, _ flag: CK_FLAGS) throws(CryptokiError) {
        let hasBegun = try session(handle).state.withLock { state in
            switch flag {
            case CKF_SIGN: state.signature != nil
            case CKF_VERIFY: state.verification != nil
            case CKF_ENCRYPT: state.encryption != nil
            case CKF_DECRYPT: state.decryption != nil
            default: state.digest != nil
            }
        }
        guard hasBegun else { throw CryptokiError(CKR_ARGUMENTS_BAD, "no mechanism, and nothing to end") }
        try cancel(handle, flags: flag)
    }
}

/// `CKF_FIND_OBJECTS` of 3.0.
private let findObjectsFlag: CK_FLAGS = 1 << 6
