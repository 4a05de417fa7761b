public import CSecKeychain
internal import CThinClient

@c
public func SecKeychainItemCreateFromContent(
    _ itemClass: SecItemClass, _ attrList: UnsafeMutablePointer<SecKeychainAttributeList>?, _ length: UInt32,
    _ data: UnsafeRawPointer?, _ keychainRef: OpaquePointer?, _ initialAccess: UnsafeRawPointer?,
    _ itemRef: UnsafeMutablePointer<OpaquePointer?>?
) -> OSStatus {
    perform { context throws(Failure) in
        var call = KeychainCall(
            .add, in: try unsafe path(of: keychainRef), hasPassword: unsafe data != nil, itemClass: itemClass,
            attributes: try unsafe attributes(in: attrList?.pointee))
        call.access = try unsafe readers(initialAccess)
        let password = unsafe data == nil ? Secrets() : try unsafe password(data, length)
        let added = try Reply.ask(call, &context, sending: password).item()
        unsafe itemRef?.pointee = .retained(added)
    }
}

@c
public func SecKeychainItemCreateCopy(
    _ itemRef: OpaquePointer?, _ destKeychainRef: OpaquePointer?, _ initialAccess: UnsafeRawPointer?,
    _ itemCopy: UnsafeMutablePointer<OpaquePointer?>?
) -> OSStatus {
    perform { context throws(Failure) in
        var call = try KeychainCall(.copy, item: unsafe item(itemRef), target: unsafe path(of: destKeychainRef))
        call.access = try unsafe readers(initialAccess)
        let copied = try Reply.ask(call, &context).item()
        unsafe itemCopy?.pointee = .retained(copied)
    }
}

@c
public func SecKeychainItemModifyAttributesAndData(
    _ itemRef: OpaquePointer?, _ attrList: UnsafePointer<SecKeychainAttributeList>?, _ length: UInt32,
    _ data: UnsafeRawPointer?
) -> OSStatus {
    unsafe change(itemRef, attrList?.pointee, length, data)
}

@c
public func SecKeychainItemModifyContent(
    _ itemRef: OpaquePointer?, _ attrList: UnsafePointer<SecKeychainAttributeList>?, _ length: UInt32,
    _ data: UnsafeRawPointer?
) -> OSStatus {
    unsafe change(itemRef, attrList?.pointee, length, data)
}

private func change(
    _ itemRef: OpaquePointer?, _ list: SecKeychainAttributeList?, _ length: UInt32, _ data: UnsafeRawPointer?,
    _ name: StaticString = #function
) -> OSStatus {
    perform(name) { context throws(Failure) in
        let call = try KeychainCall(
            .change, item: unsafe item(itemRef), hasPassword: unsafe data != nil,
            attributes: unsafe attributes(in: list))
        try call.perform(&context, sending: unsafe data == nil ? Secrets() : unsafe password(data, length))
    }
}

@c
public func SecKeychainItemCopyContent(
    _ itemRef: OpaquePointer?, _ itemClass: UnsafeMutablePointer<SecItemClass>?,
    _ attrList: UnsafeMutablePointer<SecKeychainAttributeList>?, _ length: UnsafeMutablePointer<UInt32>?,
    _ outData: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
) -> OSStatus {
    perform { context throws(Failure) in
        try unsafe copy(itemRef, itemClass, attrList, length, outData, &context)
    }
}

/// Writes an item's class, attributes and password to the places that the caller has for them; nothing where one of them fails.
private func copy(
    _ itemRef: OpaquePointer?, _ itemClass: UnsafeMutablePointer<SecItemClass>?,
    _ attrList: UnsafeMutablePointer<SecKeychainAttributeList>?, _ length: UnsafeMutablePointer<UInt32>?,
    _ outData: UnsafeMutablePointer<UnsafeMutableRawPointer?>?, _ context: inout CallContext
) throws(Failure) {
    let wanted = try unsafe entries(attrList?.pointee)
    var names: [KeychainAttribute] = []
    for index in 0..<wanted.count { names.append(KeychainAttribute(UInt64(unsafe wanted[index].tag), nil)) }
    let call = try KeychainCall(
        .content, item: unsafe item(itemRef), hasPassword: unsafe outData != nil, attributes: names)
    var reply = try Reply.ask(call, &context)
    let values = reply.answer.attributes
    guard values.count == names.count else { throw Reply.malformed }
    for index in 0..<values.count where values[index].tag != names[index].tag { throw Reply.malformed }
    let password = unsafe outData == nil ? nil : try reply.password()
    var copies: [CallerMemory?] = []
    do throws(Failure) {
        for attribute in values {
            if let value = attribute.value { copies.append(try CallerMemory(value)) } else { copies.append(nil) }
        }
    } catch {
        for copy in copies { copy?.free() }
        password?.free()
        throw error
    }
    if let password { unsafe give(password, length, outData) }
    unsafe itemClass?.pointee = SecItemClass(truncatingIfNeeded: reply.answer.number)
    for index in 0..<wanted.count {
        unsafe wanted[index].length = UInt32(clamping: copies[index]?.count ?? 0)
        unsafe wanted[index].data = copies[index]?.start
    }
}

