public import CCryptoki
internal import PKCS11Bridge
internal import TokenKit

// PKCS #11 §5.8 to §5.12, encryption, decryption and digests; §5.18 and §5.19, keys and random bytes.

@c @implementation
public func C_EncryptInit(
    _ session: CK_SESSION_HANDLE, _ mechanism: UnsafeMutablePointer<CK_MECHANISM>?, _ key: CK_OBJECT_HANDLE
) -> CK_RV {
    call { cryptoki throws(CryptokiError) in
        guard unsafe mechanism != nil else { return try cryptoki.cancelBegun(session, CKF_ENCRYPT) }
        try cryptoki.encryptInit(session, unsafe request(mechanism), key: key)
    }
}

@c @implementation
public func C_Encrypt(
    _ session: CK_SESSION_HANDLE, _ data: UnsafeMutablePointer<UInt8>?, _ dataLength: CK_ULONG,
    _ encrypted: UnsafeMutablePointer<UInt8>?, _ encryptedLength: UnsafeMutablePointer<CK_ULONG>?
) -> CK_RV {
    call { cryptoki throws(CryptokiError) in
        let plaintext = try unsafe secret(data, dataLength) ?? Secret(copying: [UInt8]().span)
        let output = try unsafe cryptoki.encrypt(session, plaintext, room(encrypted, encryptedLength))
        try unsafe give(output, encrypted, encryptedLength)
    }
}

@c @implementation
public func C_EncryptUpdate(
    _ session: CK_SESSION_HANDLE, _ part: UnsafeMutablePointer<UInt8>?, _ partLength: CK_ULONG,
    _ output: UnsafeMutablePointer<UInt8>?, _ outputLength: UnsafeMutablePointer<CK_ULONG>?
) -> CK_RV {
    call { cryptoki throws(CryptokiError) in
        let plaintext = try unsafe secret(part, partLength) ?? Secret(copying: [UInt8]().span)
        let given = try unsafe cryptoki.encryptUpdate(session, plaintext, room(output, outputLength))
        try unsafe give(given, output, outputLength)
    }
}

@c @implementation
public func C_EncryptFinal(
    _ session: CK_SESSION_HANDLE, _ encrypted: UnsafeMutablePointer<UInt8>?,
    _ encryptedLength: UnsafeMutablePointer<CK_ULONG>?
) -> CK_RV {
    call { cryptoki throws(CryptokiError) in
        try unsafe give(cryptoki.encryptFinal(session, room(encrypted, encryptedLength)), encrypted, encryptedLength)
    }
}

@c @implementation
public func C_DecryptInit(
    _ session: CK_SESSION_HANDLE, _ mechanism: UnsafeMutablePointer<CK_MECHANISM>?, _ key: CK_OBJECT_HANDLE
) -> CK_RV {
    call { cryptoki throws(CryptokiError) in
        guard unsafe mechanism != nil else { return try cryptoki.cancelBegun(session, CKF_DECRYPT) }
        try cryptoki.decryptInit(session, unsafe request(mechanism), key: key)
    }
}

@c @implementation
public func C_Decrypt(
    _ session: CK_SESSION_HANDLE, _ encrypted: UnsafeMutablePointer<UInt8>?, _ encryptedLength: CK_ULONG,
    _ data: UnsafeMutablePointer<UInt8>?, _ dataLength: UnsafeMutablePointer<CK_ULONG>?
) -> CK_RV {
    call { cryptoki throws(CryptokiError) in
        let output = try unsafe cryptoki.decrypt(session, bytes(encrypted, encryptedLength), room(data, dataLength))
        try unsafe give(output, data, dataLength)
    }
}

@c @implementation
public func C_DecryptUpdate(
    _ session: CK_SESSION_HANDLE, _ part: UnsafeMutablePointer<UInt8>?, _ partLength: CK_ULONG,
    _ output: UnsafeMutablePointer<UInt8>?, _ outputLength: UnsafeMutablePointer<CK_ULONG>?
) -> CK_RV {
    call { cryptoki throws(CryptokiError) in
        let given = try unsafe cryptoki.decryptUpdate(session, bytes(part, partLength), room(output, outputLength))
        try unsafe give(given, output, outputLength)
    }
}

@c @implementation
public func C_DecryptFinal(
    _ session: CK_SESSION_HANDLE, _ data: UnsafeMutablePointer<UInt8>?,
    _ dataLength: UnsafeMutablePointer<CK_ULONG>?
) -> CK_RV {
    call { cryptoki throws(CryptokiError) in
        try unsafe give(cryptoki.decryptFinal(session, room(data, dataLength)), data, dataLength)
    }
}

@c @implementation
public func C_DigestInit(
    _ session: CK_SESSION_HANDLE, _ mechanism: UnsafeMutablePointer<CK_MECHANISM>?
) -> CK_RV {
    call { cryptoki throws(CryptokiError) in
        guard unsafe mechanism != nil else { return try cryptoki.cancelBegun(session, CKF_DIGEST) }
        try cryptoki.digestInit(session, unsafe request(mechanism))
    }
}

@c @implementation
public func C_Digest(
    _ session: CK_SESSION_HANDLE, _ data: UnsafeMutablePointer<UInt8>?, _ dataLength: CK_ULONG,
    _ digest: UnsafeMutablePointer<UInt8>?, _ digestLength: UnsafeMutablePointer<CK_ULONG>?
) -> CK_RV {
    call { cryptoki throws(CryptokiError) in
        let output = try unsafe cryptoki.digest(session, bytes(data, dataLength), room(digest, digestLength))
        try unsafe give(output, digest, digestLength)
    }
}

