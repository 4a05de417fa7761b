internal import HostAPI
internal import KeychainModel
public import CSecKeychain
internal import KeychainCalls
internal import Synchronization

/// The object that a `SecKeychainSearchRef` points to: the items found that the caller has not received yet.
final class SearchReference: Sendable {
    private let items: Mutex<ArraySlice<ItemReference>>

    init(_ items: [ItemReference]) {
        self.items = Mutex(items[...])
    }

    func next() -> ItemReference? { items.withLock { $0.popFirst() } }
}

@c
public func SecKeychainSearchCreateFromAttributes(
    _ keychainOrArray: UnsafeRawPointer?, _ itemClass: SecItemClass,
    _ attrList: UnsafePointer<SecKeychainAttributeList>?, _ searchRef: UnsafeMutablePointer<OpaquePointer?>?
) -> OSStatus {
    status { () throws(KeychainError) in
        guard let searchRef = unsafe searchRef else { throw KeychainError(.param, "there is no place for the search") }
        let itemClass = try ItemClass.passwords(itemClass)
        let outcome = try Library.caller.items(
            itemClass, unsafe attributes(in: attrList?.pointee, of: itemClass),
            in: unsafe searchedPaths(keychainOrArray))
        RefusalLog.note(outcome.missing)
        var items: [ItemReference] = []
        for item in outcome.found { items.append(try ItemReference(item)) }
        unsafe searchRef.pointee = .retained(SearchReference(items))
    }
}

@c
public func SecKeychainSearchCopyNext(
    _ searchRef: OpaquePointer?, _ itemRef: UnsafeMutablePointer<OpaquePointer?>?
) -> OSStatus {
    status { () throws(KeychainError) in
        guard let search = unsafe searchRef?.object() as? SearchReference else {
            throw KeychainError(.invalidSearchReference, "the reference is not to a search")
        }
        guard let itemRef = unsafe itemRef else { throw KeychainError(.param, "there is no place for the item") }
        guard let item = search.next() else { throw KeychainError(.itemNotFound) }
        unsafe itemRef.pointee = .retained(item)
    }
}

// MARK: - Persistent references

/// The object that a `CFDataRef` points to: bytes at a fixed address.
final class DataReference: Sendable {
    /// The address as a number, since a pointer is not `Sendable`.
    private let address: UInt
    let count: Int

    init(_ bytes: Span<UInt8>) throws(KeychainError) {
        address = UInt(bitPattern: try unsafe CallerMemory.copy(bytes))
        count = bytes.count
    }

    deinit { unsafe CallerMemory.free(UnsafeMutableRawPointer(bitPattern: address)) }

    var start: UnsafePointer<UInt8>? { unsafe UnsafePointer(bitPattern: address) }

    var bytes: [UInt8] { unsafe [UInt8](UnsafeBufferPointer(start: start, count: count)) }
}

@c(tokenkit_keychain_data)
public func data(_ bytes: UnsafePointer<UInt8>?, _ length: Int) -> OpaquePointer? {
    guard length >= 0, unsafe bytes != nil || length == 0 else { return nil }
    let copied = unsafe [UInt8](UnsafeBufferPointer(start: bytes, count: length))
    guard let data = try? DataReference(copied.span) else { return nil }
    return unsafe .retained(data)
}

@c(tokenkit_keychain_data_bytes)
public func dataBytes(_ data: OpaquePointer?) -> UnsafePointer<UInt8>? {
    unsafe (data?.object() as? DataReference)?.start
}

@c(tokenkit_keychain_data_length)
public func dataLength(_ data: OpaquePointer?) -> Int {
    unsafe (data?.object() as? DataReference)?.count ?? 0
}

@c
public func SecKeychainItemCreatePersistentReference(
    _ itemRef: OpaquePointer?, _ persistentItemRef: UnsafeMutablePointer<OpaquePointer?>?
) -> OSStatus {
    status { () throws(KeychainError) in
        let reference = try unsafe item(itemRef)
        guard let persistentItemRef = unsafe persistentItemRef else {
            throw KeychainError(.param, "there is no place for the reference")
        }
        unsafe persistentItemRef.pointee = .retained(try DataReference(reference.reference.encoded().span))
    }
}

@c
public func SecKeychainItemCopyFromPersistentReference(
    _ persistentItemRef: OpaquePointer?, _ itemRef: UnsafeMutablePointer<OpaquePointer?>?
) -> OSStatus {
    status { () throws(KeychainError) in
        guard let data = unsafe persistentItemRef?.object() as? DataReference, let itemRef = unsafe itemRef else {
            throw KeychainError(.param, "the reference, or a place for the item, is missing")
        }
        let reference = try PersistentReference(parsing: data.bytes)
        let outcome = try Library.caller.host.items(matching: Query(reference), Library.caller.request())
        guard let found = outcome.found.first(where: \.itemClass.isPassword) else {
            throw KeychainError(.itemNotFound)
        }
        unsafe itemRef.pointee = .retained(try ItemReference(found))
    }
}
