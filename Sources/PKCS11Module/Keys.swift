public import CCryptoki

// PKCS #11 §5.18 and §5.19, keys and random bytes.

@c @implementation
public func C_GenerateKey(
    _ session: CK_SESSION_HANDLE, _ given: UnsafeMutablePointer<CK_MECHANISM>?,
    _ attributes: UnsafeMutablePointer<CK_ATTRIBUTE>?, _ count: CK_ULONG,
    _ key: UnsafeMutablePointer<CK_OBJECT_HANDLE>?
) -> CK_RV {
    perform { context throws(Failure) in
        let key = try unsafe required(key)
        let mechanism = try unsafe mechanism(given)
        var secrets = Secrets()
        let template = try unsafe template(attributes, count, &secrets)
        unsafe key.pointee = try PKCS11Call(.generateKey, [UInt64(session)], mechanism, [template])
            .number(&context, sending: secrets)
    }
}

@c @implementation
public func C_GenerateKeyPair(
    _ session: CK_SESSION_HANDLE, _ given: UnsafeMutablePointer<CK_MECHANISM>?,
    _ publicAttributes: UnsafeMutablePointer<CK_ATTRIBUTE>?, _ publicCount: CK_ULONG,
    _ privateAttributes: UnsafeMutablePointer<CK_ATTRIBUTE>?, _ privateCount: CK_ULONG,
    _ publicKey: UnsafeMutablePointer<CK_OBJECT_HANDLE>?, _ privateKey: UnsafeMutablePointer<CK_OBJECT_HANDLE>?
) -> CK_RV {
    perform { context throws(Failure) in
        let (publicKey, privateKey) = (try unsafe required(publicKey), try unsafe required(privateKey))
        var secrets = Secrets()
        let call = PKCS11Call(
            .generateKeyPair, [UInt64(session)], try unsafe mechanism(given),
            [
                try unsafe template(publicAttributes, publicCount, &secrets),
                try unsafe template(privateAttributes, privateCount, &secrets),
            ])
        let reply = try Reply.ask(call, &context, sending: secrets)
        try reply.requireSuccess()
        unsafe publicKey.pointee = try reply.number(0)
        unsafe privateKey.pointee = try reply.number(1)
    }
}

@c @implementation
public func C_WrapKey(
    _ session: CK_SESSION_HANDLE, _ given: UnsafeMutablePointer<CK_MECHANISM>?, _ wrappingKey: CK_OBJECT_HANDLE,
    _ key: CK_OBJECT_HANDLE, _ wrapped: UnsafeMutablePointer<UInt8>?,
    _ wrappedLength: UnsafeMutablePointer<CK_ULONG>?
) -> CK_RV {
    perform { context throws(Failure) in
        try unsafe PKCS11Call(
            .wrapKey, [UInt64(session), UInt64(wrappingKey), UInt64(key)], mechanism(given)
        ).output(wrapped, wrappedLength, &context)
    }
}

@c @implementation
public func C_UnwrapKey(
    _ session: CK_SESSION_HANDLE, _ given: UnsafeMutablePointer<CK_MECHANISM>?,
    _ unwrappingKey: CK_OBJECT_HANDLE, _ wrapped: UnsafeMutablePointer<UInt8>?, _ wrappedLength: CK_ULONG,
    _ attributes: UnsafeMutablePointer<CK_ATTRIBUTE>?, _ count: CK_ULONG,
    _ key: UnsafeMutablePointer<CK_OBJECT_HANDLE>?
) -> CK_RV {
    perform { context throws(Failure) in
        let key = try unsafe required(key)
        let mechanism = try unsafe mechanism(given)
        var secrets = try unsafe Secrets(wrapped, wrappedLength)
        let template = try unsafe template(attributes, count, &secrets)
        let numbers = [UInt64(session), UInt64(unwrappingKey), UInt64(wrappedLength)]
        unsafe key.pointee = try PKCS11Call(.unwrapKey, numbers, mechanism, [template])
            .number(&context, sending: secrets)
    }
}

@c @implementation
public func C_DeriveKey(
    _ session: CK_SESSION_HANDLE, _ given: UnsafeMutablePointer<CK_MECHANISM>?, _ baseKey: CK_OBJECT_HANDLE,
    _ attributes: UnsafeMutablePointer<CK_ATTRIBUTE>?, _ count: CK_ULONG,
    _ key: UnsafeMutablePointer<CK_OBJECT_HANDLE>?
) -> CK_RV {
    perform { context throws(Failure) in
        let key = try unsafe required(key)
        let mechanism = try unsafe mechanism(given)
        var secrets = Secrets()
        let template = try unsafe template(attributes, count, &secrets)
        unsafe key.pointee = try PKCS11Call(
            .deriveKey, [UInt64(session), UInt64(baseKey)], mechanism, [template]
        ).number(&context, sending: secrets)
    }
}

// MARK: - Random bytes

/// The host has no use for a seed, and is not sent it.
@c @implementation
public func C_SeedRandom(
    _ session: CK_SESSION_HANDLE, _ seed: UnsafeMutablePointer<UInt8>?, _ seedLength: CK_ULONG
) -> CK_RV {
    perform { context throws(Failure) in
        let isGiven: UInt64 = unsafe seed != nil || seedLength == 0 ? 1 : 0
        try PKCS11Call(.seedRandom, [UInt64(session), isGiven]).perform(&context)
    }
}

@c @implementation
public func C_GenerateRandom(
    _ session: CK_SESSION_HANDLE, _ output: UnsafeMutablePointer<UInt8>?, _ outputLength: CK_ULONG
) -> CK_RV {
    perform { context throws(Failure) in
        guard outputLength <= 1 << 24, unsafe output != nil || outputLength == 0 else { throw argumentsBad }
        var filled: CK_ULONG = 0
        repeat {
            let part = min(outputLength - filled, Operation.longestPart)
            var reply = try Reply.ask(
                PKCS11Call(.generateRandom, [UInt64(session), UInt64(part)]), &context)
            try reply.requireSuccess()
            guard reply.secretCount == Int(part) else { throw Reply.malformed }
            if let output = unsafe output { try unsafe reply.receive(Int(part), to: output + Int(filled)) }
            filled += part
        } while filled < outputLength
    }
}
