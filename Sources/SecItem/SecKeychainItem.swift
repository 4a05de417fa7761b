internal import HostAPI
internal import KeychainModel
public import Foundation
internal import KeychainCalls
internal import Localization
internal import SecureBytes

/// A password in a keychain.
public final class SecKeychainItem: Sendable {
    let item: Item

    init(_ item: Item) {
        self.item = item
    }

    /// The path of its keychain.
    ///
    /// - Throws: `errSecReadOnly` for an item that is not in a file.
    func path() throws(KeychainError) -> String {
        guard item.keychain.isLocal else {
            throw KeychainError(.readOnly, "the item is in no keychain of the search list")
        }
        return try Keychains.host.keychain(item.keychain, Keychains.caller.request()).keychain.location
    }

    /// The item as it is now.
    ///
    /// - Throws: `errSecInvalidItemRef` once it is gone.
    func present() throws(KeychainError) -> Item {
        try Keychains.caller.present(item.reference, in: path())
    }
}

/// Adds an item with the attributes of a list. If `data` is nil, it has no password. An item that cannot have the access is not added.
///
/// - Parameter initialAccess: nil has the program itself read the password without a question, and no other.
@discardableResult
public func SecKeychainItemCreateFromContent(
    _ itemClass: SecItemClass, _ attrList: UnsafeMutablePointer<SecKeychainAttributeList>, _ length: UInt32,
    _ data: UnsafeRawPointer?, _ keychainRef: SecKeychain?, _ initialAccess: SecAccess?,
    _ itemRef: UnsafeMutablePointer<SecKeychainItem?>?
) -> OSStatus {
    status { () throws(KeychainError) in
        let itemClass = try ItemClass.passwords(itemClass.rawValue)
        var attributes = try unsafe attributes(in: attrList, of: itemClass)
        attributes[.label] = attributes[.label] ?? attributes[.service] ?? attributes[.server]
        let password = unsafe data == nil ? nil : try unsafe Secret(callers: data, length: length)
        try unsafe add(
            .password(itemClass, attributes, secret: password), to: keychainRef, access: initialAccess, itemRef)
    }
}

/// Adds the same password to another keychain.
@discardableResult
public func SecKeychainItemCreateCopy(
    _ itemRef: SecKeychainItem, _ destKeychainRef: SecKeychain?, _ initialAccess: SecAccess?,
    _ itemCopy: UnsafeMutablePointer<SecKeychainItem?>
) -> OSStatus {
    status { () throws(KeychainError) in
        let copied = try Keychains.caller.copy(
            itemRef.item.reference, in: itemRef.path(), to: destKeychainRef?.path, access: initialAccess?.readers)
        unsafe itemCopy.pointee = SecKeychainItem(copied)
    }
}

/// Changes the attributes of a list, and the password unless `data` is nil.
@discardableResult
public func SecKeychainItemModifyAttributesAndData(
    _ itemRef: SecKeychainItem, _ attrList: UnsafePointer<SecKeychainAttributeList>?, _ length: UInt32,
    _ data: UnsafeRawPointer?
) -> OSStatus {
    status { () throws(KeychainError) in
        let item = try itemRef.present()
        let attributes = try unsafe attributes(in: attrList, of: item.itemClass)
        let password = unsafe data == nil ? nil : try unsafe Secret(callers: data, length: length)
        if attributes.isEmpty, unsafe data == nil { return }
        try Keychains.caller.change(item, attributes, password: password)
    }
}

/// Changes an item as ``SecKeychainItemModifyAttributesAndData(_:_:_:_:)`` does.
@discardableResult
public func SecKeychainItemModifyContent(
    _ itemRef: SecKeychainItem, _ attrList: UnsafePointer<SecKeychainAttributeList>?, _ length: UInt32,
    _ data: UnsafeRawPointer?
) -> OSStatus {
    unsafe SecKeychainItemModifyAttributesAndData(itemRef, attrList, length, data)
}

/// Fills in the attributes whose tags a list has, and gives the password where a place for it is given.
/// ``SecKeychainItemFreeContent(_:_:)`` frees both.
@discardableResult
public func SecKeychainItemCopyContent(
    _ itemRef: SecKeychainItem, _ itemClass: UnsafeMutablePointer<SecItemClass>?,
    _ attrList: UnsafeMutablePointer<SecKeychainAttributeList>?, _ length: UnsafeMutablePointer<UInt32>?,
    _ outData: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
) -> OSStatus {
    status { () throws(KeychainError) in
        try unsafe copy(itemRef, itemClass, attrList, length, outData)
    }
}

/// Overwrites and frees the memory that ``SecKeychainItemCopyContent(_:_:_:_:_:)`` or a function that finds passwords gave.
@discardableResult
public func SecKeychainItemFreeContent(
    _ attrList: UnsafeMutablePointer<SecKeychainAttributeList>?, _ data: UnsafeMutableRawPointer?
) -> OSStatus {
    if let list = unsafe attrList?.pointee, let start = unsafe list.attr {
        for index in unsafe 0..<Int(list.count) { unsafe start[index].clear() }
    }
    unsafe CallerMemory.free(data)
    return errSecSuccess
}

