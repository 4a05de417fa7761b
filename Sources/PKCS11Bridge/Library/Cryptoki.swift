package import CCryptoki
package import HostAPI
package import SecureBytes
internal import Synchronization
internal import Wire

/// The module between `C_Initialize` and `C_Finalize`: slots, sessions and handles of one process.
///
/// Each function of the standard is a method in an extension, without pointers.
package final class Cryptoki: Sendable {
    package let log: Log

    let slots: SlotTable
    let handles: HandleTable
    let events: SlotEvents

    private let sessions: Mutex<Sessions>

    private struct Sessions {
        var last: CK_SESSION_HANDLE
        var open: [CK_SESSION_HANDLE: PKCS11Session] = [:]
        /// The generation of the token that the last session was opened with, by slot.
        var generations: [CK_SLOT_ID: Int] = [:]
    }

    /// Asks no card, and reads no file.
    ///
    /// - Parameters:
    ///   - service: the host as this program sees it; it ends with the module.
    ///   - firstHandle: the number above which all handles are, so that handles of a former host are invalid here.
    package init(
        _ service: any InProcessHost, filter: TokenFilter = TokenFilter(), promptPolicy: PromptPolicy = PromptPolicy(),
        firstHandle: CK_ULONG = 0, log: Log = Log()
    ) {
        handles = HandleTable(after: firstHandle)
        sessions = Mutex(Sessions(last: firstHandle))
        slots = SlotTable(service, filter, promptPolicy, log)
        events = SlotEvents(slots, service)
        self.log = log
    }

    /// Ends waits for slot events, releases cards and forgets PINs.
    package func finalize() {
        events.cancel()
        sessions.withLock { $0.open = [:] }
        slots.letGo()
    }

    // MARK: Sessions

    /// The session of a handle.
    ///
    /// - Parameter checkingPresence: whether to check that the session's card is still in. Without the check, another card is
    ///   noticed only after a call has found it.
    /// - Throws: `CKR_SESSION_HANDLE_INVALID`, also where another card has come; `CKR_DEVICE_REMOVED` while there is none.
    func session(_ handle: CK_SESSION_HANDLE, checkingPresence: Bool = false) throws(CryptokiError) -> PKCS11Session {
        guard let session = sessions.withLock({ $0.open[handle] }) else {
            throw CryptokiError(CKR_SESSION_HANDLE_INVALID, "session \(handle)")
        }
        guard checkingPresence || session.slot.knownGeneration != session.generation else { return session }
        let generation = try CryptokiError.removed { () throws(CryptokiError) in try session.slot.generation() }
        guard generation == session.generation else {
            // A card may be put back; a file that another has replaced is gone.
            guard session.slot.isCard else { throw CryptokiError(CKR_DEVICE_REMOVED, "another file has come") }
            close([session])
            throw CryptokiError(CKR_SESSION_HANDLE_INVALID, "another card has come")
        }
        return session
    }

    private func close(_ closing: [PKCS11Session]) {
        let handles = Set(closing.map(\.handle))
        sessions.withLock { sessions in for handle in handles { sessions.open.removeValue(forKey: handle) } }
        self.handles.removeObjects(of: handles)
    }

    /// PKCS #11 §5.6.1.
    package func openSession(_ slotID: CK_SLOT_ID, flags: CK_FLAGS) throws(CryptokiError) -> CK_SESSION_HANDLE {
        let slot = try slots.slot(slotID)
        guard flags & CKF_SERIAL_SESSION != 0 else { throw CryptokiError(CKR_SESSION_PARALLEL_NOT_SUPPORTED) }
        let generation = try slot.generation()
        forgetTokens(before: generation, in: slotID)
        guard flags & CKF_RW_SESSION != 0 || !slot.isSecurityOfficer else {
            throw CryptokiError(CKR_SESSION_READ_WRITE_SO_EXISTS)
        }
        return try slot.sessionGate.withLock { () throws(CryptokiError) in
            try sessions.withLock { sessions throws(CryptokiError) in
                guard sessions.open.count < SessionLimit.count else {
                    throw CryptokiError(CKR_SESSION_COUNT, "\(SessionLimit.count) sessions are open")
                }
                sessions.last += 1
                // Every token allows read-write sessions, since programs open them without writing.
                sessions.open[sessions.last] = PKCS11Session(
                    sessions.last, slot, generation: generation, isWritable: flags & CKF_RW_SESSION != 0)
                return sessions.last
            }
        }
    }

    /// Ends the objects of cards that were in the slot before: their handles stay invalid, also if such a card comes
    /// back.
    private func forgetTokens(before generation: Int, in slot: CK_SLOT_ID) {
        let earlier = sessions.withLock { sessions -> [PKCS11Session]? in
            guard sessions.generations.updateValue(generation, forKey: slot) != generation else { return nil }
            return sessions.open.values.filter { $0.slot.id == slot && $0.generation < generation }
        }
        guard let earlier else { return }
        close(earlier)
        handles.removeObjects(of: slot, before: generation)
    }

    /// PKCS #11 §5.6.2. The user is logged out with the last session.
    package func closeSession(_ handle: CK_SESSION_HANDLE) throws(CryptokiError) {
        let session = try session(handle)
        close([session])
        logOutIfUnused(session.slot)
    }

    /// PKCS #11 §5.6.3.
    package func closeAllSessions(_ slotID: CK_SLOT_ID) throws(CryptokiError) {
        let slot = try slots.slot(slotID)
        close(sessions.withLock { $0.open.values.filter { $0.slot.id == slotID } })
        logOutIfUnused(slot)
    }

    private func logOutIfUnused(_ slot: Slot) {
        slot.sessionGate.withLock {
            let isUsed = sessions.withLock { $0.open.values.contains { $0.slot.id == slot.id } }
            if !isUsed, slot.isLoggedIn { slot.logOut() }
        }
    }

    /// PKCS #11 §5.6.4.
    package func sessionInfo(_ handle: CK_SESSION_HANDLE) throws(CryptokiError) -> SessionInfo {
        let session = try session(handle)
        session.slot.noticeEndOfLogin()
        return SessionInfo(
            slot: session.slot.id, state: session.stateNumber,
            flags: CKF_SERIAL_SESSION | (session.isWritable ? CKF_RW_SESSION : 0))
    }

    /// The number of sessions with a token, and of those that may write.
    package func sessionCounts(_ slotID: CK_SLOT_ID) -> (all: Int, writable: Int) {
        sessions.withLock { sessions in
            let own = sessions.open.values.filter { $0.slot.id == slotID }
            return (own.count, own.count(where: \.isWritable))
        }
    }

    // MARK: Login

    /// PKCS #11 §5.6.8.
    ///
    /// - Parameter pin: nil where the token is to ask for it.
    /// - Throws: `CKR_SESSION_CLOSED` where the session is closed meanwhile.
    package func logIn(
        _ handle: CK_SESSION_HANDLE, _ user: CK_USER_TYPE, pin: consuming Secret?
    ) throws(CryptokiError) {
        let session = try session(handle, checkingPresence: true)
        if session.slot.promptPolicy.isRemote {
            guard user != CKU_SO else { throw CryptokiError(CKR_TOKEN_WRITE_PROTECTED, Cryptoki.onlyHere) }
            guard pin == nil else {
                throw CryptokiError(
                    CKR_ARGUMENTS_BAD, "a PIN is asked for at the host's machine, and not taken from another one")
            }
        }
        switch user {
        case CKU_USER:
            guard !session.slot.isSecurityOfficer else { throw CryptokiError(CKR_USER_ANOTHER_ALREADY_LOGGED_IN) }
            try session.slot.logIn(pin)
            handles.removePrivateSessionObjects(of: session.slot.id, before: session.slot.login)
            // The session may have been closed while a person was asked.
            guard sessions.withLock({ $0.open[handle] != nil }) else {
                logOut(of: session.slot)
                throw CryptokiError(CKR_SESSION_CLOSED, "it was closed before the PIN was given")
            }
        case CKU_CONTEXT_SPECIFIC: try logInForOneUse(session, pin)
        case CKU_SO where session.slot.isCard: try logInAsSecurityOfficer(session, pin)
        default: throw CryptokiError(CKR_USER_TYPE_INVALID)
        }
    }

    private func logInAsSecurityOfficer(
        _ session: PKCS11Session, _ key: consuming Secret?
    ) throws(CryptokiError) {
        let slot = session.slot
        guard !slot.isLoggedIn else {
            throw CryptokiError(
                slot.isSecurityOfficer ? CKR_USER_ALREADY_LOGGED_IN : CKR_USER_ANOTHER_ALREADY_LOGGED_IN)
        }
        let areWritable = sessions.withLock { $0.open.values.allSatisfy { $0.slot.id != slot.id || $0.isWritable } }
        guard areWritable else { throw CryptokiError(CKR_SESSION_READ_ONLY_EXISTS) }
        try slot.logInAsSecurityOfficer(key)
        // The session may have been closed while a person was asked.
        guard sessions.withLock({ $0.open[session.handle] != nil }) else {
            logOut(of: slot)
            throw CryptokiError(CKR_SESSION_CLOSED, "it was closed before the management key was given")
        }
    }

    private func logInForOneUse(_ session: PKCS11Session, _ pin: consuming Secret?) throws(CryptokiError) {
        // The session's lock is not held while a person is asked.
        guard session.state.withLock({ $0.signature != nil || $0.decryption != nil }) else {
            throw Cryptoki.nothingToLogInFor
        }
        try session.slot.logInForOneUse(pin)
        try session.state.withLock { state throws(CryptokiError) in
            if state.signature != nil {
                state.signature?.isAuthorized = true
            } else if state.decryption != nil {
                state.decryption?.isAuthorized = true
            } else {
                throw Cryptoki.nothingToLogInFor
            }
        }
    }

    /// The reason for which another machine's changes are refused.
    static let onlyHere = "tokens are changed at the host's machine alone"

    private static let nothingToLogInFor = CryptokiError(
        CKR_OPERATION_NOT_INITIALIZED, "there is nothing begun to log in for")

    /// PKCS #11 §5.6.10.
    package func logOut(_ handle: CK_SESSION_HANDLE) throws(CryptokiError) {
        let session = try session(handle)
        guard session.slot.isLoggedIn else { throw CryptokiError(CKR_USER_NOT_LOGGED_IN) }
        logOut(of: session.slot)
    }

    private func logOut(of slot: Slot) {
        slot.logOut()
        let others = sessions.withLock { $0.open.values.filter { $0.slot.id == slot.id } }
        for session in others { session.endPrivateOperations() }
        handles.removePrivateObjects(of: slot.id)
    }

    /// PKCS #11 §5.5.9.
    package func setPIN(
        _ handle: CK_SESSION_HANDLE, from old: consuming Secret?, to new: consuming Secret?
    ) throws(CryptokiError) {
        let session = try session(handle, checkingPresence: true)
        guard !session.slot.promptPolicy.isRemote else {
            throw CryptokiError(CKR_TOKEN_WRITE_PROTECTED, Cryptoki.onlyHere)
        }
        guard session.isWritable else { throw CryptokiError(CKR_SESSION_READ_ONLY) }
        guard !session.slot.isSecurityOfficer else { return try session.slot.setManagementKey(from: old, to: new) }
        try session.slot.setPIN(from: old, to: new)
    }

    /// Sets a new PIN of the user. PKCS #11 §5.5.8.
    ///
    /// - Parameter pin: nil where a person is to be asked for it.
    package func initPIN(_ handle: CK_SESSION_HANDLE, _ pin: consuming Secret?) throws(CryptokiError) {
        let session = try session(handle, checkingPresence: true)
        guard session.slot.isSecurityOfficer else { throw CryptokiError(CKR_USER_NOT_LOGGED_IN) }
        try session.slot.initializePIN(to: pin)
    }
}
