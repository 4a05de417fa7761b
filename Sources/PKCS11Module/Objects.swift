public import CCryptoki

// PKCS #11 §5.7, objects.

@c @implementation
public func C_CreateObject(
    _ session: CK_SESSION_HANDLE, _ attributes: UnsafeMutablePointer<CK_ATTRIBUTE>?, _ count: CK_ULONG,
    _ object: UnsafeMutablePointer<CK_OBJECT_HANDLE>?
) -> CK_RV {
    perform { context throws(Failure) in
        let object = try unsafe required(object)
        var secrets = Secrets()
        let template = try unsafe template(attributes, count, &secrets)
        unsafe object.pointee = try PKCS11Call(.createObject, [UInt64(session)], nil, [template])
            .number(&context, sending: secrets)
    }
}

@c @implementation
public func C_CopyObject(
    _ session: CK_SESSION_HANDLE, _ object: CK_OBJECT_HANDLE, _ attributes: UnsafeMutablePointer<CK_ATTRIBUTE>?,
    _ count: CK_ULONG, _ copy: UnsafeMutablePointer<CK_OBJECT_HANDLE>?
) -> CK_RV {
    perform { context throws(Failure) in
        let copy = try unsafe required(copy)
        var secrets = Secrets()
        let template = try unsafe template(attributes, count, &secrets)
        unsafe copy.pointee = try PKCS11Call(.copyObject, [UInt64(session), UInt64(object)], nil, [template])
            .number(&context, sending: secrets)
    }
}

@c @implementation
public func C_DestroyObject(_ session: CK_SESSION_HANDLE, _ object: CK_OBJECT_HANDLE) -> CK_RV {
    perform { context throws(Failure) in
        try PKCS11Call(.destroyObject, [UInt64(session), UInt64(object)]).perform(&context)
    }
}

@c @implementation
public func C_GetObjectSize(
    _ session: CK_SESSION_HANDLE, _ object: CK_OBJECT_HANDLE, _ size: UnsafeMutablePointer<CK_ULONG>?
) -> CK_RV {
    perform { context throws(Failure) in
        let size = try unsafe required(size)
        unsafe size.pointee = try PKCS11Call(.getObjectSize, [UInt64(session), UInt64(object)])
            .number(&context)
    }
}

/// Gives every attribute that can be told; of several failures the first is returned.
@c @implementation
public func C_GetAttributeValue(
    _ session: CK_SESSION_HANDLE, _ object: CK_OBJECT_HANDLE, _ attributes: UnsafeMutablePointer<CK_ATTRIBUTE>?,
    _ count: CK_ULONG
) -> CK_RV {
    perform { context throws(Failure) in
        var call = PKCS11Call(.getAttributeValue, [UInt64(session), UInt64(object)])
        // Without valid attributes, the call is still sent: a wrong session or object is reported first.
        let isGiven = unsafe attributes != nil && 1...CK_ULONG(PKCS11Call.maximumAttributes) ~= count
        if isGiven, let attributes = unsafe attributes,
            try unsafe AttributeMemory.answer(session, object, attributes, Int(count), &context)
        {
            return
        }
        for index in 0..<(isGiven ? Int(count) : 0) {
            guard let attribute = unsafe attributes?[index] else { continue }
            unsafe call.numbers.append(UInt64(attribute.type))
            unsafe call.numbers.append(attribute.pValue == nil ? PKCS11Call.null : room(attribute))
        }
        var reply = try Reply.ask(call, &context)
        if let attributes = unsafe attributes, isGiven, reply.answer.numbers.count == Int(count) {
            for index in 0..<Int(count) { try unsafe receive(&attributes[index], reply.answer.numbers[index], &reply) }
        }
        try reply.requireSuccess()
    }
}

private func room(_ attribute: CK_ATTRIBUTE) -> UInt64 { unsafe UInt64(min(attribute.ulValueLen, CK_ULONG(Int.max))) }

private func receive(_ attribute: inout CK_ATTRIBUTE, _ length: UInt64, _ reply: inout Reply) throws(Failure) {
    let room = unsafe room(attribute)
    if let value = unsafe attribute.pValue, length != PKCS11Call.null {
        guard length <= room else { throw Reply.malformed }
        try unsafe reply.receive(Int(length), to: value)
    }
    unsafe attribute.ulValueLen = CK_ULONG(length)
}

@c @implementation
public func C_SetAttributeValue(
    _ session: CK_SESSION_HANDLE, _ object: CK_OBJECT_HANDLE, _ attributes: UnsafeMutablePointer<CK_ATTRIBUTE>?,
    _ count: CK_ULONG
) -> CK_RV {
    perform { context throws(Failure) in
        var secrets = Secrets()
        let template = try unsafe template(attributes, count, &secrets)
        try PKCS11Call(.setAttributeValue, [UInt64(session), UInt64(object)], nil, [template])
            .perform(&context, sending: secrets)
    }
}

// MARK: - Searching

@c @implementation
public func C_FindObjectsInit(
    _ session: CK_SESSION_HANDLE, _ attributes: UnsafeMutablePointer<CK_ATTRIBUTE>?, _ count: CK_ULONG
) -> CK_RV {
    perform { context throws(Failure) in
        var secrets = Secrets()
        let template = try unsafe template(attributes, count, &secrets)
        try PKCS11Call(.findObjectsInit, [UInt64(session)], nil, [template]).perform(&context, sending: secrets)
    }
}

@c @implementation
public func C_FindObjects(
    _ session: CK_SESSION_HANDLE, _ objects: UnsafeMutablePointer<CK_OBJECT_HANDLE>?, _ limit: CK_ULONG,
    _ count: UnsafeMutablePointer<CK_ULONG>?
) -> CK_RV {
    perform { context throws(Failure) in
        let count = try unsafe required(count)
        guard unsafe objects != nil || limit == 0 else { throw argumentsBad }
        var found: CK_ULONG = 0
        // A program's buffer may have room for more handles than one message.
        repeat {
            let part = min(limit - found, most)
            let reply = try Reply.ask(PKCS11Call(.findObjects, [UInt64(session), UInt64(part)]), &context)
            try reply.requireSuccess()
            let handles = reply.answer.numbers
            guard CK_ULONG(handles.count) <= part else { throw Reply.malformed }
            for handle in handles {
                unsafe objects?[Int(found)] = CK_OBJECT_HANDLE(handle)
                found += 1
            }
            if CK_ULONG(handles.count) < part || part == 0 { break }
        } while found < limit
        unsafe count.pointee = found
    }
}

/// Handles of one message.
private let most: CK_ULONG = 4096

@c @implementation
public func C_FindObjectsFinal(_ session: CK_SESSION_HANDLE) -> CK_RV {
    perform { context throws(Failure) in
        try PKCS11Call(.findObjectsFinal, [UInt64(session)]).perform(&context)
    }
}
