public import CCryptoki

// PKCS #11 §5.8 to §5.14: encryption, decryption, digests, signatures.

@c @implementation
public func C_EncryptInit(
    _ session: CK_SESSION_HANDLE, _ mechanism: UnsafeMutablePointer<CK_MECHANISM>?, _ key: CK_OBJECT_HANDLE
) -> CK_RV {
    perform { context throws(Failure) in
        try unsafe Operation.begin(.encryptInit, session, mechanism, key, &context)
    }
}

@c @implementation
public func C_Encrypt(
    _ session: CK_SESSION_HANDLE, _ data: UnsafeMutablePointer<UInt8>?, _ dataLength: CK_ULONG,
    _ encrypted: UnsafeMutablePointer<UInt8>?, _ encryptedLength: UnsafeMutablePointer<CK_ULONG>?
) -> CK_RV {
    perform { context throws(Failure) in
        try unsafe Operation.encrypt.perform(session, data, dataLength, encrypted, encryptedLength, &context)
    }
}

@c @implementation
public func C_EncryptUpdate(
    _ session: CK_SESSION_HANDLE, _ part: UnsafeMutablePointer<UInt8>?, _ partLength: CK_ULONG,
    _ output: UnsafeMutablePointer<UInt8>?, _ outputLength: UnsafeMutablePointer<CK_ULONG>?
) -> CK_RV {
    perform { context throws(Failure) in
        try unsafe Operation.encrypt.update(session, part, partLength, output, outputLength, &context)
    }
}

@c @implementation
public func C_EncryptFinal(
    _ session: CK_SESSION_HANDLE, _ encrypted: UnsafeMutablePointer<UInt8>?,
    _ encryptedLength: UnsafeMutablePointer<CK_ULONG>?
) -> CK_RV {
    perform { context throws(Failure) in
        try unsafe Operation.encrypt.finish(session, encrypted, encryptedLength, &context)
    }
}

@c @implementation
public func C_DecryptInit(
    _ session: CK_SESSION_HANDLE, _ mechanism: UnsafeMutablePointer<CK_MECHANISM>?, _ key: CK_OBJECT_HANDLE
) -> CK_RV {
    perform { context throws(Failure) in
        try unsafe Operation.begin(.decryptInit, session, mechanism, key, &context)
    }
}

@c @implementation
public func C_Decrypt(
    _ session: CK_SESSION_HANDLE, _ encrypted: UnsafeMutablePointer<UInt8>?, _ encryptedLength: CK_ULONG,
    _ data: UnsafeMutablePointer<UInt8>?, _ dataLength: UnsafeMutablePointer<CK_ULONG>?
) -> CK_RV {
    perform { context throws(Failure) in
        try unsafe Operation.decrypt.perform(session, encrypted, encryptedLength, data, dataLength, &context)
    }
}

@c @implementation
public func C_DecryptUpdate(
    _ session: CK_SESSION_HANDLE, _ part: UnsafeMutablePointer<UInt8>?, _ partLength: CK_ULONG,
    _ output: UnsafeMutablePointer<UInt8>?, _ outputLength: UnsafeMutablePointer<CK_ULONG>?
) -> CK_RV {
    perform { context throws(Failure) in
        try unsafe Operation.decrypt.update(session, part, partLength, output, outputLength, &context)
    }
}

@c @implementation
public func C_DecryptFinal(
    _ session: CK_SESSION_HANDLE, _ data: UnsafeMutablePointer<UInt8>?,
    _ dataLength: UnsafeMutablePointer<CK_ULONG>?
) -> CK_RV {
    perform { context throws(Failure) in
        try unsafe Operation.decrypt.finish(session, data, dataLength, &context)
    }
}

@c @implementation
public func C_DigestInit(
    _ session: CK_SESSION_HANDLE, _ mechanism: UnsafeMutablePointer<CK_MECHANISM>?
) -> CK_RV {
    perform { context throws(Failure) in
        try unsafe Operation.begin(.digestInit, session, mechanism, 0, &context)
    }
}

@c @implementation
public func C_Digest(
    _ session: CK_SESSION_HANDLE, _ data: UnsafeMutablePointer<UInt8>?, _ dataLength: CK_ULONG,
    _ digest: UnsafeMutablePointer<UInt8>?, _ digestLength: UnsafeMutablePointer<CK_ULONG>?
) -> CK_RV {
    perform { context throws(Failure) in
        try unsafe Operation.digest.perform(session, data, dataLength, digest, digestLength, &context)
    }
}

