public import CSecKeychain
internal import KeychainHost
internal import TokenKit

// MARK: - Programs

@c
public func SecKeychainAddGenericPassword(
    _ keychain: OpaquePointer?, _ serviceNameLength: UInt32, _ serviceName: UnsafePointer<CChar>?,
    _ accountNameLength: UInt32, _ accountName: UnsafePointer<CChar>?, _ passwordLength: UInt32,
    _ passwordData: UnsafeRawPointer?, _ itemRef: UnsafeMutablePointer<OpaquePointer?>?
) -> OSStatus {
    status { () throws(KeychainError) in
        var attributes = try unsafe genericAttributes(serviceName, serviceNameLength, accountName, accountNameLength)
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
            .genericPassword, genericAttributes(serviceName, serviceNameLength, accountName, accountNameLength),
            in: keychainOrArray, passwordLength, passwordData, itemRef)
    }
}

private func genericAttributes(
    _ service: UnsafePointer<CChar>?, _ serviceLength: UInt32, _ account: UnsafePointer<CChar>?,
    _ accountLength: UInt32
) throws(KeychainError) -> Attributes {
    var attributes: Attributes = [:]
    attributes[.service] = try unsafe AttributeValue.callers(service, length: serviceLength, of: .service)
    attributes[.account] = try unsafe AttributeValue.callers(account, length: accountLength, of: .account)
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
    status { () throws(KeychainError) in
        var attributes = try unsafe internetAttributes(
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
        let attributes = try unsafe internetAttributes(
            serverName, serverNameLength, securityDomain, securityDomainLength, accountName, accountNameLength, path,
            pathLength, port, `protocol`, authenticationType)
        try unsafe find(
            .internetPassword, attributes, in: keychainOrArray, passwordLength, passwordData, itemRef)
    }
}

/// What was given; 0 stands for any number.
private func internetAttributes(
    _ server: UnsafePointer<CChar>?, _ serverLength: UInt32, _ domain: UnsafePointer<CChar>?, _ domainLength: UInt32,
    _ account: UnsafePointer<CChar>?, _ accountLength: UInt32, _ path: UnsafePointer<CChar>?, _ pathLength: UInt32,
    _ port: UInt16, _ protocol: FourCharCode, _ authenticationType: FourCharCode
) throws(KeychainError) -> Attributes {
    var attributes: Attributes = [:]
    attributes[.server] = try unsafe AttributeValue.callers(server, length: serverLength, of: .server)
    attributes[.securityDomain] = try unsafe AttributeValue.callers(domain, length: domainLength, of: .securityDomain)
    attributes[.account] = try unsafe AttributeValue.callers(account, length: accountLength, of: .account)
    attributes[.path] = try unsafe AttributeValue.callers(path, length: pathLength, of: .path)
    if port != 0 { attributes[.port] = .number(Int64(port)) }
    if `protocol` != 0 { attributes[.protocol] = .fourCharacters(`protocol`) }
    if authenticationType != 0 { attributes[.authenticationType] = .fourCharacters(authenticationType) }
    return attributes
}

extension AttributeValue {
    static func fourCharacters(_ code: FourCharCode) -> AttributeValue { AttributeValue(code.octets) }
}

extension FourCharCode {
    /// The characters, the first in the most significant byte.
    var octets: [UInt8] { (0..<4).map { UInt8(truncatingIfNeeded: self >> (24 - 8 * UInt32($0))) } }
}

// MARK: - What both do

func add(
    _ item: borrowing NewItem, to keychain: OpaquePointer?, _ itemRef: UnsafeMutablePointer<OpaquePointer?>?
) throws(KeychainError) {
    let target = try unsafe openedOrDefault(keychain)
    try target.unlock(use: "store a password", authentication: Library.authentication)
    let added = try target.add(item, authentication: Library.authentication)
    unsafe itemRef?.pointee = .retained(ItemReference(added, in: target))
}

/// What was given as text of no length stands for any. An item that synchronizes is found where no other matches, as the other
/// ways to ask do not find it unless it is asked for. Neither a keychain that fails nor a damaged password hides another.
///
/// - Throws: `errSecItemNotFound`; what the first keychain failed with where all of them did.
private func find(
    _ itemClass: ItemClass, _ attributes: Attributes, in keychain: UnsafeRawPointer?,
    _ passwordLength: UnsafeMutablePointer<UInt32>?, _ passwordData: UnsafeMutablePointer<UnsafeMutableRawPointer?>?,
    _ itemRef: UnsafeMutablePointer<OpaquePointer?>?
) throws(KeychainError) {
    let (locals, failures) = try unsafe searchedKeychains(keychain)
    let given = attributes.filter { $0.value.bytes?.isEmpty != true }
    let query = try Query(itemClass, given.merging([.synchronizable: Query.anySynchronizable]) { $1 }, limit: .all)
    let result = try SearchList(locals: locals, failures: failures).items(matching: query)
    for other in result.damagedOthers { RefusalLog.note("damaged", other.error) }
    var damage = result.failures.first { $0.error.code == .decode }?.error
    let (local, synchronizing) = (result.found.filter { !$0.synchronizes }, result.found.filter(\.synchronizes))
    for item in local + synchronizing {
        guard let member = locals.first(where: { $0.isIdentified(by: item.keychain) }) else { continue }
        do throws(KeychainError) {
            if unsafe passwordData != nil || passwordLength != nil {
                try unsafe copyPassword(of: item, in: member, passwordLength, passwordData)
            }
            unsafe itemRef?.pointee = .retained(ItemReference(item, in: member))
            return
        } catch {
            guard error.code == .decode else { throw error }
            damage = damage ?? error
        }
    }
    throw damage ?? KeychainError(.itemNotFound)
}

/// The keychain that is given, or all of the search list, and why others are missing.
func searchedKeychains(
    _ keychain: UnsafeRawPointer?
) throws(KeychainError) -> (locals: [LocalKeychain], failures: [SearchList.Failure]) {
    if let keychain = unsafe keychain {
        return ([try unsafe OpaquePointer(keychain).keychain().opened()], [])
    }
    let present = try Library.process.present(cards: false)
    return (present.locals, present.failures)
}

extension Item {
    fileprivate var synchronizes: Bool { self[.synchronizable]?.isDefault == false }
}

/// Gives out a password, as long as it is; what its access control asks for is asked for.
func copyPassword(
    of item: Item, in keychain: LocalKeychain, _ length: UnsafeMutablePointer<UInt32>?,
    _ data: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
) throws(KeychainError) {
    let read = try keychain.secret(
        of: item.reference, use: "read a password", authentication: Library.authentication)
    let password = read ?? Secret(capacity: 0) { _ in }
    unsafe length?.pointee = UInt32(clamping: password.count)
    if unsafe data != nil { unsafe data?.pointee = try CallerMemory.copy(password.bytes) }
}