@c
public func SecKeychainItemFreeContent(
    _ attrList: UnsafeMutablePointer<SecKeychainAttributeList>?, _ data: UnsafeMutableRawPointer?
) -> OSStatus {
    unsafe free(attrList, data)
    return OSStatus(errSecSuccess)
}

private func free(_ attrList: UnsafeMutablePointer<SecKeychainAttributeList>?, _ data: UnsafeMutableRawPointer?) {
    if let list = unsafe attrList?.pointee, let start = unsafe list.attr {
        for index in unsafe 0..<Int(list.count) {
            if let value = unsafe start[index].data { unsafe CallerMemory(returned: value).free() }
            unsafe start[index].length = 0
            unsafe start[index].data = nil
        }
    }
    if let data = unsafe data { unsafe CallerMemory(returned: data).free() }
}

@c
public func SecKeychainItemCopyAttributesAndData(
    _ itemRef: OpaquePointer?, _ info: UnsafeMutablePointer<SecKeychainAttributeInfo>?,
    _ itemClass: UnsafeMutablePointer<SecItemClass>?,
    _ attrList: UnsafeMutablePointer<UnsafeMutablePointer<SecKeychainAttributeList>?>?,
    _ length: UnsafeMutablePointer<UInt32>?, _ outData: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
) -> OSStatus {
    perform { context throws(Failure) in
        guard let attrList = unsafe attrList else {
            return try unsafe copy(itemRef, itemClass, nil, length, outData, &context)
        }
        let list = try unsafe makeList(info?.pointee)
        do throws(Failure) { try unsafe copy(itemRef, itemClass, list, length, outData, &context) } catch {
            unsafe freeList(list)
            throw error
        }
        unsafe attrList.pointee = list
    }
}

@c
public func SecKeychainItemFreeAttributesAndData(
    _ attrList: UnsafeMutablePointer<SecKeychainAttributeList>?, _ data: UnsafeMutableRawPointer?
) -> OSStatus {
    unsafe free(attrList, data)
    if let list = unsafe attrList { unsafe freeList(list) }
    return OSStatus(errSecSuccess)
}

@c
public func SecKeychainItemDelete(_ itemRef: OpaquePointer?) -> OSStatus {
    perform { context throws(Failure) in
        try KeychainCall(.delete, item: unsafe item(itemRef)).perform(&context)
    }
}

@c
public func SecKeychainItemCopyKeychain(_ itemRef: OpaquePointer?, _ keychainRef: UnsafeMutablePointer<OpaquePointer?>?)
    -> OSStatus
{
    perform { _ throws(Failure) in
        let reference = try unsafe item(itemRef)
        guard let keychainRef = unsafe keychainRef else { throw argumentsBad }
        unsafe keychainRef.pointee = .retained(reference.keychain)
    }
}

/// A list with an entry for each tag.
private func makeList(
    _ info: SecKeychainAttributeInfo?
) throws(Failure) -> UnsafeMutablePointer<SecKeychainAttributeList> {
    let (count, tags) = unsafe (info?.count ?? 0, info?.tag)
    guard unsafe count == 0 || tags != nil else { throw Failure(errSecParam, "there are no tags") }
    guard count <= KeychainCall.maximumAttributes else { throw Failure(errSecParam, "there are too many tags") }
    let attributes = UnsafeMutablePointer<SecKeychainAttribute>.allocate(capacity: max(Int(count), 1))
    for index in 0..<Int(count) {
        unsafe (attributes + index).initialize(
            to: SecKeychainAttribute(tag: tags.unsafelyUnwrapped[index], length: 0, data: nil))
    }
    let list = UnsafeMutablePointer<SecKeychainAttributeList>.allocate(capacity: 1)
    unsafe list.initialize(to: SecKeychainAttributeList(count: count, attr: attributes))
    return unsafe list
}

private func freeList(_ list: UnsafeMutablePointer<SecKeychainAttributeList>) {
    unsafe list.pointee.attr?.deallocate()
    unsafe list.deallocate()
}
