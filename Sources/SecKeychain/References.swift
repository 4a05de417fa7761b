internal import HostAPI
internal import KeychainModel
internal import CSecKeychain
internal import HostConnection
internal import KeychainCalls
internal import Synchronization

/// The object that a `SecKeychainRef` points to.
final class KeychainReference: Sendable {
    private let file: String
    private let isDeleted = Atomic(false)

    init(path: String) {
        file = path
    }

    /// The path of the file, whether or not it exists.
    var path: String { file }

    /// The path, for a call that uses the keychain.
    ///
    /// - Throws: `errSecInvalidKeychain` once the keychain was deleted by this reference.
    func used() throws(KeychainError) -> String {
        guard !isDeleted.load(ordering: .acquiring) else {
            throw KeychainError(.invalidKeychain, "the keychain at \(file) has been deleted")
        }
        return file
    }

    func delete() throws(KeychainError) {
        try Library.caller.delete(used())
        isDeleted.store(true, ordering: .releasing)
    }
}

/// The object that a `SecKeychainItemRef` points to.
final class ItemReference: Sendable {
    let keychain: KeychainReference
    let reference: PersistentReference

    init(_ item: Item, in keychain: KeychainReference) {
        self.keychain = keychain
        reference = item.reference
    }

    /// An item of the search list.
    convenience init(_ item: Item) throws(KeychainError) {
        let details = try Library.caller.host.keychain(item.keychain, Library.caller.request())
        self.init(item, in: KeychainReference(path: details.keychain.location))
    }

    /// - Throws: `errSecInvalidItemRef` once the item is gone.
    func item() throws(KeychainError) -> Item {
        try Library.caller.present(reference, in: keychain.used())
    }
}

/// The program's keychains.
enum Library {
    static let caller = KeychainCaller(HostConnection.openForPasswords())
}

/// - Throws: `errSecUnimplemented` for an access object, since the item would be open to all programs of the user.
func requireNoAccess(_ initialAccess: UnsafeRawPointer?) throws(KeychainError) {
    guard unsafe initialAccess == nil else {
        throw KeychainError(
            .unimplemented, "programs of one user are not told apart", remedy: "pass NULL", key: "initialAccess")
    }
}

// MARK: - Pointers

extension OpaquePointer {
    /// A reference that the caller has to release.
    static func retained(_ object: AnyObject) -> OpaquePointer {
        unsafe OpaquePointer(Unmanaged.passRetained(object).toOpaque())
    }

    /// - Throws: `errSecInvalidItemRef` or `errSecInvalidKeychain` for a reference to something else.
    func keychain() throws(KeychainError) -> KeychainReference {
        guard let keychain = unsafe object() as? KeychainReference else {
            throw KeychainError(.invalidKeychain, "the reference is not to a keychain")
        }
        return keychain
    }

    func item() throws(KeychainError) -> ItemReference {
        guard let item = unsafe object() as? ItemReference else {
            throw KeychainError(.invalidItemReference, "the reference is not to an item")
        }
        return item
    }

    func object() -> AnyObject {
        unsafe Unmanaged<AnyObject>.fromOpaque(UnsafeRawPointer(self)).takeUnretainedValue()
    }
}

/// The result code of `body`. Swift's errors do not reach C.
///
/// - Parameter function: the function that the program called, for the log.
func status(_ function: StaticString = #function, _ body: () throws(KeychainError) -> Void) -> OSStatus {
    do throws(KeychainError) {
        try body()
        return OSStatus(errSecSuccess)
    } catch {
        RefusalLog.note(function, error)
        return error.code.rawValue
    }
}

// MARK: - References

@c(tokenkit_keychain_retain)
public func retain(_ reference: UnsafeRawPointer?) -> UnsafeRawPointer? {
    if let reference = unsafe reference { _ = unsafe Unmanaged<AnyObject>.fromOpaque(reference).retain() }
    return unsafe reference
}

@c(tokenkit_keychain_release)
public func release(_ reference: UnsafeRawPointer?) {
    if let reference = unsafe reference { unsafe Unmanaged<AnyObject>.fromOpaque(reference).release() }
}
