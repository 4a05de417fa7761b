public import CCryptoki
internal import PKCS11Bridge

// PKCS #11 §5.13 and §5.14, signatures.

@c @implementation
public func C_SignInit(
    _ session: CK_SESSION_HANDLE, _ mechanism: UnsafeMutablePointer<CK_MECHANISM>?, _ key: CK_OBJECT_HANDLE
) -> CK_RV {
    call { cryptoki throws(CryptokiError) in
        guard unsafe mechanism != nil else { return try cryptoki.cancelBegun(session, CKF_SIGN) }
        try cryptoki.signInit(session, unsafe request(mechanism), key: key)
    }
}

@c @implementation
public func C_Sign(
    _ session: CK_SESSION_HANDLE, _ data: UnsafeMutablePointer<UInt8>?, _ dataLength: CK_ULONG,
    _ signature: UnsafeMutablePointer<UInt8>?, _ signatureLength: UnsafeMutablePointer<CK_ULONG>?
) -> CK_RV {
    call { cryptoki throws(CryptokiError) in
        let output = try unsafe cryptoki.sign(session, bytes(data, dataLength), room(signature, signatureLength))
        try unsafe give(output, signature, signatureLength)
    }
}

@c @implementation
public func C_SignUpdate(
    _ session: CK_SESSION_HANDLE, _ part: UnsafeMutablePointer<UInt8>?, _ partLength: CK_ULONG
) -> CK_RV {
    call { cryptoki throws(CryptokiError) in
        try cryptoki.signUpdate(session, unsafe bytes(part, partLength))
    }
}

@c @implementation
public func C_SignFinal(
    _ session: CK_SESSION_HANDLE, _ signature: UnsafeMutablePointer<UInt8>?,
    _ signatureLength: UnsafeMutablePointer<CK_ULONG>?
) -> CK_RV {
    call { cryptoki throws(CryptokiError) in
        try unsafe give(cryptoki.signFinal(session, room(signature, signatureLength)), signature, signatureLength)
    }
}

@c @implementation
public func C_VerifyInit(
    _ session: CK_SESSION_HANDLE, _ mechanism: UnsafeMutablePointer<CK_MECHANISM>?, _ key: CK_OBJECT_HANDLE
) -> CK_RV {
    call { cryptoki throws(CryptokiError) in
        guard unsafe mechanism != nil else { return try cryptoki.cancelBegun(session, CKF_VERIFY) }
        try cryptoki.verifyInit(session, unsafe request(mechanism), key: key)
    }
}

@c @implementation
public func C_Verify(
    _ session: CK_SESSION_HANDLE, _ data: UnsafeMutablePointer<UInt8>?, _ dataLength: CK_ULONG,
    _ signature: UnsafeMutablePointer<UInt8>?, _ signatureLength: CK_ULONG
) -> CK_RV {
    call { cryptoki throws(CryptokiError) in
        try cryptoki.verify(
            session, unsafe bytes(data, dataLength), signature: unsafe bytes(signature, signatureLength))
    }
}

@c @implementation
public func C_VerifyUpdate(
    _ session: CK_SESSION_HANDLE, _ part: UnsafeMutablePointer<UInt8>?, _ partLength: CK_ULONG
) -> CK_RV {
    call { cryptoki throws(CryptokiError) in
        try cryptoki.verifyUpdate(session, unsafe bytes(part, partLength))
    }
}

@c @implementation
public func C_VerifyFinal(
    _ session: CK_SESSION_HANDLE, _ signature: UnsafeMutablePointer<UInt8>?, _ signatureLength: CK_ULONG
) -> CK_RV {
    call { cryptoki throws(CryptokiError) in
        try cryptoki.verifyFinal(session, signature: unsafe bytes(signature, signatureLength))
    }
}
