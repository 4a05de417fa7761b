internal import HostAPI
internal import KeychainModel
public import CSecKeychain
internal import KeychainCalls
internal import SecureBytes

@c
public func SecKeychainItemCreateFromContent(
    _ itemClass: SecItemClass, _ attrList: UnsafeMutablePointer<SecKeychainAttributeList>?, _ length: UInt32,
    _ data: UnsafeRawPointer?, _ keychainRef: OpaquePointer?, _ initialAccess: UnsafeRawPointer?,
    _ itemRef: UnsafeMutablePointer<OpaquePointer?>?
) -> OSStatus {
    status { () throws(KeychainError) in
        try unsafe requireNoAccess(initialAccess)
        let itemClass = try ItemClass.passwords(itemClass)
        var attributes = try unsafe attributes(in: attrList?.pointee, of: itemClass)
        attributes[.label] = attributes[.label] ?? attributes[.service] ?? attributes[.server]
        let password = unsafe data == nil ? nil : try unsafe Secret(callers: data, length: length)
        try unsafe add(.password(itemClass, attributes, secret: password), to: keychainRef, itemRef)
    }
}

@c
public func SecKeychainItemCreateCopy(
    _ itemRef: OpaquePointer?, _ destKeychainRef: OpaquePointer?, _ initialAccess: UnsafeRawPointer?,
    _ itemCopy: UnsafeMutablePointer<OpaquePointer?>?
) -> OSStatus {
    status { () throws(KeychainError) in
        try unsafe requireNoAccess(initialAccess)
        let reference = try unsafe item(itemRef)
        let target = try Library.caller.keychain(at: unsafe path(of: destKeychainRef)).keychain.location
        let copied = try Library.caller.copy(reference.reference, in: reference.keychain.used(), to: target)
        unsafe itemCopy?.pointee = .retained(ItemReference(copied, in: KeychainReference(path: target)))
    }
}

@c
public func SecKeychainItemModifyAttributesAndData(
    _ itemRef: OpaquePointer?, _ attrList: UnsafePointer<SecKeychainAttributeList>?, _ length: UInt32,
    _ data: UnsafeRawPointer?
) -> OSStatus {
    status { () throws(KeychainError) in
        let reference = try unsafe item(itemRef)
        let item = try reference.item()
        let attributes = try unsafe attributes(in: attrList?.pointee, of: item.itemClass)
        let password = unsafe data == nil ? nil : try unsafe Secret(callers: data, length: length)
        if attributes.isEmpty, unsafe data == nil { return }
        try Library.caller.change(item, attributes, password: password)
    }
}

@c
public func SecKeychainItemModifyContent(
    _ itemRef: OpaquePointer?, _ attrList: UnsafePointer<SecKeychainAttributeList>?, _ length: UInt32,
    _ data: UnsafeRawPointer?
) -> OSStatus {
    unsafe SecKeychainItemModifyAttributesAndData(itemRef, attrList, length, data)
}

@c
public func SecKeychainItemCopyContent(
    _ itemRef: OpaquePointer?, _ itemClass: UnsafeMutablePointer<SecItemClass>?,
    _ attrList: UnsafeMutablePointer<SecKeychainAttributeList>?, _ length: UnsafeMutablePointer<UInt32>?,
    _ outData: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
) -> OSStatus {
    status { () throws(KeychainError) in
        let reference = try unsafe item(itemRef)
        let item = try reference.item()
        let wanted = try unsafe entries(attrList?.pointee)
        for index in 0..<wanted.count where unsafe !item.itemClass.has(wanted[index].name) {
            throw KeychainError(.noSuchAttribute, key: unsafe wanted[index].name.rawValue)
        }
        if unsafe outData != nil {
            try unsafe KeychainCaller.give(Library.caller.password(of: item), length, outData)
        }
        unsafe itemClass?.pointee = item.itemClass.fourCharCode
        for index in 0..<wanted.count { try unsafe wanted[index].fill(from: item) }
    }
}

