internal import HostAPI
internal import KeychainModel
internal import KeychainCalls
internal import Localization
internal import SecureBytes

/// A local keychain, for ``kSecUseKeychain`` and ``kSecMatchSearchList``.
public final class SecKeychain: Sendable {
    let path: String

    init(path: String) {
        self.path = path
    }

    /// - Throws: `errSecNoSuchKeychain`, `errSecInvalidKeychain`.
    var identifier: KeychainIdentifier {
        get throws(KeychainError) { try Keychains.caller.keychain(at: path).keychain.identifier }
    }
}

/// A keychain by its path or name. Nothing is read before the keychain is used.
@discardableResult
public func SecKeychainOpen(
    _ pathName: String, _ keychain: UnsafeMutablePointer<SecKeychain?>
) -> OSStatus {
    status { () throws(KeychainError) in
        let path = try Keychains.host.path(ofKeychain: pathName, Keychains.caller.request())
        unsafe keychain.pointee = SecKeychain(path: path)
    }
}

/// A new keychain, unlocked. It joins the search list, and becomes the default where there is none.
@discardableResult
public func SecKeychainCreate(
    _ pathName: String, _ passwordLength: UInt32, _ password: UnsafeRawPointer?, _ promptUser: Bool,
    _ initialAccess: SecAccess?, _ keychain: UnsafeMutablePointer<SecKeychain?>?
) -> OSStatus {
    status { () throws(KeychainError) in
        guard initialAccess == nil else {
            throw KeychainError(
                .unimplemented, "a keychain is open to whoever has its password", remedy: "pass nil",
                key: "initialAccess")
        }
        let chosen = promptUser ? nil : try unsafe Secret(callers: password, length: passwordLength)
        let created = try Keychains.caller.create(pathName, password: chosen)
        unsafe keychain?.pointee = SecKeychain(path: created)
    }
}

/// The keychain that gets new items.
@discardableResult
public func SecKeychainCopyDefault(_ keychain: UnsafeMutablePointer<SecKeychain?>) -> OSStatus {
    status { () throws(KeychainError) in
        unsafe keychain.pointee = SecKeychain(path: try Keychains.caller.defaultPath())
    }
}

/// Unlocks a keychain with a password, for every program of the login session.
@discardableResult
public func SecKeychainUnlock(
    _ keychain: SecKeychain?, _ passwordLength: UInt32, _ password: UnsafeRawPointer?, _ usePassword: Bool
) -> OSStatus {
    status { () throws(KeychainError) in
        let given = usePassword ? try unsafe Secret(callers: password, length: passwordLength) : nil
        try Keychains.caller.unlock(keychain?.path, password: given)
    }
}

/// Locks a keychain for every program of the login session.
@discardableResult
public func SecKeychainLock(_ keychain: SecKeychain?) -> OSStatus {
    status { () throws(KeychainError) in
        try Keychains.caller.lock(keychain?.path)
    }
}
