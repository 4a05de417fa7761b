public import CCryptoki
internal import PKCS11Bridge
internal import TokenKit

// PKCS #11 §5.7, objects.

@c @implementation
public func C_CreateObject(
    _ session: CK_SESSION_HANDLE, _ attributes: UnsafeMutablePointer<CK_ATTRIBUTE>?, _ count: CK_ULONG,
    _ object: UnsafeMutablePointer<CK_OBJECT_HANDLE>?
) -> CK_RV {
    call { cryptoki throws(CryptokiError) in
        let object = try unsafe required(object)
        unsafe object.pointee = try cryptoki.createObject(session, template(attributes, count))
    }
}

@c @implementation
public func C_CopyObject(
    _ session: CK_SESSION_HANDLE, _ object: CK_OBJECT_HANDLE, _ attributes: UnsafeMutablePointer<CK_ATTRIBUTE>?,
    _ count: CK_ULONG, _ copy: UnsafeMutablePointer<CK_OBJECT_HANDLE>?
) -> CK_RV {
    call { cryptoki throws(CryptokiError) in
        let copy = try unsafe required(copy)
        unsafe copy.pointee = try cryptoki.copyObject(session, object, template(attributes, count))
    }
}

@c @implementation
public func C_DestroyObject(_ session: CK_SESSION_HANDLE, _ object: CK_OBJECT_HANDLE) -> CK_RV {
    call { cryptoki throws(CryptokiError) in try cryptoki.destroyObject(session, object) }
}

@c @implementation
public func C_GetObjectSize(
    _ session: CK_SESSION_HANDLE, _ object: CK_OBJECT_HANDLE, _ size: UnsafeMutablePointer<CK_ULONG>?
) -> CK_RV {
    call { cryptoki throws(CryptokiError) in
        let size = try unsafe required(size)
        unsafe size.pointee = CK_ULONG(try cryptoki.objectSize(object, in: session))
    }
}

/// Every attribute that can be told is, whatever comes of the others; of several failures the first is returned.
@c @implementation
public func C_GetAttributeValue(
    _ session: CK_SESSION_HANDLE, _ object: CK_OBJECT_HANDLE, _ attributes: UnsafeMutablePointer<CK_ATTRIBUTE>?,
    _ count: CK_ULONG
) -> CK_RV {
    call { cryptoki throws(CryptokiError) in
        let reader = try cryptoki.reader(of: object, in: session)
        guard let attributes = unsafe attributes, 1...1 << 16 ~= count else { throw argumentsBad }
        var failure: CryptokiError?
        for index in 0..<Int(count) {
            do throws(CryptokiError) {
                try unsafe give(reader.value(attributes[index].type), to: &attributes[index])
            } catch {
                failure = failure ?? error
            }
        }
        if let failure { throw failure }
    }
}

private func give(
    _ result: consuming Cryptoki.AttributeResult, to attribute: inout CK_ATTRIBUTE
) throws(CryptokiError) {
    switch consume result {
    case .refused(let code):
        unsafe attribute.ulValueLen = .max
        throw unsafe CryptokiError(code, "attribute 0x\(String(attribute.type, radix: 16))")
    case .value(let value): try unsafe give(value.span, to: &attribute)
    case .secret(let secret): try unsafe give(secret.bytes, to: &attribute)
    }
}

private func give(_ value: Span<UInt8>, to attribute: inout CK_ATTRIBUTE) throws(CryptokiError) {
    let room = unsafe attribute.ulValueLen
    unsafe attribute.ulValueLen = CK_ULONG(value.count)
    guard let start = unsafe attribute.pValue else { return }
    guard room >= CK_ULONG(value.count) else {
        unsafe attribute.ulValueLen = .max
        throw CryptokiError(CKR_BUFFER_TOO_SMALL)
    }
    let bytes = unsafe start.assumingMemoryBound(to: UInt8.self)
    for index in value.indices { unsafe bytes[index] = value[index] }
}

@c @implementation
public func C_SetAttributeValue(
    _ session: CK_SESSION_HANDLE, _ object: CK_OBJECT_HANDLE, _ attributes: UnsafeMutablePointer<CK_ATTRIBUTE>?,
    _ count: CK_ULONG
) -> CK_RV {
    call { cryptoki throws(CryptokiError) in
        try cryptoki.setAttributes(session, object, to: unsafe template(attributes, count))
    }
}

// MARK: - Searching

@c @implementation
public func C_FindObjectsInit(
    _ session: CK_SESSION_HANDLE, _ attributes: UnsafeMutablePointer<CK_ATTRIBUTE>?, _ count: CK_ULONG
) -> CK_RV {
    call { cryptoki throws(CryptokiError) in
        try cryptoki.findObjectsInit(session, unsafe template(attributes, count))
    }
}

@c @implementation
public func C_FindObjects(
    _ session: CK_SESSION_HANDLE, _ objects: UnsafeMutablePointer<CK_OBJECT_HANDLE>?, _ limit: CK_ULONG,
    _ count: UnsafeMutablePointer<CK_ULONG>?
) -> CK_RV {
    call { cryptoki throws(CryptokiError) in
        let count = try unsafe required(count)
        guard unsafe objects != nil || limit == 0 else { throw argumentsBad }
        let found = try cryptoki.findObjects(session, limit: Int(clamping: limit))
        if !found.isEmpty { unsafe objects?.update(from: found, count: found.count) }
        unsafe count.pointee = CK_ULONG(found.count)
    }
}

@c @implementation
public func C_FindObjectsFinal(_ session: CK_SESSION_HANDLE) -> CK_RV {
    call { cryptoki throws(CryptokiError) in try cryptoki.findObjectsFinal(session) }
}
