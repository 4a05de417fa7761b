internal import HostAPI
internal import KeychainModel
public import CSecKeychain
internal import Glibc
internal import KeychainHost
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
        let chosen =
            promptUser == 0
            ? try unsafe Secret(callers: password, length: passwordLength)
            : try Library.authentication.prompter.ask(PromptRequest(.newPassword, subject: path))
        let created = try Library.process.preferences.create(path, password: chosen)
        Library.process.adopt(created)
        unsafe keychain?.pointee = .retained(KeychainReference(path: created.path))
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
            KeychainReference(path: try Library.process.preferences.defaultKeychain()))
    }
}

@c
public func SecKeychainSetDefault(_ keychain: OpaquePointer?) -> OSStatus {
    status { () throws(KeychainError) in
        try Library.process.preferences.setDefaultKeychain(unsafe given(keychain).path)
    }
}

// MARK: - Locking

@c
public func SecKeychainLock(_ keychain: OpaquePointer?) -> OSStatus {
    status { () throws(KeychainError) in try unsafe openedOrDefault(keychain).lockEverywhere() }
}

@c
public func SecKeychainLockAll() -> OSStatus {
    status { () throws(KeychainError) in _ = try Library.process.lockAll() }
}

@c
public func SecKeychainUnlock(
    _ keychain: OpaquePointer?, _ passwordLength: UInt32, _ password: UnsafeRawPointer?, _ usePassword: UInt8
) -> OSStatus {
    status { () throws(KeychainError) in
        let opened = try unsafe openedOrDefault(keychain)
        if usePassword == 0 {
            try opened.unlock(authentication: Library.authentication)
        } else {
            try opened.unlock(password: unsafe Secret(callers: password, length: passwordLength))
        }
        try opened.shareKeyWithSession()
    }
}

@c
public func SecKeychainGetStatus(_ keychain: OpaquePointer?, _ keychainStatus: UnsafeMutablePointer<UInt32>?)
    -> OSStatus
{
    status { () throws(KeychainError) in
        let opened = try unsafe openedOrDefault(keychain)
        guard let keychainStatus = unsafe keychainStatus else { throw KeychainError(.param) }
        unsafe keychainStatus.pointee = opened.status.rawValue
    }
}

// MARK: - What they are called

@c
public func SecKeychainGetPath(
    _ keychain: OpaquePointer?, _ ioPathLength: UnsafeMutablePointer<UInt32>?, _ pathName: UnsafeMutablePointer<CChar>?
) -> OSStatus {
    status { () throws(KeychainError) in
        let path =
            unsafe keychain == nil
            ? try Library.process.preferences.defaultKeychain() : try unsafe given(keychain).path
        guard let ioPathLength = unsafe ioPathLength else { throw KeychainError(.param) }
        let (room, needed) = (unsafe Int(ioPathLength.pointee), path.utf8.count + 1)
        unsafe ioPathLength.pointee = UInt32(clamping: path.utf8.count)
        guard let pathName = unsafe pathName, room >= needed else { throw KeychainError(.bufferTooSmall) }
        for (index, byte) in (Array(path.utf8) + [0]).enumerated() { unsafe pathName[index] = CChar(bitPattern: byte) }
    }
}

/// The messages of codes; each text is kept for the life of the process, as C expects of it.
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

func openedOrDefault(_ keychain: OpaquePointer?) throws(KeychainError) -> LocalKeychain {
    guard let keychain = unsafe keychain else { return try Library.process.defaultKeychain() }
    return try unsafe keychain.keychain().opened()
}

private func path(_ name: UnsafePointer<CChar>?) throws(KeychainError) -> String {
    guard let name = unsafe name, let path = unsafe String(validatingCString: name) else {
        throw KeychainError(.param, "a path is missing, or is not UTF-8")
    }
    return Library.process.preferences.absolutePath(path)
}

/// The keychain of a reference that has to be there.
private func given(_ keychain: OpaquePointer?) throws(KeychainError) -> KeychainReference {
    guard let keychain = unsafe keychain else { throw KeychainError(.invalidKeychain, "the reference is missing") }
    return try unsafe keychain.keychain()
}
