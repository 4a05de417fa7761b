internal import CSecKeychain
internal import Synchronization

/// An object that a reference of C points to. Its kind is checked before it is used as an object of that kind.
class Reference {
    enum Kind {
        case keychain, item, search, data, string, array, application, acl, access
    }

    final let kind: Kind

    init(_ kind: Kind) {
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

    /// Nil for a constant of the library, which is no object.
    func object() -> Reference? {
        guard unsafe tokenkit_constant_text(UnsafeRawPointer(self)) == nil else { return nil }
        return unsafe Unmanaged<Reference>.fromOpaque(UnsafeRawPointer(self)).takeUnretainedValue()
    }
}

/// The keychain of a reference that must not be NULL.
func keychain(_ reference: OpaquePointer?) throws(Failure) -> KeychainReference {
    guard let reference = unsafe reference else { throw Failure(errSecInvalidKeychain, "the reference is missing") }
    guard let object = unsafe reference.object(), object.kind == .keychain else {
        throw Failure(errSecInvalidKeychain, "the reference is not to a keychain")
    }
    return unsafe unsafeDowncast(object, to: KeychainReference.self)
}

func item(_ reference: OpaquePointer?) throws(Failure) -> ItemReference {
    guard let reference = unsafe reference else { throw Failure(errSecInvalidItemRef, "the reference is missing") }
    guard let object = unsafe reference.object(), object.kind == .item else {
        throw Failure(errSecInvalidItemRef, "the reference is not to an item")
    }
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
    if let reference = unsafe reference, unsafe tokenkit_constant_text(reference) == nil {
        _ = unsafe Unmanaged<Reference>.fromOpaque(reference).retain()
    }
    return unsafe reference
}

@c(tokenkit_keychain_release)
public func release(_ reference: UnsafeRawPointer?) {
    if let reference = unsafe reference, unsafe tokenkit_constant_text(reference) == nil {
        unsafe Unmanaged<Reference>.fromOpaque(reference).release()
    }
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

@c(tokenkit_keychain_string)
public func makeString(_ text: UnsafePointer<CChar>?) -> OpaquePointer? {
    guard let text = unsafe text, let string = try? StringReference(unsafe [UInt8](text: text)) else { return nil }
    return unsafe .retained(string)
}

@c(tokenkit_keychain_string_text)
public func stringText(_ reference: OpaquePointer?) -> UnsafePointer<CChar>? {
    if let constant = unsafe tokenkit_constant_text(UnsafeRawPointer(reference)) { return unsafe constant }
    guard let object = unsafe reference?.object(), object.kind == .string else { return nil }
    let memory = unsafe unsafeDowncast(object, to: StringReference.self).memory
    return unsafe UnsafePointer(memory.start.assumingMemoryBound(to: CChar.self))
}

@c(tokenkit_keychain_array)
public func makeArray(_ values: UnsafePointer<UnsafeRawPointer?>?, _ count: Int) -> OpaquePointer? {
    guard count >= 0, unsafe values != nil || count == 0 else { return nil }
    var kept: [UnsafeRawPointer] = unsafe []
    for index in 0..<count {
        guard let value = unsafe values?[index] else { return nil }
        unsafe kept.append(value)
    }
    return unsafe .retained(ArrayReference(kept))
}

@c(tokenkit_keychain_array_count)
public func arrayCount(_ reference: OpaquePointer?) -> Int { unsafe array(reference)?.values.count ?? 0 }

@c(tokenkit_keychain_array_value)
public func arrayValue(_ reference: OpaquePointer?, _ index: Int) -> UnsafeRawPointer? {
    guard let array = unsafe array(reference), unsafe array.values.indices.contains(index) else { return nil }
    return unsafe array.values[index]
}
