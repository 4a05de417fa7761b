internal import HostAPI
internal import KeychainModel
public import CSecKeychain
internal import KeychainCalls
internal import SecureBytes

// MARK: - Programs

@c
public func SecKeychainAddGenericPassword(
    _ keychain: OpaquePointer?, _ serviceNameLength: UInt32, _ serviceName: UnsafePointer<CChar>?,
    _ accountNameLength: UInt32, _ accountName: UnsafePointer<CChar>?, _ passwordLength: UInt32,
    _ passwordData: UnsafeRawPointer?, _ itemRef: UnsafeMutablePointer<OpaquePointer?>?
) -> OSStatus {
    status { () throws(KeychainError) in
        var attributes = try unsafe Attributes.generic(serviceName, serviceNameLength, accountName, accountNameLength)
        attributes[.label] = attributes[.service]
        let password = try unsafe Secret(callers: passwordData, length: passwordLength)
        try unsafe add(.genericPassword(attributes, secret: password), to: keychain, itemRef)
    }
}

@c
public func SecKeychainFindGenericPassword(
    _ keychainOrArray: UnsafeRawPointer?, _ serviceNameLength: UInt32, _ serviceName: UnsafePointer<CChar>?,
    _ accountNameLength: UInt32, _ accountName: UnsafePointer<CChar>?,
    _ passwordLength: UnsafeMutablePointer<UInt32>?, _ passwordData: UnsafeMutablePointer<UnsafeMutableRawPointer?>?,
    _ itemRef: UnsafeMutablePointer<OpaquePointer?>?
) -> OSStatus {
    status { () throws(KeychainError) in
        try unsafe find(
            .genericPassword, Attributes.generic(serviceName, serviceNameLength, accountName, accountNameLength),
            in: keychainOrArray, passwordLength, passwordData, itemRef)
    }
}

// MARK: - Servers

@c
public func SecKeychainAddInternetPassword(
    _ keychain: OpaquePointer?, _ serverNameLength: UInt32, _ serverName: UnsafePointer<CChar>?,
    _ securityDomainLength: UInt32, _ securityDomain: UnsafePointer<CChar>?, _ accountNameLength: UInt32,
    _ accountName: UnsafePointer<CChar>?, _ pathLength: UInt32, _ path: UnsafePointer<CChar>?, _ port: UInt16,
    _ protocol: FourCharCode, _ authenticationType: FourCharCode, _ passwordLength: UInt32,
    _ passwordData: UnsafeRawPointer?, _ itemRef: UnsafeMutablePointer<OpaquePointer?>?
) -> OSStatus {
    status { () throws(KeychainError) in
        var attributes = try unsafe Attributes.internet(
            serverName, serverNameLength, securityDomain, securityDomainLength, accountName, accountNameLength, path,
            pathLength, port, `protocol`, authenticationType)
        attributes[.label] = attributes[.server]
        let password = try unsafe Secret(callers: passwordData, length: passwordLength)
        try unsafe add(.internetPassword(attributes, secret: password), to: keychain, itemRef)
    }
}

@c
public func SecKeychainFindInternetPassword(
    _ keychainOrArray: UnsafeRawPointer?, _ serverNameLength: UInt32, _ serverName: UnsafePointer<CChar>?,
    _ securityDomainLength: UInt32, _ securityDomain: UnsafePointer<CChar>?, _ accountNameLength: UInt32,
    _ accountName: UnsafePointer<CChar>?, _ pathLength: UInt32, _ path: UnsafePointer<CChar>?, _ port: UInt16,
    _ protocol: FourCharCode, _ authenticationType: FourCharCode, _ passwordLength: UnsafeMutablePointer<UInt32>?,
    _ passwordData: UnsafeMutablePointer<UnsafeMutableRawPointer?>?, _ itemRef: UnsafeMutablePointer<OpaquePointer?>?
) -> OSStatus {
    status { () throws(KeychainError) in
        let attributes = try unsafe Attributes.internet(
            serverName, serverNameLength, securityDomain, securityDomainLength, accountName, accountNameLength, path,
            pathLength, port, `protocol`, authenticationType)
        try unsafe find(
            .internetPassword, attributes, in: keychainOrArray, passwordLength, passwordData, itemRef)
    }
}

// MARK: - Common parts

func add(
    _ item: NewItem, to keychain: OpaquePointer?, _ itemRef: UnsafeMutablePointer<OpaquePointer?>?
) throws(KeychainError) {
    let target = try Library.caller.keychain(at: unsafe path(of: keychain))
    let added = try Library.caller.add(item, to: target.keychain.location)
    unsafe itemRef?.pointee = .retained(ItemReference(added, in: KeychainReference(path: target.keychain.location)))
}

private func find(
    _ itemClass: ItemClass, _ attributes: Attributes, in keychain: UnsafeRawPointer?,
    _ passwordLength: UnsafeMutablePointer<UInt32>?, _ passwordData: UnsafeMutablePointer<UnsafeMutableRawPointer?>?,
    _ itemRef: UnsafeMutablePointer<OpaquePointer?>?
) throws(KeychainError) {
    let reads = unsafe passwordData != nil || passwordLength != nil
    let found = try Library.caller.find(
        itemClass, attributes, in: unsafe searchedPaths(keychain), readingPassword: reads)
    let reference = unsafe itemRef == nil ? nil : try ItemReference(found.item)
    try unsafe KeychainCaller.give(found.password, passwordLength, passwordData)
    if let reference { unsafe itemRef?.pointee = .retained(reference) }
}

/// The path of the given keychain; nil for the search list.
func searchedPaths(_ keychain: UnsafeRawPointer?) throws(KeychainError) -> [String]? {
    guard let keychain = unsafe keychain else { return nil }
    return [try unsafe OpaquePointer(keychain).keychain().used()]
}
