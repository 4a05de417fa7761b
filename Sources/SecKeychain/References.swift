internal import HostAPI
internal import KeychainModel
internal import CSecKeychain
internal import KeychainHost
internal import StandardDrivers
internal import Synchronization
internal import TokenKit

/// The object that a `SecKeychainRef` points to.
final class KeychainReference: Sendable {
    let path: String
    private let isDeleted = Atomic(false)

    init(path: String) {
        self.path = path
    }

    /// - Throws: `errSecInvalidKeychain` once it was deleted by this reference; `errSecNoSuchKeychain` where there is none.
    func opened() throws(KeychainError) -> LocalKeychain {
        guard !isDeleted.load(ordering: .acquiring) else {
            throw KeychainError(.invalidKeychain, "the keychain at \(path) has been deleted")
        }
        return try Library.process.keychain(at: path)
    }

    func delete() throws(KeychainError) {
        try Library.process.preferences.delete(opened().path)
        isDeleted.store(true, ordering: .releasing)
    }
}

/// The object that a `SecKeychainItemRef` points to.
final class ItemReference: Sendable {
    let keychain: KeychainReference
    let reference: PersistentReference

    init(_ item: Item, in keychain: LocalKeychain) {
        self.keychain = KeychainReference(path: keychain.path)
        reference = item.reference
    }

    /// - Throws: `errSecInvalidItemRef` once the item is gone.
    func item() throws(KeychainError) -> Item {
        try keychain.opened().presentItem(reference)
    }
}

/// The process's keychains. Passwords are in files alone; a card may open one. The one place of the target that names the
/// drivers.
enum Library {
    static let process = ProcessKeychains(drivers: StandardDrivers.all)
    static let interaction = Interaction()

    static var authentication: AuthenticationContext {
        interaction.isAllowed
            ? process.authentication(FirstAvailablePrompter.standard()) : process.authentication()
    }
}

/// - Throws: `errSecUnimplemented` for an access: an item that is to be for some programs alone is not stored for all.
func requireNoAccess(_ initialAccess: UnsafeRawPointer?) throws(KeychainError) {
    guard unsafe initialAccess == nil else {
        throw KeychainError(
            .unimplemented, "programs of one user are not told apart", remedy: "pass NULL", key: "initialAccess")
    }
}

// MARK: - Pointers

extension OpaquePointer {
    /// A reference that the caller ends.
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
/// - Parameter function: the one that the program called, for the log.
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