/// Makes a list of the attributes that `info` names, which ``SecKeychainItemFreeAttributesAndData(_:_:)`` frees.
@discardableResult
public func SecKeychainItemCopyAttributesAndData(
    _ itemRef: SecKeychainItem, _ info: UnsafeMutablePointer<SecKeychainAttributeInfo>?,
    _ itemClass: UnsafeMutablePointer<SecItemClass>?,
    _ attrList: UnsafeMutablePointer<UnsafeMutablePointer<SecKeychainAttributeList>?>?,
    _ length: UnsafeMutablePointer<UInt32>?, _ outData: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
) -> OSStatus {
    status { () throws(KeychainError) in
        guard let attrList = unsafe attrList else { return try unsafe copy(itemRef, itemClass, nil, length, outData) }
        let list = try unsafe makeList(info?.pointee)
        do throws(KeychainError) {
            try unsafe copy(itemRef, itemClass, list, length, outData)
        } catch {
            unsafe SecKeychainItemFreeAttributesAndData(list, nil)
            throw error
        }
        unsafe attrList.pointee = list
    }
}

@discardableResult
public func SecKeychainItemFreeAttributesAndData(
    _ attrList: UnsafeMutablePointer<SecKeychainAttributeList>?, _ data: UnsafeMutableRawPointer?
) -> OSStatus {
    unsafe SecKeychainItemFreeContent(attrList, data)
    if let list = unsafe attrList {
        unsafe list.pointee.attr?.deallocate()
        unsafe list.deallocate()
    }
    return errSecSuccess
}

@discardableResult
public func SecKeychainItemDelete(_ itemRef: SecKeychainItem) -> OSStatus {
    status { () throws(KeychainError) in
        try Keychains.caller.delete(itemRef.present())
    }
}

@discardableResult
public func SecKeychainItemCopyKeychain(
    _ itemRef: SecKeychainItem, _ keychainRef: UnsafeMutablePointer<SecKeychain?>
) -> OSStatus {
    status { () throws(KeychainError) in
        unsafe keychainRef.pointee = SecKeychain(path: try itemRef.path())
    }
}

/// The item's persistent reference, as ``kSecReturnPersistentRef`` gives it.
@discardableResult
public func SecKeychainItemCreatePersistentReference(
    _ itemRef: SecKeychainItem, _ persistentItemRef: UnsafeMutablePointer<CFData?>
) -> OSStatus {
    unsafe persistentItemRef.pointee = Data(itemRef.item.reference.encoded())
    return errSecSuccess
}

/// The item of a persistent reference, if a keychain of the search list has it.
@discardableResult
public func SecKeychainItemCopyFromPersistentReference(
    _ persistentItemRef: CFData, _ itemRef: UnsafeMutablePointer<SecKeychainItem?>
) -> OSStatus {
    status { () throws(KeychainError) in
        let query: [String: Any] = [kSecValuePersistentRef: persistentItemRef, kSecReturnRef: true]
        guard let item = try Keychains.copyMatching(query) as? SecKeychainItem else {
            throw KeychainError(.itemNotFound)
        }
        unsafe itemRef.pointee = item
    }
}

// MARK: - Common parts

private func copy(
    _ itemRef: SecKeychainItem, _ itemClass: UnsafeMutablePointer<SecItemClass>?,
    _ attrList: UnsafeMutablePointer<SecKeychainAttributeList>?, _ length: UnsafeMutablePointer<UInt32>?,
    _ outData: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
) throws(KeychainError) {
    let item = try itemRef.present()
    guard let ownClass = SecItemClass(rawValue: item.itemClass.fourCharCode) else {
        throw KeychainError(.noSuchClass, "only passwords are items of these functions")
    }
    let wanted = try unsafe entries(attrList?.pointee)
    for index in 0..<wanted.count {
        let name = unsafe Attribute(tag: wanted[index].tag)
        guard item.itemClass.has(name) else { throw KeychainError(.noSuchAttribute, key: name.rawValue) }
    }
    if unsafe outData != nil {
        try unsafe KeychainCaller.give(Keychains.caller.password(of: item), length, outData)
    }
    unsafe itemClass?.pointee = ownClass
    for index in 0..<wanted.count { try unsafe wanted[index].fill(from: item) }
}

/// The attributes of a list, with their values in the class.
func attributes(
    in list: UnsafePointer<SecKeychainAttributeList>?, of itemClass: ItemClass
) throws(KeychainError) -> Attributes {
    var attributes: Attributes = [:]
    let given = try unsafe entries(list?.pointee)
    for index in 0..<given.count {
        attributes[unsafe Attribute(tag: given[index].tag)] = try unsafe given[index].value(in: itemClass)
    }
    return attributes
}

/// The entries of a list; none for a null list.
///
/// - Throws: `errSecParam` for a count without entries.
private func entries(
    _ list: SecKeychainAttributeList?
) throws(KeychainError) -> UnsafeMutableBufferPointer<SecKeychainAttribute> {
    let entries = unsafe UnsafeMutableBufferPointer(
        start: list?.attr, count: list?.attr == nil ? 0 : Int(list?.count ?? 0))
    guard unsafe entries.count == list?.count ?? 0 else {
        throw KeychainError(.param, "the list has a count and no attributes")
    }
    return unsafe entries
}

/// A list with an entry for each tag.
private func makeList(
    _ info: SecKeychainAttributeInfo?
) throws(KeychainError) -> UnsafeMutablePointer<SecKeychainAttributeList> {
    let count = unsafe Int(info?.count ?? 0)
    let tags = unsafe UnsafeBufferPointer(start: info?.tag, count: info?.tag == nil ? 0 : count)
    guard tags.count == count else { throw KeychainError(.param, "there are no tags") }
    let attributes = UnsafeMutablePointer<SecKeychainAttribute>.allocate(capacity: max(count, 1))
    for index in 0..<count { unsafe (attributes + index).initialize(to: SecKeychainAttribute(tag: tags[index])) }
    let list = UnsafeMutablePointer<SecKeychainAttributeList>.allocate(capacity: 1)
    unsafe list.initialize(to: SecKeychainAttributeList(count: UInt32(count), attr: attributes))
    return unsafe list
}
