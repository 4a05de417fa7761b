public import CSecKeychain
internal import CThinClient

@c
public func SecKeychainOpen(_ pathName: UnsafePointer<CChar>?, _ keychain: UnsafeMutablePointer<OpaquePointer?>?)
    -> OSStatus
{
    perform { context throws(Failure) in
        let path = try unsafe path(ofName: pathName, &context)
        guard let keychain = unsafe keychain else { throw argumentsBad }
        unsafe keychain.pointee = .retained(KeychainReference(path: path))
    }
}

@c
public func SecKeychainCreate(
    _ pathName: UnsafePointer<CChar>?, _ passwordLength: UInt32, _ passwordData: UnsafeRawPointer?,
    _ promptUser: UInt8, _ initialAccess: UnsafeRawPointer?, _ keychain: UnsafeMutablePointer<OpaquePointer?>?
) -> OSStatus {
    perform { context throws(Failure) in
        guard unsafe initialAccess == nil else {
            throw Failure(errSecUnimplemented, "a keychain is open to whoever has its password (pass NULL)")
        }
        let path = try unsafe path(ofName: pathName, &context)
        let chosen = promptUser == 0 ? try unsafe password(passwordData, passwordLength) : Secrets()
        let call = KeychainCall(.create, in: path, hasPassword: promptUser == 0)
        let created = try Reply.ask(call, &context, sending: chosen).path()
        unsafe keychain?.pointee = .retained(KeychainReference(path: created))
    }
}

@c
public func SecKeychainDelete(_ keychainOrNull: OpaquePointer?) -> OSStatus {
    perform { context throws(Failure) in
        let reference = try unsafe keychain(keychainOrNull)
        try KeychainCall(.deleteKeychain, in: reference.used()).perform(&context)
        reference.noteDeletion()
    }
}

@c
public func SecKeychainCopyDefault(_ keychain: UnsafeMutablePointer<OpaquePointer?>?) -> OSStatus {
    perform { context throws(Failure) in
        guard let keychain = unsafe keychain else { throw argumentsBad }
        unsafe keychain.pointee = .retained(KeychainReference(path: try defaultPath(&context)))
    }
}

private func defaultPath(_ context: inout CallContext) throws(Failure) -> [UInt8] {
    try Reply.ask(KeychainCall(.defaultPath, in: nil), &context).path()
}

@c
public func SecKeychainSetDefault(_ reference: OpaquePointer?) -> OSStatus {
    perform { context throws(Failure) in
        try KeychainCall(.setDefault, in: unsafe keychain(reference).path).perform(&context)
    }
}

// MARK: - Locking

@c
public func SecKeychainLock(_ keychain: OpaquePointer?) -> OSStatus {
    perform { context throws(Failure) in
        try KeychainCall(.lock, in: unsafe path(of: keychain)).perform(&context)
    }
}

@c
public func SecKeychainLockAll() -> OSStatus {
    perform { context throws(Failure) in try KeychainCall(.lockAll, in: nil).perform(&context) }
}

@c
public func SecKeychainUnlock(
    _ keychain: OpaquePointer?, _ passwordLength: UInt32, _ passwordData: UnsafeRawPointer?, _ usePassword: UInt8
) -> OSStatus {
    perform { context throws(Failure) in
        let given = usePassword == 0 ? Secrets() : try unsafe password(passwordData, passwordLength)
        let call = KeychainCall(.unlock, in: try unsafe path(of: keychain), hasPassword: usePassword != 0)
        try call.perform(&context, sending: given)
    }
}

@c
public func SecKeychainGetStatus(_ keychain: OpaquePointer?, _ keychainStatus: UnsafeMutablePointer<UInt32>?)
    -> OSStatus
{
    perform { context throws(Failure) in
        let status = try Reply.ask(KeychainCall(.status, in: unsafe path(of: keychain)), &context).answer.number
        guard let keychainStatus = unsafe keychainStatus else { throw argumentsBad }
        unsafe keychainStatus.pointee = UInt32(truncatingIfNeeded: status)
    }
}

// MARK: - Paths

@c
public func SecKeychainGetPath(
    _ reference: OpaquePointer?, _ ioPathLength: UnsafeMutablePointer<UInt32>?, _ pathName: UnsafeMutablePointer<CChar>?
) -> OSStatus {
    perform { context throws(Failure) in
        let path = unsafe reference == nil ? try defaultPath(&context) : try unsafe keychain(reference).path
        guard let ioPathLength = unsafe ioPathLength else { throw argumentsBad }
        let room = unsafe Int(ioPathLength.pointee)
        unsafe ioPathLength.pointee = UInt32(clamping: path.count)
        guard let pathName = unsafe pathName, room > path.count else { throw Failure(errSecBufferTooSmall) }
        for index in path.indices { unsafe pathName[index] = CChar(bitPattern: path[index]) }
        unsafe pathName[path.count] = 0
    }
}

// MARK: - Interaction

@c
public func SecKeychainSetUserInteractionAllowed(_ state: UInt8) -> OSStatus {
    Client.allowsQuestions = state != 0
    return OSStatus(errSecSuccess)
}

@c
public func SecKeychainGetUserInteractionAllowed(_ state: UnsafeMutablePointer<UInt8>?) -> OSStatus {
    guard let state = unsafe state else { return OSStatus(errSecParam) }
    unsafe state.pointee = Client.allowsQuestions ? 1 : 0
    return OSStatus(errSecSuccess)
}