@c @implementation
public func C_DigestUpdate(
    _ session: CK_SESSION_HANDLE, _ part: UnsafeMutablePointer<UInt8>?, _ partLength: CK_ULONG
) -> CK_RV {
    perform { context throws(Failure) in
        try unsafe Operation.digest.append(session, part, partLength, &context)
    }
}

@c @implementation
public func C_DigestKey(_ session: CK_SESSION_HANDLE, _ key: CK_OBJECT_HANDLE) -> CK_RV {
    perform { context throws(Failure) in
        try PKCS11Call(.digestKey, [UInt64(session), UInt64(key)]).perform(&context)
    }
}

@c @implementation
public func C_DigestFinal(
    _ session: CK_SESSION_HANDLE, _ digest: UnsafeMutablePointer<UInt8>?,
    _ digestLength: UnsafeMutablePointer<CK_ULONG>?
) -> CK_RV {
    perform { context throws(Failure) in
        try unsafe Operation.digest.finish(session, digest, digestLength, &context)
    }
}

@c @implementation
public func C_SignInit(
    _ session: CK_SESSION_HANDLE, _ mechanism: UnsafeMutablePointer<CK_MECHANISM>?, _ key: CK_OBJECT_HANDLE
) -> CK_RV {
    perform { context throws(Failure) in
        try unsafe Operation.begin(.signInit, session, mechanism, key, &context)
    }
}

@c @implementation
public func C_Sign(
    _ session: CK_SESSION_HANDLE, _ data: UnsafeMutablePointer<UInt8>?, _ dataLength: CK_ULONG,
    _ signature: UnsafeMutablePointer<UInt8>?, _ signatureLength: UnsafeMutablePointer<CK_ULONG>?
) -> CK_RV {
    perform { context throws(Failure) in
        try unsafe Operation.sign.perform(session, data, dataLength, signature, signatureLength, &context)
    }
}

@c @implementation
public func C_SignUpdate(
    _ session: CK_SESSION_HANDLE, _ part: UnsafeMutablePointer<UInt8>?, _ partLength: CK_ULONG
) -> CK_RV {
    perform { context throws(Failure) in
        try unsafe Operation.sign.append(session, part, partLength, &context)
    }
}

@c @implementation
public func C_SignFinal(
    _ session: CK_SESSION_HANDLE, _ signature: UnsafeMutablePointer<UInt8>?,
    _ signatureLength: UnsafeMutablePointer<CK_ULONG>?
) -> CK_RV {
    perform { context throws(Failure) in
        try unsafe Operation.sign.finish(session, signature, signatureLength, &context)
    }
}

@c @implementation
public func C_VerifyInit(
    _ session: CK_SESSION_HANDLE, _ mechanism: UnsafeMutablePointer<CK_MECHANISM>?, _ key: CK_OBJECT_HANDLE
) -> CK_RV {
    perform { context throws(Failure) in
        try unsafe Operation.begin(.verifyInit, session, mechanism, key, &context)
    }
}

@c @implementation
public func C_Verify(
    _ session: CK_SESSION_HANDLE, _ data: UnsafeMutablePointer<UInt8>?, _ dataLength: CK_ULONG,
    _ signature: UnsafeMutablePointer<UInt8>?, _ signatureLength: CK_ULONG
) -> CK_RV {
    perform { context throws(Failure) in
        try unsafe Operation.verify.check(
            session, data, dataLength, signature, signatureLength, &context)
    }
}

@c @implementation
public func C_VerifyUpdate(
    _ session: CK_SESSION_HANDLE, _ part: UnsafeMutablePointer<UInt8>?, _ partLength: CK_ULONG
) -> CK_RV {
    perform { context throws(Failure) in
        try unsafe Operation.verify.append(session, part, partLength, &context)
    }
}

@c @implementation
public func C_VerifyFinal(
    _ session: CK_SESSION_HANDLE, _ signature: UnsafeMutablePointer<UInt8>?, _ signatureLength: CK_ULONG
) -> CK_RV {
    perform { context throws(Failure) in
        try unsafe Operation.verify.finish(session, checking: signature, signatureLength, &context)
    }
}