@c @implementation
public func C_DigestUpdate(
    _ session: CK_SESSION_HANDLE, _ part: UnsafeMutablePointer<UInt8>?, _ partLength: CK_ULONG
) -> CK_RV {
    call { cryptoki throws(CryptokiError) in
        try cryptoki.digestUpdate(session, unsafe bytes(part, partLength))
    }
}

@c @implementation
public func C_DigestFinal(
    _ session: CK_SESSION_HANDLE, _ digest: UnsafeMutablePointer<UInt8>?,
    _ digestLength: UnsafeMutablePointer<CK_ULONG>?
) -> CK_RV {
    call { cryptoki throws(CryptokiError) in
        try unsafe give(cryptoki.digestFinal(session, room(digest, digestLength)), digest, digestLength)
    }
}

// MARK: - Keys

@c @implementation
public func C_GenerateKeyPair(
    _ session: CK_SESSION_HANDLE, _ mechanism: UnsafeMutablePointer<CK_MECHANISM>?,
    _ publicAttributes: UnsafeMutablePointer<CK_ATTRIBUTE>?, _ publicCount: CK_ULONG,
    _ privateAttributes: UnsafeMutablePointer<CK_ATTRIBUTE>?, _ privateCount: CK_ULONG,
    _ publicKey: UnsafeMutablePointer<CK_OBJECT_HANDLE>?, _ privateKey: UnsafeMutablePointer<CK_OBJECT_HANDLE>?
) -> CK_RV {
    call { cryptoki throws(CryptokiError) in
        let (publicKey, privateKey) = (try unsafe required(publicKey), try unsafe required(privateKey))
        let pair = try cryptoki.generateKeyPair(
            session, unsafe request(mechanism), unsafe template(publicAttributes, publicCount),
            unsafe template(privateAttributes, privateCount))
        unsafe publicKey.pointee = pair.publicKey
        unsafe privateKey.pointee = pair.privateKey
    }
}

@c @implementation
public func C_WrapKey(
    _ session: CK_SESSION_HANDLE, _ mechanism: UnsafeMutablePointer<CK_MECHANISM>?, _ wrappingKey: CK_OBJECT_HANDLE,
    _ key: CK_OBJECT_HANDLE, _ wrapped: UnsafeMutablePointer<UInt8>?,
    _ wrappedLength: UnsafeMutablePointer<CK_ULONG>?
) -> CK_RV {
    call { cryptoki throws(CryptokiError) in
        let output = try cryptoki.wrapKey(
            session, unsafe request(mechanism), wrapping: wrappingKey, key: key, unsafe room(wrapped, wrappedLength))
        try unsafe give(output, wrapped, wrappedLength)
    }
}

@c @implementation
public func C_UnwrapKey(
    _ session: CK_SESSION_HANDLE, _ mechanism: UnsafeMutablePointer<CK_MECHANISM>?,
    _ unwrappingKey: CK_OBJECT_HANDLE, _ wrapped: UnsafeMutablePointer<UInt8>?, _ wrappedLength: CK_ULONG,
    _ attributes: UnsafeMutablePointer<CK_ATTRIBUTE>?, _ count: CK_ULONG,
    _ key: UnsafeMutablePointer<CK_OBJECT_HANDLE>?
) -> CK_RV {
    call { cryptoki throws(CryptokiError) in
        let key = try unsafe required(key)
        unsafe key.pointee = try cryptoki.unwrapKey(
            session, request(mechanism), unwrapping: unwrappingKey, bytes(wrapped, wrappedLength),
            template(attributes, count))
    }
}

@c @implementation
public func C_DeriveKey(
    _ session: CK_SESSION_HANDLE, _ mechanism: UnsafeMutablePointer<CK_MECHANISM>?, _ baseKey: CK_OBJECT_HANDLE,
    _ attributes: UnsafeMutablePointer<CK_ATTRIBUTE>?, _ count: CK_ULONG,
    _ key: UnsafeMutablePointer<CK_OBJECT_HANDLE>?
) -> CK_RV {
    call { cryptoki throws(CryptokiError) in
        let key = try unsafe required(key)
        unsafe key.pointee = try cryptoki.deriveKey(
            session, request(mechanism), base: baseKey, template(attributes, count))
    }
}

// MARK: - Random bytes

@c @implementation
public func C_SeedRandom(
    _ session: CK_SESSION_HANDLE, _ seed: UnsafeMutablePointer<UInt8>?, _ seedLength: CK_ULONG
) -> CK_RV {
    call { cryptoki throws(CryptokiError) in
        try cryptoki.requireSession(session)
        guard unsafe seed != nil || seedLength == 0 else { throw argumentsBad }
        throw CryptokiError(CKR_RANDOM_SEED_NOT_SUPPORTED)
    }
}

@c @implementation
public func C_GenerateRandom(
    _ session: CK_SESSION_HANDLE, _ output: UnsafeMutablePointer<UInt8>?, _ outputLength: CK_ULONG
) -> CK_RV {
    call { cryptoki throws(CryptokiError) in
        guard outputLength <= 1 << 24, unsafe output != nil || outputLength == 0 else { throw argumentsBad }
        var length = outputLength
        let random = try cryptoki.random(session, count: Int(outputLength))
        if length > 0 { try unsafe give(.secret(random), output, &length) }
    }
}
