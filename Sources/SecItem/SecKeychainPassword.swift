internal import HostAPI
internal import KeychainModel
internal import KeychainCalls
internal import Localization
internal import SecureBytes

// Passwords by the functions of SecKeychain.h. Text has a length in bytes; nil, or a length of 0, matches any text.

/// Adds a program's password to a keychain, the default one if nil.
@discardableResult
public func SecKeychainAddGenericPassword(
    _ keychain: SecKeychain?, _ serviceNameLength: UInt32, _ serviceName: UnsafePointer<CChar>?,
    _ accountNameLength: UInt32, _ accountName: UnsafePointer<CChar>?, _ passwordLength: UInt32,
    _ passwordData: UnsafeRawPointer?, _ itemRef: UnsafeMutablePointer<SecKeychainItem?>?
) -> OSStatus {
    status { () throws(KeychainError) in
        var attributes = try unsafe Attributes.generic(serviceName, serviceNameLength, accountName, accountNameLength)
        attributes[.label] = attributes[.service]
        let password = try unsafe Secret(callers: passwordData, length: passwordLength)
        try unsafe add(.genericPassword(attributes, secret: password), to: keychain, itemRef)
    }
}

/// Finds a program's password in a keychain, or in the whole search list if nil.
///
/// - Parameter passwordData: receives memory that ``SecKeychainItemFreeContent(_:_:)`` frees.
@discardableResult
public func SecKeychainFindGenericPassword(
    _ keychainOrArray: Any?, _ serviceNameLength: UInt32, _ serviceName: UnsafePointer<CChar>?,
    _ accountNameLength: UInt32, _ accountName: UnsafePointer<CChar>?,
    _ passwordLength: UnsafeMutablePointer<UInt32>?, _ passwordData: UnsafeMutablePointer<UnsafeMutableRawPointer?>?,
    _ itemRef: UnsafeMutablePointer<SecKeychainItem?>?
) -> OSStatus {
    status { () throws(KeychainError) in
        let attributes = try unsafe Attributes.generic(serviceName, serviceNameLength, accountName, accountNameLength)
        try unsafe find(.genericPassword, attributes, in: keychainOrArray, passwordLength, passwordData, itemRef)
    }
}

/// Adds a server's password to a keychain, the default one if nil.
@discardableResult
public func SecKeychainAddInternetPassword(
    _ keychain: SecKeychain?, _ serverNameLength: UInt32, _ serverName: UnsafePointer<CChar>?,
    _ securityDomainLength: UInt32, _ securityDomain: UnsafePointer<CChar>?, _ accountNameLength: UInt32,
    _ accountName: UnsafePointer<CChar>?, _ pathLength: UInt32, _ path: UnsafePointer<CChar>?, _ port: UInt16,
    _ protocol: SecProtocolType, _ authenticationType: SecAuthenticationType, _ passwordLength: UInt32,
    _ passwordData: UnsafeRawPointer?, _ itemRef: UnsafeMutablePointer<SecKeychainItem?>?
) -> OSStatus {
    status { () throws(KeychainError) in
        var attributes = try unsafe Attributes.internet(
            serverName, serverNameLength, securityDomain, securityDomainLength, accountName, accountNameLength, path,
            pathLength, port, `protocol`.rawValue, authenticationType.rawValue)
        attributes[.label] = attributes[.server]
        let password = try unsafe Secret(callers: passwordData, length: passwordLength)
        try unsafe add(.internetPassword(attributes, secret: password), to: keychain, itemRef)
    }
}

/// Finds a server's password in a keychain, or in the whole search list if nil. A port of 0 matches any.
///
/// - Parameter passwordData: receives memory that ``SecKeychainItemFreeContent(_:_:)`` frees.
@discardableResult
public func SecKeychainFindInternetPassword(
    _ keychainOrArray: Any?, _ serverNameLength: UInt32, _ serverName: UnsafePointer<CChar>?,
    _ securityDomainLength: UInt32, _ securityDomain: UnsafePointer<CChar>?, _ accountNameLength: UInt32,
    _ accountName: UnsafePointer<CChar>?, _ pathLength: UInt32, _ path: UnsafePointer<CChar>?, _ port: UInt16,
    _ protocol: SecProtocolType, _ authenticationType: SecAuthenticationType,
    _ passwordLength: UnsafeMutablePointer<UInt32>?, _ passwordData: UnsafeMutablePointer<UnsafeMutableRawPointer?>?,
    _ itemRef: UnsafeMutablePointer<SecKeychainItem?>?
) -> OSStatus {
    status { () throws(KeychainError) in
        let attributes = try unsafe Attributes.internet(
            serverName, serverNameLength, securityDomain, securityDomainLength, accountName, accountNameLength, path,
            pathLength, port, `protocol`.rawValue, authenticationType.rawValue)
        try unsafe find(.internetPassword, attributes, in: keychainOrArray, passwordLength, passwordData, itemRef)
    }
}

// MARK: - Common parts

func add(
    _ item: NewItem, to keychain: SecKeychain?, access: SecAccess? = nil,
    _ itemRef: UnsafeMutablePointer<SecKeychainItem?>?
) throws(KeychainError) {
    let added = try Keychains.caller.add(item, to: keychain?.path, access: access?.readers)
    unsafe itemRef?.pointee = SecKeychainItem(added)
}

private func find(
    _ itemClass: ItemClass, _ attributes: Attributes, in keychainOrArray: Any?,
    _ passwordLength: UnsafeMutablePointer<UInt32>?, _ passwordData: UnsafeMutablePointer<UnsafeMutableRawPointer?>?,
    _ itemRef: UnsafeMutablePointer<SecKeychainItem?>?
) throws(KeychainError) {
    let reads = unsafe passwordData != nil || passwordLength != nil
    let found = try Keychains.caller.find(
        itemClass, attributes, in: paths(keychainOrArray), readingPassword: reads)
    RefusalLog.note(found.missing)
    try unsafe KeychainCaller.give(found.password, passwordLength, passwordData)
    unsafe itemRef?.pointee = SecKeychainItem(found.item)
}

/// The paths of the keychain or keychains that are given; nil for all of the search list.
///
/// - Throws: `errSecInvalidKeychain` for a reference to something else.
private func paths(_ keychainOrArray: Any?) throws(KeychainError) -> [String]? {
    guard let keychainOrArray else { return nil }
    var paths: [String] = []
    for element in keychainOrArray as? [Any] ?? [keychainOrArray] {
        guard let keychain = element as? SecKeychain else {
            throw KeychainError(.invalidKeychain, "the reference is not to a keychain")
        }
        paths.append(keychain.path)
    }
    return paths
}
