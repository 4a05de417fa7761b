internal import HostConnection
internal import KeychainModel
internal import KeychainHost
internal import SecureBytes

/// A local keychain, for ``kSecUseKeychain`` and ``kSecMatchSearchList``.
public final class SecKeychain: Sendable {
    let path: String

    init(path: String) {
        self.path = path
    }

    func opened() throws(KeychainError) -> LocalKeychain { try Keychains.process.keychain(at: path) }
}

/// A keychain by its path or name. Nothing is read before it is used.
@discardableResult
public func SecKeychainOpen(
    _ pathName: String, _ keychain: UnsafeMutablePointer<SecKeychain?>
) -> OSStatus {
    unsafe keychain.pointee = SecKeychain(path: Keychains.process.preferences.absolutePath(pathName))
    return errSecSuccess
}

/// A new keychain, unlocked. It joins the search list, and becomes the default where there is none.
@discardableResult
public func SecKeychainCreate(
    _ pathName: String, _ passwordLength: UInt32, _ password: UnsafeRawPointer?, _ promptUser: Bool,
    _ initialAccess: CFTypeRef?, _ keychain: UnsafeMutablePointer<SecKeychain?>?
) -> OSStatus {
    status { () throws(KeychainError) in
        try requireNoAccess(initialAccess)
        let preferences = Keychains.process.preferences
        let chosen =
            promptUser
            ? try Keychains.authentication.prompter.ask(PromptRequest(.newPassword, subject: pathName))
            : try unsafe Secret(callers: password, length: passwordLength)
        let created = try preferences.create(preferences.absolutePath(pathName), password: chosen)
        Keychains.process.adopt(created)
        unsafe keychain?.pointee = SecKeychain(path: created.path)
    }
}

/// The keychain that gets new items.
@discardableResult
public func SecKeychainCopyDefault(_ keychain: UnsafeMutablePointer<SecKeychain?>) -> OSStatus {
    status { () throws(KeychainError) in
        unsafe keychain.pointee = SecKeychain(path: try Keychains.process.preferences.defaultKeychain())
    }
}

/// Unlocks a keychain with a password, for every program of the login session.
@discardableResult
public func SecKeychainUnlock(
    _ keychain: SecKeychain?, _ passwordLength: UInt32, _ password: UnsafeRawPointer?, _ usePassword: Bool
) -> OSStatus {
    status { () throws(KeychainError) in
        let opened = try openedOrDefault(keychain)
        if usePassword {
            try opened.unlock(password: unsafe Secret(callers: password, length: passwordLength))
        } else {
            try opened.unlock(authentication: Keychains.authentication)
        }
        try opened.shareKeyWithSession()
    }
}

/// Locks a keychain for every program of the login session.
@discardableResult
public func SecKeychainLock(_ keychain: SecKeychain?) -> OSStatus {
    status { () throws(KeychainError) in
        try openedOrDefault(keychain).lockEverywhere()
    }
}

func openedOrDefault(_ keychain: SecKeychain?) throws(KeychainError) -> LocalKeychain {
    guard let keychain else { return try Keychains.process.defaultKeychain() }
    return try keychain.opened()
}
