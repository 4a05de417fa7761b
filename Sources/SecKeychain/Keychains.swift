internal import HostAPI
internal import KeychainModel
public import CSecKeychain
internal import Glibc
internal import KeychainCalls
internal import SecureBytes
internal import Synchronization

@c
public func SecKeychainOpen(_ pathName: UnsafePointer<CChar>?, _ keychain: UnsafeMutablePointer<OpaquePointer?>?)
    -> OSStatus
{
    status { () throws(KeychainError) in
        let path = try unsafe path(pathName)
        guard let keychain = unsafe keychain else { throw KeychainError(.param) }
        unsafe keychain.pointee = .retained(KeychainReference(path: path))
    }
}

@c
public func SecKeychainCreate(
    _ pathName: UnsafePointer<CChar>?, _ passwordLength: UInt32, _ password: UnsafeRawPointer?, _ promptUser: UInt8,
    _ initialAccess: UnsafeRawPointer?, _ keychain: UnsafeMutablePointer<OpaquePointer?>?
) -> OSStatus {
    status { () throws(KeychainError) in
        try unsafe requireNoAccess(initialAccess)
        let path = try unsafe path(pathName)
        let chosen = promptUser == 0 ? try unsafe Secret(callers: password, length: passwordLength) : nil
        let created = try Library.caller.create(path, password: chosen)
        unsafe keychain?.pointee = .retained(KeychainReference(path: created))
    }
}

@c
public func SecKeychainDelete(_ keychain: OpaquePointer?) -> OSStatus {
    status { () throws(KeychainError) in
        try unsafe given(keychain).delete()
    }
}

@c
public func SecKeychainCopyDefault(_ keychain: UnsafeMutablePointer<OpaquePointer?>?) -> OSStatus {
    status { () throws(KeychainError) in
        guard let keychain = unsafe keychain else { throw KeychainError(.param) }
        unsafe keychain.pointee = .retained(
            KeychainReference(path: try Library.caller.defaultPath()))
    }
}

@c
public func SecKeychainSetDefault(_ keychain: OpaquePointer?) -> OSStatus {
    status { () throws(KeychainError) in
        try Library.caller.host.choose(
            .defaultKeychain(unsafe given(keychain).path), in: .user, Library.caller.request())
    }
}

// MARK: - Locking

@c
public func SecKeychainLock(_ keychain: OpaquePointer?) -> OSStatus {
    status { () throws(KeychainError) in try Library.caller.lock(unsafe path(of: keychain)) }
}

@c
public func SecKeychainLockAll() -> OSStatus {
    status { () throws(KeychainError) in _ = try Library.caller.host.lock(nil, Library.caller.request()) }
}

@c
public func SecKeychainUnlock(
    _ keychain: OpaquePointer?, _ passwordLength: UInt32, _ password: UnsafeRawPointer?, _ usePassword: UInt8
) -> OSStatus {
    status { () throws(KeychainError) in
        let given = usePassword == 0 ? nil : try unsafe Secret(callers: password, length: passwordLength)
        try Library.caller.unlock(unsafe path(of: keychain), password: given)
    }
}

@c
public func SecKeychainGetStatus(_ keychain: OpaquePointer?, _ keychainStatus: UnsafeMutablePointer<UInt32>?)
    -> OSStatus
{
    status { () throws(KeychainError) in
        let opened = try Library.caller.keychain(at: unsafe path(of: keychain))
        guard let keychainStatus = unsafe keychainStatus else { throw KeychainError(.param) }
        unsafe keychainStatus.pointee = opened.keychain.status.rawValue
    }
}

// MARK: - Paths and messages

@c
public func SecKeychainGetPath(
    _ keychain: OpaquePointer?, _ ioPathLength: UnsafeMutablePointer<UInt32>?, _ pathName: UnsafeMutablePointer<CChar>?
) -> OSStatus {
    status { () throws(KeychainError) in
        let path =
            unsafe keychain == nil
            ? try Library.caller.defaultPath() : try unsafe given(keychain).path
        guard let ioPathLength = unsafe ioPathLength else { throw KeychainError(.param) }
        let (room, needed) = (unsafe Int(ioPathLength.pointee), path.utf8.count + 1)
        unsafe ioPathLength.pointee = UInt32(clamping: path.utf8.count)
        guard let pathName = unsafe pathName, room >= needed else { throw KeychainError(.bufferTooSmall) }
        for (index, byte) in (Array(path.utf8) + [0]).enumerated() { unsafe pathName[index] = CChar(bitPattern: byte) }
    }
}

/// The messages of codes. Each text is kept for the life of the process, as C callers expect.
private let messages = Mutex<[OSStatus: UInt]>([:])

@c(tokenkit_keychain_message)
public func message(_ status: OSStatus) -> UnsafePointer<CChar>? {
    let address = messages.withLock { messages in
        if let known = messages[status] { return known }
        let copy = unsafe UInt(bitPattern: strdup(ErrSec(rawValue: status).message))
        messages[status] = copy
        return copy
    }
    return unsafe UnsafePointer(bitPattern: address)
}

/// The path of a reference's keychain, for a call that uses it; nil for the default one.
func path(of keychain: OpaquePointer?) throws(KeychainError) -> String? {
    guard let keychain = unsafe keychain else { return nil }
    return try unsafe keychain.keychain().used()
}

private func path(_ name: UnsafePointer<CChar>?) throws(KeychainError) -> String {
    guard let name = unsafe name, let path = unsafe String(validatingCString: name) else {
        throw KeychainError(.param, "a path is missing, or is not UTF-8")
    }
    return try Library.caller.host.path(ofKeychain: path, Library.caller.request())
}

/// The keychain of a reference that must not be NULL.
private func given(_ keychain: OpaquePointer?) throws(KeychainError) -> KeychainReference {
    guard let keychain = unsafe keychain else { throw KeychainError(.invalidKeychain, "the reference is missing") }
    return try unsafe keychain.keychain()
}
