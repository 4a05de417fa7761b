public import CSecKeychain
internal import CThinClient

@c
public func SecKeychainSearchCreateFromAttributes(
    _ keychainOrArray: UnsafeRawPointer?, _ itemClass: SecItemClass,
    _ attrList: UnsafePointer<SecKeychainAttributeList>?, _ searchRef: UnsafeMutablePointer<OpaquePointer?>?
) -> OSStatus {
    perform { context throws(Failure) in
        guard let searchRef = unsafe searchRef else { throw Failure(errSecParam, "there is no place for the search") }
        let call = KeychainCall(
            .search, in: try unsafe searchedPath(keychainOrArray), itemClass: itemClass,
            attributes: try unsafe attributes(in: attrList?.pointee))
        var items: [ItemReference] = []
        for item in try Reply.ask(call, &context).answer.items { items.append(ItemReference(item)) }
        unsafe searchRef.pointee = .retained(SearchReference(items))
    }
}

@c
public func SecKeychainSearchCopyNext(
    _ searchRef: OpaquePointer?, _ itemRef: UnsafeMutablePointer<OpaquePointer?>?
) -> OSStatus {
    perform { _ throws(Failure) in
        let search = try unsafe search(searchRef)
        guard let itemRef = unsafe itemRef else { throw Failure(errSecParam, "there is no place for the item") }
        guard let item = search.next() else { throw Failure(errSecItemNotFound) }
        unsafe itemRef.pointee = .retained(item)
    }
}

// MARK: - Persistent references

@c
public func SecKeychainItemCreatePersistentReference(
    _ itemRef: OpaquePointer?, _ persistentItemRef: UnsafeMutablePointer<OpaquePointer?>?
) -> OSStatus {
    perform { _ throws(Failure) in
        let reference = try unsafe item(itemRef)
        guard let persistentItemRef = unsafe persistentItemRef else {
            throw Failure(errSecParam, "there is no place for the reference")
        }
        unsafe persistentItemRef.pointee = .retained(try DataReference(reference.reference))
    }
}

@c
public func SecKeychainItemCopyFromPersistentReference(
    _ persistentItemRef: OpaquePointer?, _ itemRef: UnsafeMutablePointer<OpaquePointer?>?
) -> OSStatus {
    perform { context throws(Failure) in
        guard let data = unsafe data(persistentItemRef), let itemRef = unsafe itemRef else {
            throw Failure(errSecParam, "the reference, or a place for the item, is missing")
        }
        let call = KeychainCall(.item, allowsQuestions: Client.allowsQuestions, item: data.bytes)
        unsafe itemRef.pointee = .retained(try Reply.ask(call, &context).item())
    }
}
