internal import CSecKeychain
internal import Synchronization

/// An object that a reference of C points to. Its kind is checked before it is used as an object of that kind.
class Reference {
    enum Kind {
        case keychain, item, search, data
    }

    final let kind: Kind

    fileprivate init(_ kind: Kind) {
        self.kind = kind
    }
}

/// The object that a `SecKeychainRef` points to.
final class KeychainReference: Reference {
    /// The path of the file, whether or not it exists.
    let path: [UInt8]
    private let isDeleted = Atomic(false)

    init(path: [UInt8]) {
        self.path = path
        super.init(.keychain)
    }

    /// The path, for a call that uses the keychain.
    ///
    /// - Throws: `errSecInvalidKeychain` once the keychain was deleted by this reference.
    func used() throws(Failure) -> [UInt8] {
        guard !isDeleted.load(ordering: .acquiring) else {
            throw Failure(errSecInvalidKeychain, "the keychain has been deleted")
        }
        return path
    }

    func noteDeletion() { isDeleted.store(true, ordering: .releasing) }
}

/// The object that a `SecKeychainItemRef` points to.
final class ItemReference: Reference {
    let keychain: KeychainReference
    /// The item's persistent reference.
    let reference: [UInt8]

    init(_ item: KeychainItem) {
        keychain = KeychainReference(path: item.keychain)
        reference = item.reference
        super.init(.item)
    }
}

/// The object that a `SecKeychainSearchRef` points to: the items found, and the number of those that the caller has received.
final class SearchReference: Reference {
    private let items: [ItemReference]
    private let position = Atomic(0)

    init(_ items: [ItemReference]) {
        self.items = items
        super.init(.search)
    }

    func next() -> ItemReference? {
        var index = position.load(ordering: .relaxed)
        while index < items.count {
            let (isTaken, found) = position.compareExchange(
                expected: index, desired: index + 1, ordering: .acquiringAndReleasing)
            if isTaken { return items[index] }
            index = found
        }
        return nil
    }
}

/// The object that a `CFDataRef` points to: bytes at a fixed address.
final class DataReference: Reference {
    let memory: CallerMemory

    init(_ bytes: [UInt8]) throws(Failure) {
        memory = try CallerMemory(bytes)
        super.init(.data)
    }

    deinit { memory.free() }

    var bytes: [UInt8] { unsafe [UInt8](UnsafeRawBufferPointer(start: memory.start, count: memory.count)) }
}

// MARK: - Pointers

extension OpaquePointer {
    /// A reference that the caller has to release.
    static func retained(_ object: Reference) -> OpaquePointer {
        unsafe OpaquePointer(Unmanaged<Reference>.passRetained(object).toOpaque())
    }

    func object() -> Reference {
        unsafe Unmanaged<Reference>.fromOpaque(UnsafeRawPointer(self)).takeUnretainedValue()
    }
}

/// The keychain of a reference that must not be NULL.
func keychain(_ reference: OpaquePointer?) throws(Failure) -> KeychainReference {
    guard let reference = unsafe reference else { throw Failure(errSecInvalidKeychain, "the reference is missing") }
    let object = unsafe reference.object()
    guard object.kind == .keychain else { throw Failure(errSecInvalidKeychain, "the reference is not to a keychain") }
    return unsafe unsafeDowncast(object, to: KeychainReference.self)
}

func item(_ reference: OpaquePointer?) throws(Failure) -> ItemReference {
    guard let reference = unsafe reference else { throw Failure(errSecInvalidItemRef, "the reference is missing") }
    let object = unsafe reference.object()
    guard object.kind == .item else { throw Failure(errSecInvalidItemRef, "the reference is not to an item") }
    return unsafe unsafeDowncast(object, to: ItemReference.self)
}

func search(_ reference: OpaquePointer?) throws(Failure) -> SearchReference {
    guard let object = unsafe reference?.object(), object.kind == .search else {
        throw Failure(errSecInvalidSearchRef, "the reference is not to a search")
    }
    return unsafe unsafeDowncast(object, to: SearchReference.self)
}

/// Nil for NULL, and for a reference to something else.
func data(_ reference: OpaquePointer?) -> DataReference? {
    guard let object = unsafe reference?.object(), object.kind == .data else { return nil }
    return unsafe unsafeDowncast(object, to: DataReference.self)
}

/// The path of a reference's keychain, for a call that uses it; nil for the default one, or the search list.
func path(of reference: OpaquePointer?) throws(Failure) -> [UInt8]? {
    unsafe reference == nil ? nil : try unsafe keychain(reference).used()
}

// MARK: - Exported

@c(tokenkit_keychain_retain)
public func retain(_ reference: UnsafeRawPointer?) -> UnsafeRawPointer? {
    if let reference = unsafe reference { _ = unsafe Unmanaged<Reference>.fromOpaque(reference).retain() }
    return unsafe reference
}

@c(tokenkit_keychain_release)
public func release(_ reference: UnsafeRawPointer?) {
    if let reference = unsafe reference { unsafe Unmanaged<Reference>.fromOpaque(reference).release() }
}

@c(tokenkit_keychain_data)
public func makeData(_ bytes: UnsafePointer<UInt8>?, _ length: Int) -> OpaquePointer? {
    guard length >= 0, unsafe bytes != nil || length == 0 else { return nil }
    let copied = unsafe [UInt8](UnsafeBufferPointer(start: bytes, count: length))
    guard let data = try? DataReference(copied) else { return nil }
    return unsafe .retained(data)
}

@c(tokenkit_keychain_data_bytes)
public func dataBytes(_ reference: OpaquePointer?) -> UnsafePointer<UInt8>? {
    guard let data = unsafe data(reference) else { return nil }
    return unsafe UnsafePointer(data.memory.start.assumingMemoryBound(to: UInt8.self))
}

@c(tokenkit_keychain_data_length)
public func dataLength(_ reference: OpaquePointer?) -> Int { unsafe data(reference)?.memory.count ?? 0 }
