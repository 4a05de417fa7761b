public import CCryptoki

// PKCS #11 §5.6, sessions, and §5.5.9.

@c @implementation
public func C_OpenSession(
    _ slot: CK_SLOT_ID, _ flags: CK_FLAGS, _ application: UnsafeMutableRawPointer?, _ notify: CK_NOTIFY?,
    _ session: UnsafeMutablePointer<CK_SESSION_HANDLE>?
) -> CK_RV {
    perform { context throws(Failure) in
        let session = try unsafe required(session)
        unsafe session.pointee = try PKCS11Call(.openSession, [UInt64(slot), UInt64(flags)])
            .number(&context)
    }
}

@c @implementation
public func C_CloseSession(_ session: CK_SESSION_HANDLE) -> CK_RV {
    perform { context throws(Failure) in
        try PKCS11Call(.closeSession, [UInt64(session)]).perform(&context)
    }
}

@c @implementation
public func C_CloseAllSessions(_ slot: CK_SLOT_ID) -> CK_RV {
    perform { context throws(Failure) in
        try PKCS11Call(.closeAllSessions, [UInt64(slot)]).perform(&context)
    }
}

@c @implementation
public func C_GetSessionInfo(
    _ session: CK_SESSION_HANDLE, _ information: UnsafeMutablePointer<CK_SESSION_INFO>?
) -> CK_RV {
    perform { context throws(Failure) in
        let information = try unsafe required(information)
        let reply = try Reply.ask(PKCS11Call(.getSessionInfo, [UInt64(session)]), &context)
        try reply.requireSuccess()
        unsafe information.pointee = CK_SESSION_INFO(
            slotID: try reply.number(0), state: try reply.number(1), flags: try reply.number(2), ulDeviceError: 0)
    }
}

@c @implementation
public func C_SessionCancel(_ session: CK_SESSION_HANDLE, _ flags: CK_FLAGS) -> CK_RV {
    perform { context throws(Failure) in
        try PKCS11Call(.sessionCancel, [UInt64(session), UInt64(flags)]).perform(&context)
    }
}

// MARK: - Login

@c @implementation
public func C_Login(
    _ session: CK_SESSION_HANDLE, _ user: CK_USER_TYPE, _ pin: UnsafeMutablePointer<UInt8>?, _ pinLength: CK_ULONG
) -> CK_RV {
    perform { context throws(Failure) in
        try unsafe logIn(session, user, pin, pinLength, &context)
    }
}

/// Users have no names here: PKCS #11 3.0 §5.6.9.
@c @implementation
public func C_LoginUser(
    _ session: CK_SESSION_HANDLE, _ user: CK_USER_TYPE, _ pin: UnsafeMutablePointer<UInt8>?, _ pinLength: CK_ULONG,
    _ name: UnsafeMutablePointer<UInt8>?, _ nameLength: CK_ULONG
) -> CK_RV {
    perform { context throws(Failure) in
        guard nameLength == 0 else { throw argumentsBad }
        try unsafe logIn(session, user, pin, pinLength, &context)
    }
}

private func logIn(
    _ session: CK_SESSION_HANDLE, _ user: CK_USER_TYPE, _ pin: UnsafeMutablePointer<UInt8>?, _ length: CK_ULONG,
    _ context: inout CallContext
) throws(Failure) {
    let count = unsafe pin == nil ? PKCS11Call.null : UInt64(length)
    try unsafe PKCS11Call(.login, [UInt64(session), UInt64(user), count])
        .perform(&context, sending: Secrets(pin, length))
}

@c @implementation
public func C_Logout(_ session: CK_SESSION_HANDLE) -> CK_RV {
    perform { context throws(Failure) in
        try PKCS11Call(.logout, [UInt64(session)]).perform(&context)
    }
}

@c @implementation
public func C_InitPIN(
    _ session: CK_SESSION_HANDLE, _ pin: UnsafeMutablePointer<UInt8>?, _ length: CK_ULONG
) -> CK_RV {
    perform { context throws(Failure) in
        let count = unsafe pin == nil ? PKCS11Call.null : UInt64(length)
        try unsafe PKCS11Call(.initPIN, [UInt64(session), count]).perform(&context, sending: Secrets(pin, length))
    }
}

@c @implementation
public func C_SetPIN(
    _ session: CK_SESSION_HANDLE, _ oldPIN: UnsafeMutablePointer<UInt8>?, _ oldLength: CK_ULONG,
    _ newPIN: UnsafeMutablePointer<UInt8>?, _ newLength: CK_ULONG
) -> CK_RV {
    perform { context throws(Failure) in
        var secrets = try unsafe Secrets(oldPIN, oldLength)
        try unsafe secrets.append(newPIN, newLength)
        let counts = unsafe (
            oldPIN == nil ? PKCS11Call.null : UInt64(oldLength), newPIN == nil ? PKCS11Call.null : UInt64(newLength)
        )
        try PKCS11Call(.setPIN, [UInt64(session), counts.0, counts.1]).perform(&context, sending: secrets)
    }
}

// MARK: - Parallel function management, §5.20

@c @implementation
public func C_GetFunctionStatus(_ session: CK_SESSION_HANDLE) -> CK_RV {
    perform { context throws(Failure) in
        try PKCS11Call(.getFunctionStatus, [UInt64(session)]).perform(&context)
    }
}

@c @implementation
public func C_CancelFunction(_ session: CK_SESSION_HANDLE) -> CK_RV {
    perform { context throws(Failure) in
        try PKCS11Call(.getFunctionStatus, [UInt64(session)]).perform(&context)
    }
}