@c
public func SecKeychainItemFreeContent(
    _ attrList: UnsafeMutablePointer<SecKeychainAttributeList>?, _ data: UnsafeMutableRawPointer?
) -> OSStatus {
    if let list = unsafe attrList?.pointee, let start = unsafe list.attr {
        for index in unsafe 0..<Int(list.count) { unsafe start[index].clear() }
    }
    unsafe CallerMemory.free(data)
    return OSStatus(errSecSuccess)
}

@c
public func SecKeychainItemCopyAttributesAndData(
    _ itemRef: OpaquePointer?, _ info: UnsafeMutablePointer<SecKeychainAttributeInfo>?,
    _ itemClass: UnsafeMutablePointer<SecItemClass>?,
    _ attrList: UnsafeMutablePointer<UnsafeMutablePointer<SecKeychainAttributeList>?>?,
    _ length: UnsafeMutablePointer<UInt32>?, _ outData: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
) -> OSStatus {
    status { () throws(KeychainError) in
        guard let attrList = unsafe attrList else {
            let code = unsafe SecKeychainItemCopyContent(itemRef, itemClass, nil, length, outData)
            guard code == errSecSuccess else { throw KeychainError(ErrSec(rawValue: code)) }
            return
        }
        let list = try unsafe makeList(info?.pointee)
        let code = unsafe SecKeychainItemCopyContent(itemRef, itemClass, list, length, outData)
        guard code == errSecSuccess else {
            _ = unsafe SecKeychainItemFreeAttributesAndData(list, nil)
            throw KeychainError(ErrSec(rawValue: code))
        }
        unsafe attrList.pointee = list
    }
}

@c
public func SecKeychainItemFreeAttributesAndData(
    _ attrList: UnsafeMutablePointer<SecKeychainAttributeList>?, _ data: UnsafeMutableRawPointer?
) -> OSStatus {
    _ = unsafe SecKeychainItemFreeContent(attrList, data)
    if let list = unsafe attrList {
        unsafe list.pointee.attr?.deallocate()
        unsafe list.deallocate()
    }
    return OSStatus(errSecSuccess)
}

@c
public func SecKeychainItemDelete(_ itemRef: OpaquePointer?) -> OSStatus {
    status { () throws(KeychainError) in
        try Library.caller.delete(unsafe item(itemRef).item())
    }
}

@c
public func SecKeychainItemCopyKeychain(_ itemRef: OpaquePointer?, _ keychainRef: UnsafeMutablePointer<OpaquePointer?>?)
    -> OSStatus
{
    status { () throws(KeychainError) in
        let reference = try unsafe item(itemRef)
        guard let keychainRef = unsafe keychainRef else { throw KeychainError(.param) }
        unsafe keychainRef.pointee = .retained(reference.keychain)
    }
}

func item(_ reference: OpaquePointer?) throws(KeychainError) -> ItemReference {
    guard let reference = unsafe reference else {
        throw KeychainError(.invalidItemReference, "the reference is missing")
    }
    return try unsafe reference.item()
}

/// The attributes of a C list, with their values in the class.
func attributes(
    in list: SecKeychainAttributeList?, of itemClass: ItemClass
) throws(KeychainError) -> Attributes {
    var attributes: Attributes = [:]
    let given = try unsafe entries(list)
    for index in 0..<given.count {
        attributes[unsafe given[index].name] = try unsafe given[index].value(in: itemClass)
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
    guard let tags = unsafe info?.tag ?? (count == 0 ? UnsafeMutablePointer<UInt32>(bitPattern: 4) : nil) else {
        throw KeychainError(.param, "there are no tags")
    }
    let attributes = UnsafeMutablePointer<SecKeychainAttribute>.allocate(capacity: max(count, 1))
    for index in 0..<count {
        unsafe (attributes + index).initialize(to: SecKeychainAttribute(tag: tags[index], length: 0, data: nil))
    }
    let list = UnsafeMutablePointer<SecKeychainAttributeList>.allocate(capacity: 1)
    unsafe list.initialize(to: SecKeychainAttributeList(count: UInt32(count), attr: attributes))
    return unsafe list
}
