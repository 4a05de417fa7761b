public import CCryptoki
internal import PKCS11Bridge
internal import TokenKit

// PKCS #11 §5.6, sessions, and §5.5.9.

@c @implementation
public func C_OpenSession(
    _ slot: CK_SLOT_ID, _ flags: CK_FLAGS, _ application: UnsafeMutableRawPointer?, _ notify: CK_NOTIFY?,
    _ session: UnsafeMutablePointer<CK_SESSION_HANDLE>?
) -> CK_RV {
    call { cryptoki throws(CryptokiError) in
        let session = try unsafe required(session)
        unsafe session.pointee = try cryptoki.openSession(slot, flags: flags)
    }
}

@c @implementation
public func C_CloseSession(_ session: CK_SESSION_HANDLE) -> CK_RV {
    call { cryptoki throws(CryptokiError) in try cryptoki.closeSession(session) }
}

@c @implementation
public func C_CloseAllSessions(_ slot: CK_SLOT_ID) -> CK_RV {
    call { cryptoki throws(CryptokiError) in try cryptoki.closeAllSessions(slot) }
}

@c @implementation
public func C_GetSessionInfo(
    _ session: CK_SESSION_HANDLE, _ information: UnsafeMutablePointer<CK_SESSION_INFO>?
) -> CK_RV {
    call { cryptoki throws(CryptokiError) in
        let information = try unsafe required(information)
        let session = try cryptoki.sessionInfo(session)
        unsafe information.pointee = CK_SESSION_INFO(
            slotID: session.slot, state: session.state, flags: session.flags, ulDeviceError: 0)
    }
}

@c @implementation
public func C_SessionCancel(_ session: CK_SESSION_HANDLE, _ flags: CK_FLAGS) -> CK_RV {
    call { cryptoki throws(CryptokiError) in try cryptoki.cancel(session, flags: flags) }
}

// MARK: - Login

@c @implementation
public func C_Login(
    _ session: CK_SESSION_HANDLE, _ user: CK_USER_TYPE, _ pin: UnsafeMutablePointer<UInt8>?, _ pinLength: CK_ULONG
) -> CK_RV {
    call { cryptoki throws(CryptokiError) in try cryptoki.logIn(session, user, pin: unsafe secret(pin, pinLength)) }
}

/// Users have no names here: PKCS #11 3.0 §5.6.9.
@c @implementation
public func C_LoginUser(
    _ session: CK_SESSION_HANDLE, _ user: CK_USER_TYPE, _ pin: UnsafeMutablePointer<UInt8>?, _ pinLength: CK_ULONG,
    _ name: UnsafeMutablePointer<UInt8>?, _ nameLength: CK_ULONG
) -> CK_RV {
    call { cryptoki throws(CryptokiError) in
        guard nameLength == 0 else { throw argumentsBad }
        try cryptoki.logIn(session, user, pin: unsafe secret(pin, pinLength))
    }
}

@c @implementation
public func C_Logout(_ session: CK_SESSION_HANDLE) -> CK_RV {
    call { cryptoki throws(CryptokiError) in try cryptoki.logOut(session) }
}

@c @implementation
public func C_SetPIN(
    _ session: CK_SESSION_HANDLE, _ oldPIN: UnsafeMutablePointer<UInt8>?, _ oldLength: CK_ULONG,
    _ newPIN: UnsafeMutablePointer<UInt8>?, _ newLength: CK_ULONG
) -> CK_RV {
    call { cryptoki throws(CryptokiError) in
        try cryptoki.setPIN(session, from: unsafe secret(oldPIN, oldLength), to: unsafe secret(newPIN, newLength))
    }
}

// MARK: - Functions of the time before threads, §5.20

@c @implementation
public func C_GetFunctionStatus(_ session: CK_SESSION_HANDLE) -> CK_RV {
    call { cryptoki throws(CryptokiError) in try refuseParallel(session, cryptoki) }
}

@c @implementation
public func C_CancelFunction(_ session: CK_SESSION_HANDLE) -> CK_RV {
    call { cryptoki throws(CryptokiError) in try refuseParallel(session, cryptoki) }
}

private func refuseParallel(_ session: CK_SESSION_HANDLE, _ cryptoki: Cryptoki) throws(CryptokiError) {
    try cryptoki.requireSession(session)
    throw CryptokiError(CKR_FUNCTION_NOT_PARALLEL)
}
