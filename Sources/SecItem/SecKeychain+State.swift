internal import HostAPI
internal import KeychainModel
internal import KeychainCalls
internal import Localization

/// Deletes the keychain's file, and takes it out of the search list.
@discardableResult
public func SecKeychainDelete(_ keychainOrNil: SecKeychain?) -> OSStatus {
    status { () throws(KeychainError) in
        guard let keychain = keychainOrNil else { throw KeychainError(.invalidKeychain, "the reference is missing") }
        try Keychains.caller.delete(keychain.path)
    }
}

/// Chooses the keychain that gets new items.
@discardableResult
public func SecKeychainSetDefault(_ keychain: SecKeychain?) -> OSStatus {
    status { () throws(KeychainError) in
        guard let keychain else { throw KeychainError(.invalidKeychain, "the reference is missing") }
        try Keychains.host.choose(.defaultKeychain(keychain.path), in: .user, Keychains.caller.request())
    }
}

/// Locks every keychain of the search list, for every program of the login session.
@discardableResult
public func SecKeychainLockAll() -> OSStatus {
    status { () throws(KeychainError) in _ = try Keychains.host.lock(nil, Keychains.caller.request()) }
}

/// Whether a keychain is unlocked, and can be read and written.
@discardableResult
public func SecKeychainGetStatus(
    _ keychain: SecKeychain?, _ keychainStatus: UnsafeMutablePointer<SecKeychainStatus>
) -> OSStatus {
    status { () throws(KeychainError) in
        unsafe keychainStatus.pointee = try Keychains.caller.keychain(at: keychain?.path).keychain.status.rawValue
    }
}

/// The path with a final zero. `ioPathLength` is the buffer's size, and receives the path's length without the zero, also with
/// `errSecBufferTooSmall`.
@discardableResult
public func SecKeychainGetPath(
    _ keychain: SecKeychain?, _ ioPathLength: UnsafeMutablePointer<UInt32>, _ pathName: UnsafeMutablePointer<CChar>
) -> OSStatus {
    status { () throws(KeychainError) in
        let path = if let keychain { keychain.path } else { try Keychains.caller.defaultPath() }
        let (room, needed) = (unsafe Int(ioPathLength.pointee), path.utf8.count + 1)
        unsafe ioPathLength.pointee = UInt32(clamping: path.utf8.count)
        guard room >= needed else { throw KeychainError(.bufferTooSmall) }
        for (index, byte) in (Array(path.utf8) + [0]).enumerated() { unsafe pathName[index] = CChar(bitPattern: byte) }
    }
}

/// Sets whether this process may ask for PINs and passwords. By default it may.
@discardableResult
public func SecKeychainSetUserInteractionAllowed(_ state: Bool) -> OSStatus {
    Keychains.interaction.isAllowed = state
    return errSecSuccess
}

@discardableResult
public func SecKeychainGetUserInteractionAllowed(_ state: UnsafeMutablePointer<DarwinBoolean>) -> OSStatus {
    unsafe state.pointee = DarwinBoolean(Keychains.interaction.isAllowed)
    return errSecSuccess
}

// MARK: - Search list

/// The keychains that a search visits, without cards; they need not exist.
@discardableResult
public func SecKeychainCopySearchList(_ searchList: UnsafeMutablePointer<CFArray?>) -> OSStatus {
    status { () throws(KeychainError) in
        let choice = try Keychains.host.keychainChoice(in: nil, Keychains.caller.request())
        unsafe searchList.pointee = choice.searchList.map { SecKeychain(path: $0) }
    }
}

/// Replaces the user's search list. The system's keychains stay in it.
///
/// - Returns: `errSecParam` where an element is not a keychain.
@discardableResult
public func SecKeychainSetSearchList(_ searchList: CFArray) -> OSStatus {
    status { () throws(KeychainError) in
        let keychains = searchList.compactMap { $0 as? SecKeychain }
        guard keychains.count == searchList.count else {
            throw KeychainError(.param, "an element of the search list is not a keychain", key: "searchList")
        }
        try Keychains.host.choose(.searchList(keychains.map(\.path)), in: .user, Keychains.caller.request())
    }
}

// MARK: - Settings

/// The conditions on which the keychain locks by itself.
@discardableResult
public func SecKeychainCopySettings(
    _ keychain: SecKeychain?, _ outSettings: UnsafeMutablePointer<SecKeychainSettings>
) -> OSStatus {
    status { () throws(KeychainError) in
        guard let settings = try Keychains.caller.keychain(at: keychain?.path).settings else {
            throw KeychainError(.invalidKeychain, "the keychain's settings cannot be read")
        }
        unsafe outSettings.pointee = SecKeychainSettings(
            lockOnSleep: DarwinBoolean(settings.locksOnSleep),
            useLockInterval: DarwinBoolean(settings.lockInterval != nil), lockInterval: settings.lockInterval ?? .max)
    }
}

/// Sets the conditions on which the keychain locks by itself. A locked keychain is unlocked first.
@discardableResult
public func SecKeychainSetSettings(
    _ keychain: SecKeychain?, _ newSettings: UnsafePointer<SecKeychainSettings>
) -> OSStatus {
    status { () throws(KeychainError) in
        let wanted = unsafe newSettings.pointee
        try Keychains.caller.configure(
            keychain?.path,
            KeychainSettings(
                locksOnSleep: wanted.lockOnSleep.boolValue,
                lockInterval: wanted.useLockInterval.boolValue ? wanted.lockInterval : nil))
    }
}
