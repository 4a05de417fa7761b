public import CCryptoki
internal import CThinClient

// PKCS #11 §5.4, general purpose functions.

@c @implementation
public func C_Initialize(_ arguments: UnsafeMutableRawPointer?) -> CK_RV {
    tokenkit_read_log_path()
    let log = Log(#function)
    do throws(Failure) {
        if let arguments = unsafe arguments {
            try unsafe check(arguments.assumingMemoryBound(to: CK_C_INITIALIZE_ARGS.self).pointee)
        }
        guard Initialisation.begin() else { throw Failure(CKR_CRYPTOKI_ALREADY_INITIALIZED) }
        return log.end(CKR_OK)
    } catch {
        return log.end(error.code, error.reason)
    }
}

/// Checks the arguments of `C_Initialize`. A program's own mutex functions are never called: the module synchronises by atomics.
private func check(_ arguments: CK_C_INITIALIZE_ARGS) throws(Failure) {
    guard unsafe arguments.pReserved == nil else { throw argumentsBad }
    let create = unsafe arguments.CreateMutex != nil
    guard unsafe (arguments.DestroyMutex != nil) == create, unsafe (arguments.LockMutex != nil) == create,
        unsafe (arguments.UnlockMutex != nil) == create
    else { throw argumentsBad }
    if create, unsafe arguments.flags & CKF_OS_LOCKING_OK == 0 { throw Failure(CKR_CANT_LOCK) }
}

@c @implementation
public func C_Finalize(_ reserved: UnsafeMutableRawPointer?) -> CK_RV {
    perform { context throws(Failure) in
        guard unsafe reserved == nil else { throw argumentsBad }
        // The host ends the waits of other threads, and is asked before any connection is closed.
        context.waits = false
        guard Initialisation.beginEnd(context.initialisation) else { throw Failure(CKR_CRYPTOKI_NOT_INITIALIZED) }
        if Host.isConnected(context.initialisation) { try? PKCS11Call(.finalize).perform(&context) }
        Initialisation.end(context.initialisation)
        Host.end()
        Connections.closeIdle()
    }
}

@c @implementation
public func C_GetInfo(_ information: UnsafeMutablePointer<CK_INFO>?) -> CK_RV {
    perform { _ throws(Failure) in
        let information = try unsafe required(information)
        var filled = CK_INFO()
        filled.cryptokiVersion = CK_VERSION(major: 2, minor: 40)
        filled.libraryVersion = CK_VERSION(major: 0, minor: 1)
        fill(&filled.manufacturerID, with: "tokenkit")
        fill(&filled.libraryDescription, with: "Cards and keychains")
        unsafe information.pointee = filled
    }
}

private func fill<Field>(_ field: inout Field, with text: StaticString) {
    unsafe withUnsafeMutableBytes(of: &field) { field in
        for index in field.indices {
            unsafe field[index] = index < text.utf8CodeUnitCount ? text.utf8Start[index] : 0x20
        }
    }
}

/// Fills a field with the next bytes of an answer's text.
private func fill<Field>(_ field: inout Field, with text: inout ArraySlice<UInt8>) throws(Failure) {
    let count = MemoryLayout<Field>.size
    guard text.count >= count else { throw Reply.malformed }
    unsafe withUnsafeMutableBytes(of: &field) { field in
        for index in field.indices { unsafe field[index] = text[text.startIndex + index] }
    }
    text = text.dropFirst(count)
}

// MARK: - Slots and tokens, §5.5

@c @implementation
public func C_GetSlotList(
    _ tokenPresent: UInt8, _ slots: UnsafeMutablePointer<CK_SLOT_ID>?, _ count: UnsafeMutablePointer<CK_ULONG>?
) -> CK_RV {
    perform { context throws(Failure) in
        let call = PKCS11Call(.getSlotList, [tokenPresent == 0 ? 0 : 1, unsafe slots == nil ? 1 : 0])
        var list: [UInt64] = []
        do throws(Failure) {
            let reply = try Reply.ask(call, &context)
            try reply.requireSuccess()
            list = reply.answer.numbers
        } catch {
            // Where no host can be had, as in a sandbox, there are no slots: programs that have other modules go on.
            guard !error.isHost, Initialisation.isCurrent(context.initialisation) else { throw error }
            _ = context.log.end(CKR_OK, error.reason)
        }
        try unsafe PKCS11Call.give(list, slots, required(count))
    }
}

@c @implementation
public func C_GetSlotInfo(_ slot: CK_SLOT_ID, _ information: UnsafeMutablePointer<CK_SLOT_INFO>?) -> CK_RV {
    perform { context throws(Failure) in
        let information = try unsafe required(information)
        let reply = try Reply.ask(PKCS11Call(.getSlotInfo, [UInt64(slot)]), &context)
        try reply.requireSuccess()
        var filled = CK_SLOT_INFO()
        var text = reply.answer.text[...]
        try fill(&filled.slotDescription, with: &text)
        try fill(&filled.manufacturerID, with: &text)
        filled.flags = try reply.number(0)
        unsafe information.pointee = filled
    }
}

@c @implementation
public func C_GetTokenInfo(_ slot: CK_SLOT_ID, _ information: UnsafeMutablePointer<CK_TOKEN_INFO>?) -> CK_RV {
    perform { context throws(Failure) in
        let information = try unsafe required(information)
        let reply = try Reply.ask(PKCS11Call(.getTokenInfo, [UInt64(slot)]), &context)
        try reply.requireSuccess()
        var filled = CK_TOKEN_INFO()
        var text = reply.answer.text[...]
        try fill(&filled.label, with: &text)
        try fill(&filled.manufacturerID, with: &text)
        try fill(&filled.model, with: &text)
        try fill(&filled.serialNumber, with: &text)
        fill(&filled.utcTime, with: "")
        filled.flags = try reply.number(0)
        filled.ulMaxSessionCount = CK_ULONG(SessionLimit.count)
        filled.ulSessionCount = try reply.number(1)
        filled.ulMaxRwSessionCount = CK_ULONG(SessionLimit.count)
        filled.ulRwSessionCount = try reply.number(2)
        filled.ulMinPinLen = try reply.number(3)
        filled.ulMaxPinLen = try reply.number(4)
        filled.ulTotalPublicMemory = .max
        filled.ulFreePublicMemory = .max
        filled.ulTotalPrivateMemory = .max
        filled.ulFreePrivateMemory = .max
        filled.firmwareVersion = CK_VERSION(
            major: UInt8(truncatingIfNeeded: try reply.number(5)), minor: UInt8(truncatingIfNeeded: try reply.number(6))
        )
        unsafe information.pointee = filled
    }
}

/// The failure of a wait for an event while others have all connections for waits, one of which gets the next event.
private let tooManyWaits = Failure(CKR_NO_EVENT, isHost: false)

@c @implementation
public func C_WaitForSlotEvent(
    _ flags: CK_FLAGS, _ slot: UnsafeMutablePointer<CK_SLOT_ID>?, _ reserved: UnsafeMutableRawPointer?
) -> CK_RV {
    perform { context throws(Failure) in
        guard unsafe reserved == nil else { throw argumentsBad }
        let slot = try unsafe required(slot)
        let call = PKCS11Call(.waitForSlotEvent, [UInt64(flags)])
        let awaitsEvent = flags & CKF_DONT_BLOCK == 0
        if awaitsEvent { context.tooManyWaits = tooManyWaits }
        while true {
            do throws(Failure) {
                unsafe slot.pointee = try call.number(&context)
                return
            } catch {
                // There is no host, and no event, while there is neither a card service nor a keychain.
                guard error.isMissingHost || error.code == tooManyWaits.code else { throw error }
            }
            guard awaitsEvent else { throw Failure(CKR_NO_EVENT, isHost: false) }
            usleep(HostNeed.timeBetweenLooks)
            context.deadline.renew()
            guard Initialisation.isCurrent(context.initialisation) else { throw Failure(CKR_CRYPTOKI_NOT_INITIALIZED) }
        }
    }
}

@c @implementation
public func C_GetMechanismList(
    _ slot: CK_SLOT_ID, _ mechanisms: UnsafeMutablePointer<CK_MECHANISM_TYPE>?,
    _ count: UnsafeMutablePointer<CK_ULONG>?
) -> CK_RV {
    perform { context throws(Failure) in
        let reply = try Reply.ask(PKCS11Call(.getMechanismList, [UInt64(slot)]), &context)
        try reply.requireSuccess()
        try unsafe PKCS11Call.give(reply.answer.numbers, mechanisms, required(count))
    }
}

@c @implementation
public func C_GetMechanismInfo(
    _ slot: CK_SLOT_ID, _ type: CK_MECHANISM_TYPE, _ information: UnsafeMutablePointer<CK_MECHANISM_INFO>?
) -> CK_RV {
    perform { context throws(Failure) in
        let information = try unsafe required(information)
        let reply = try Reply.ask(
            PKCS11Call(.getMechanismInfo, [UInt64(slot), UInt64(type)]), &context)
        try reply.requireSuccess()
        unsafe information.pointee = CK_MECHANISM_INFO(
            ulMinKeySize: try reply.number(0), ulMaxKeySize: try reply.number(1), flags: try reply.number(2))
    }
}
