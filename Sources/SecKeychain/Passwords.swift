public import CSecKeychain
internal import CThinClient

// MARK: - Programs

@c
public func SecKeychainAddGenericPassword(
    _ keychain: OpaquePointer?, _ serviceNameLength: UInt32, _ serviceName: UnsafePointer<CChar>?,
    _ accountNameLength: UInt32, _ accountName: UnsafePointer<CChar>?, _ passwordLength: UInt32,
    _ passwordData: UnsafeRawPointer?, _ itemRef: UnsafeMutablePointer<OpaquePointer?>?
) -> OSStatus {
    perform { context throws(Failure) in
        let attributes = try unsafe generic(serviceName, serviceNameLength, accountName, accountNameLength)
        try unsafe add(
            kSecGenericPasswordItemClass, attributes, password(passwordData, passwordLength), to: keychain, itemRef,
            &context)
    }
}

@c
public func SecKeychainFindGenericPassword(
    _ keychainOrArray: UnsafeRawPointer?, _ serviceNameLength: UInt32, _ serviceName: UnsafePointer<CChar>?,
    _ accountNameLength: UInt32, _ accountName: UnsafePointer<CChar>?,
    _ passwordLength: UnsafeMutablePointer<UInt32>?, _ passwordData: UnsafeMutablePointer<UnsafeMutableRawPointer?>?,
    _ itemRef: UnsafeMutablePointer<OpaquePointer?>?
) -> OSStatus {
    perform { context throws(Failure) in
        try unsafe find(
            kSecGenericPasswordItemClass, generic(serviceName, serviceNameLength, accountName, accountNameLength),
            in: keychainOrArray, passwordLength, passwordData, itemRef, &context)
    }
}

private func generic(
    _ service: UnsafePointer<CChar>?, _ serviceLength: UInt32, _ account: UnsafePointer<CChar>?,
    _ accountLength: UInt32
) throws(Failure) -> [KeychainAttribute] {
    var attributes: [KeychainAttribute] = []
    try unsafe attributes.add(kSecServiceItemAttr, service, serviceLength)
    try unsafe attributes.add(kSecAccountItemAttr, account, accountLength)
    return attributes
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
    perform { context throws(Failure) in
        let attributes = try unsafe internet(
            serverName, serverNameLength, securityDomain, securityDomainLength, accountName, accountNameLength, path,
            pathLength, port, `protocol`, authenticationType)
        try unsafe add(
            kSecInternetPasswordItemClass, attributes, password(passwordData, passwordLength), to: keychain, itemRef,
            &context)
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
    perform { context throws(Failure) in
        let attributes = try unsafe internet(
            serverName, serverNameLength, securityDomain, securityDomainLength, accountName, accountNameLength, path,
            pathLength, port, `protocol`, authenticationType)
        try unsafe find(
            kSecInternetPasswordItemClass, attributes, in: keychainOrArray, passwordLength, passwordData, itemRef,
            &context)
    }
}

private func internet(
    _ server: UnsafePointer<CChar>?, _ serverLength: UInt32, _ domain: UnsafePointer<CChar>?, _ domainLength: UInt32,
    _ account: UnsafePointer<CChar>?, _ accountLength: UInt32, _ path: UnsafePointer<CChar>?, _ pathLength: UInt32,
    _ port: UInt16, _ protocol: UInt32, _ authenticationType: UInt32
) throws(Failure) -> [KeychainAttribute] {
    var attributes: [KeychainAttribute] = []
    try unsafe attributes.add(kSecServerItemAttr, server, serverLength)
    try unsafe attributes.add(kSecSecurityDomainItemAttr, domain, domainLength)
    try unsafe attributes.add(kSecAccountItemAttr, account, accountLength)
    try unsafe attributes.add(kSecPathItemAttr, path, pathLength)
    attributes.add(kSecPortItemAttr, UInt32(port))
    attributes.add(kSecProtocolItemAttr, `protocol`)
    attributes.add(kSecAuthenticationTypeItemAttr, authenticationType)
    return attributes
}

// MARK: - Common parts

private func add(
    _ itemClass: Int, _ attributes: [KeychainAttribute], _ password: consuming Secrets, to keychain: OpaquePointer?,
    _ itemRef: UnsafeMutablePointer<OpaquePointer?>?, _ context: inout CallContext
) throws(Failure) {
    let call = KeychainCall(
        .add, in: try unsafe path(of: keychain), hasPassword: true, itemClass: UInt32(itemClass),
        attributes: attributes)
    let added = try Reply.ask(call, &context, sending: password).item()
    unsafe itemRef?.pointee = .retained(added)
}

private func find(
    _ itemClass: Int, _ attributes: [KeychainAttribute], in keychain: UnsafeRawPointer?,
    _ passwordLength: UnsafeMutablePointer<UInt32>?, _ passwordData: UnsafeMutablePointer<UnsafeMutableRawPointer?>?,
    _ itemRef: UnsafeMutablePointer<OpaquePointer?>?, _ context: inout CallContext
) throws(Failure) {
    let call = KeychainCall(
        .find, in: try unsafe searchedPath(keychain),
        hasPassword: unsafe passwordData != nil || passwordLength != nil, itemClass: UInt32(itemClass),
        attributes: attributes)
    var reply = try Reply.ask(call, &context)
    let found = try reply.item()
    if call.hasPassword { try unsafe give(reply.password(), passwordLength, passwordData) }
    unsafe itemRef?.pointee = .retained(found)
}

/// Gives a password and its length to the places that the caller has for them.
func give(
    _ password: CallerMemory, _ length: UnsafeMutablePointer<UInt32>?,
    _ data: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
) {
    unsafe length?.pointee = UInt32(clamping: password.count)
    guard let data = unsafe data else { return password.free() }
    unsafe data.pointee = password.start
}

/// The path of the given keychain; nil for the search list.
func searchedPath(_ keychain: UnsafeRawPointer?) throws(Failure) -> [UInt8]? {
    guard let keychain = unsafe keychain else { return nil }
    return try unsafe path(of: OpaquePointer(keychain))
}
