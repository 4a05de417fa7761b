public import CSecKeychain
internal import KeychainHost
internal import TokenKit

// MARK: - Programs

@c(SecKeychainAddGenericPassword)
public func addGenericPassword(
    _ keychain: OpaquePointer?, _ serviceNameLength: UInt32, _ serviceName: UnsafePointer<CChar>?,
    _ accountNameLength: UInt32, _ accountName: UnsafePointer<CChar>?, _ passwordLength: UInt32,
    _ passwordData: UnsafeRawPointer?, _ itemRef: UnsafeMutablePointer<OpaquePointer?>?
) -> OSStatus {
    status { () throws(KeychainError) in
        var attributes = unsafe genericAttributes(serviceName, serviceNameLength, accountName, accountNameLength)
        attributes[.label] = attributes[.service]
        let password = try unsafe Secret(callers: passwordData, length: passwordLength)
        try unsafe add(.genericPassword(attributes, secret: password), to: keychain, itemRef)
    }
}

@c(SecKeychainFindGenericPassword)
public func findGenericPassword(
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
) -> Attributes {
    var attributes: Attributes = [:]
    attributes[.service] = unsafe value(service, serviceLength)
    attributes[.account] = unsafe value(account, accountLength)
    return attributes
}

// MARK: - Servers

@c(SecKeychainAddInternetPassword)
public func addInternetPassword(
    _ keychain: OpaquePointer?, _ serverNameLength: UInt32, _ serverName: UnsafePointer<CChar>?,
    _ securityDomainLength: UInt32, _ securityDomain: UnsafePointer<CChar>?, _ accountNameLength: UInt32,
    _ accountName: UnsafePointer<CChar>?, _ pathLength: UInt32, _ path: UnsafePointer<CChar>?, _ port: UInt16,
    _ protocol: FourCharCode, _ authenticationType: FourCharCode, _ passwordLength: UInt32,
    _ passwordData: UnsafeRawPointer?, _ itemRef: UnsafeMutablePointer<OpaquePointer?>?
) -> OSStatus {
    status { () throws(KeychainError) in
        var attributes = unsafe internetAttributes(
            serverName, serverNameLength, securityDomain, securityDomainLength, accountName, accountNameLength, path,
            pathLength, port, `protocol`, authenticationType)
        attributes[.label] = attributes[.server]
        let password = try unsafe Secret(callers: passwordData, length: passwordLength)
        try unsafe add(.internetPassword(attributes, secret: password), to: keychain, itemRef)
    }
}

@c(SecKeychainFindInternetPassword)
public func findInternetPassword(
    _ keychainOrArray: UnsafeRawPointer?, _ serverNameLength: UInt32, _ serverName: UnsafePointer<CChar>?,
    _ securityDomainLength: UInt32, _ securityDomain: UnsafePointer<CChar>?, _ accountNameLength: UInt32,
    _ accountName: UnsafePointer<CChar>?, _ pathLength: UInt32, _ path: UnsafePointer<CChar>?, _ port: UInt16,
    _ protocol: FourCharCode, _ authenticationType: FourCharCode, _ passwordLength: UnsafeMutablePointer<UInt32>?,
    _ passwordData: UnsafeMutablePointer<UnsafeMutableRawPointer?>?, _ itemRef: UnsafeMutablePointer<OpaquePointer?>?
) -> OSStatus {
    status { () throws(KeychainError) in
        let attributes = unsafe internetAttributes(
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
) -> Attributes {
    var attributes: Attributes = [:]
    attributes[.server] = unsafe value(server, serverLength)
    attributes[.securityDomain] = unsafe value(domain, domainLength)
    attributes[.account] = unsafe value(account, accountLength)
    attributes[.path] = unsafe value(path, pathLength)
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
    var (locals, failures): ([LocalKeychain], [SearchList.Failure]) = ([], [])
    if let keychain = unsafe keychain {
        locals = [try unsafe OpaquePointer(keychain).keychain().opened()]
    } else {
        let present = try Library.process.present(cards: false)
        (locals, failures) = (present.locals, present.failures)
    }
    let given = attributes.filter { $0.value.bytes?.isEmpty != true }
    let query = try Query(itemClass, given.merging([.synchronizable: Query.anySynchronizable]) { $1 }, limit: .all)
    let result = try SearchList(locals: locals, failures: failures).items(matching: query)
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
    if unsafe data != nil { unsafe data?.pointee = try Memory.copy(password.bytes) }
}
