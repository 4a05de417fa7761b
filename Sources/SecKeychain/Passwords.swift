internal import KeychainModel
public import CSecKeychain
internal import KeychainHost
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

// MARK: - What both do

func add(
    _ item: NewItem, to keychain: OpaquePointer?, _ itemRef: UnsafeMutablePointer<OpaquePointer?>?
) throws(KeychainError) {
    let target = try unsafe openedOrDefault(keychain)
    try target.unlock(use: "store a password", authentication: Library.authentication)
    let added = try target.add(item, authentication: Library.authentication)
    unsafe itemRef?.pointee = .retained(ItemReference(added, in: target))
}

private func find(
    _ itemClass: ItemClass, _ attributes: Attributes, in keychain: UnsafeRawPointer?,
    _ passwordLength: UnsafeMutablePointer<UInt32>?, _ passwordData: UnsafeMutablePointer<UnsafeMutableRawPointer?>?,
    _ itemRef: UnsafeMutablePointer<OpaquePointer?>?
) throws(KeychainError) {
    let searched = try unsafe searchedKeychains(keychain)
    let missing = try searched.takePassword(itemClass, attributes) { item, member throws(KeychainError) in
        if unsafe passwordData != nil || passwordLength != nil {
            try unsafe member.copyPassword(
                of: item, passwordLength, passwordData, authentication: Library.authentication)
        }
        unsafe itemRef?.pointee = .retained(ItemReference(item, in: member))
    }
    RefusalLog.note(missing)
}

/// The keychain that is given, or all of the search list.
func searchedKeychains(_ keychain: UnsafeRawPointer?) throws(KeychainError) -> SearchedKeychains {
    guard let keychain = unsafe keychain else { return try SearchedKeychains(Library.process) }
    return SearchedKeychains([try unsafe OpaquePointer(keychain).keychain().opened()])
}
