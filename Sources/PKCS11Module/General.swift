public import CCryptoki
internal import PKCS11Bridge
internal import TokenKit

// PKCS #11 §5.4, general purpose functions.

@c @implementation
public func C_Initialize(_ arguments: UnsafeMutableRawPointer?) -> CK_RV {
    run(#function, Log()) { () throws(CryptokiError) in
        if let arguments = unsafe arguments {
            try unsafe check(arguments.assumingMemoryBound(to: CK_C_INITIALIZE_ARGS.self).pointee)
        }
        try Module.initialize()
    }
}

/// The module locks by itself, with the system's means.
private func check(_ arguments: CK_C_INITIALIZE_ARGS) throws(CryptokiError) {
    guard unsafe arguments.pReserved == nil else { throw argumentsBad }
    let given = unsafe [
        arguments.CreateMutex != nil, arguments.DestroyMutex != nil, arguments.LockMutex != nil,
        arguments.UnlockMutex != nil,
    ]
    guard Set(given).count == 1 else { throw argumentsBad }
    if given[0], unsafe arguments.flags & CKF_OS_LOCKING_OK == 0 { throw CryptokiError(CKR_CANT_LOCK) }
}

@c @implementation
public func C_Finalize(_ reserved: UnsafeMutableRawPointer?) -> CK_RV {
    call { _ throws(CryptokiError) in
        guard unsafe reserved == nil else { throw argumentsBad }
        try Module.finalize()
    }
}

@c @implementation
public func C_GetInfo(_ information: UnsafeMutablePointer<CK_INFO>?) -> CK_RV {
    call { _ throws(CryptokiError) in
        var filled = CK_INFO()
        filled.cryptokiVersion = CK_VERSION(major: 2, minor: 40)
        let version = CryptokiLibrary.version
        filled.libraryVersion = CK_VERSION(major: version.major, minor: version.minor)
        fill(&filled.manufacturerID, with: CryptokiLibrary.manufacturer)
        fill(&filled.libraryDescription, with: CryptokiLibrary.description)
        unsafe try required(information).pointee = filled
    }
}

// MARK: - Slots and tokens, §5.5

@c @implementation
public func C_GetSlotList(
    _ tokenPresent: UInt8, _ slots: UnsafeMutablePointer<CK_SLOT_ID>?, _ count: UnsafeMutablePointer<CK_ULONG>?
) -> CK_RV {
    call { cryptoki throws(CryptokiError) in
        let list = cryptoki.slotList(withToken: tokenPresent != 0, refreshing: unsafe slots == nil)
        try unsafe give(list, slots, count)
    }
}

@c @implementation
public func C_GetSlotInfo(_ slot: CK_SLOT_ID, _ information: UnsafeMutablePointer<CK_SLOT_INFO>?) -> CK_RV {
    call { cryptoki throws(CryptokiError) in
        let information = try unsafe required(information)
        let slot = try cryptoki.slotInfo(slot)
        var filled = CK_SLOT_INFO()
        fill(&filled.slotDescription, with: slot.name.description)
        fill(&filled.manufacturerID, with: slot.name.manufacturer)
        filled.flags = slot.flags
        unsafe information.pointee = filled
    }
}

@c @implementation
public func C_GetTokenInfo(_ slot: CK_SLOT_ID, _ information: UnsafeMutablePointer<CK_TOKEN_INFO>?) -> CK_RV {
    call { cryptoki throws(CryptokiError) in
        let information = try unsafe required(information)
        let token = try cryptoki.tokenInfo(slot)
        let sessions = cryptoki.sessionCounts(slot)
        var filled = CK_TOKEN_INFO()
        fill(&filled.label, with: token.name.label)
        fill(&filled.manufacturerID, with: token.name.manufacturer)
        fill(&filled.model, with: token.name.model)
        fill(&filled.serialNumber, with: token.name.serialNumber)
        fill(&filled.utcTime, with: "")
        filled.flags = token.flags
        filled.ulMaxSessionCount = CK_EFFECTIVELY_INFINITE
        filled.ulSessionCount = CK_ULONG(sessions.all)
        filled.ulMaxRwSessionCount = CK_EFFECTIVELY_INFINITE
        filled.ulRwSessionCount = CK_ULONG(sessions.writable)
        filled.ulMaxPinLen = CK_ULONG(token.pinLengths.upperBound)
        filled.ulMinPinLen = CK_ULONG(token.pinLengths.lowerBound)
        filled.ulTotalPublicMemory = .max
        filled.ulFreePublicMemory = .max
        filled.ulTotalPrivateMemory = .max
        filled.ulFreePrivateMemory = .max
        filled.firmwareVersion = CK_VERSION(major: token.firmware.major, minor: token.firmware.minor)
        unsafe information.pointee = filled
    }
}

@c @implementation
public func C_WaitForSlotEvent(
    _ flags: CK_FLAGS, _ slot: UnsafeMutablePointer<CK_SLOT_ID>?, _ reserved: UnsafeMutableRawPointer?
) -> CK_RV {
    call { cryptoki throws(CryptokiError) in
        guard unsafe reserved == nil else { throw argumentsBad }
        let slot = try unsafe required(slot)
        unsafe slot.pointee = try cryptoki.waitForSlotEvent(blocking: flags & CKF_DONT_BLOCK == 0)
    }
}

@c @implementation
public func C_GetMechanismList(
    _ slot: CK_SLOT_ID, _ mechanisms: UnsafeMutablePointer<CK_MECHANISM_TYPE>?,
    _ count: UnsafeMutablePointer<CK_ULONG>?
) -> CK_RV {
    call { cryptoki throws(CryptokiError) in
        try unsafe give(cryptoki.mechanisms(slot).map(\.type), mechanisms, count)
    }
}

@c @implementation
public func C_GetMechanismInfo(
    _ slot: CK_SLOT_ID, _ type: CK_MECHANISM_TYPE, _ information: UnsafeMutablePointer<CK_MECHANISM_INFO>?
) -> CK_RV {
    call { cryptoki throws(CryptokiError) in
        let information = try unsafe required(information)
        let mechanism = try cryptoki.mechanism(type, of: slot)
        unsafe information.pointee = CK_MECHANISM_INFO(
            ulMinKeySize: CK_ULONG(mechanism.keySizes?.lowerBound ?? 0),
            ulMaxKeySize: CK_ULONG(mechanism.keySizes?.upperBound ?? 0), flags: mechanism.flags)
    }
}
