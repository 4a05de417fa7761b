internal import KeychainModel
internal import Foundation
internal import SecureBytes
internal import SystemCrypto

// The equality of references: CFEqual, `==` and hashing.

/// Whether two objects are equal: keys, certificates and the other types here by their content, all others as
/// Foundation has it.
public func CFEqual(_ first: CFTypeRef?, _ second: CFTypeRef?) -> Bool {
    guard let first, let second else { return first == nil && second == nil }
    if first === second { return true }
    guard let first = first as? AnyHashable, let second = second as? AnyHashable else { return false }
    return first == second
}

extension SecKey: Hashable {
    /// The content of a key, wherever it was found.
    private enum Content: Hashable {
        /// A half of a pair; the same in memory as in a keychain.
        case half(isPrivate: Bool, spki: [UInt8])
        case symmetric(SymmetricKeyContent)
        /// A key whose public half is of an unknown kind, or cannot be read without a password.
        case item(PersistentReference)
    }

    private var content: Content {
        switch material {
        case .symmetricKey(let key): .symmetric(SymmetricKeyContent(type: key.keyType, bytes: key.secret))
        case .publicKey(let key): .half(isPrivate: false, spki: key.spki)
        case .privateKey(let key): .half(isPrivate: true, spki: key.publicKey.spki)
        case .item(let item):
            publicKey.map { .half(isPrivate: isPrivate, spki: $0.spki) } ?? .item(item.reference)
        }
    }

    public static func == (left: SecKey, right: SecKey) -> Bool { left.content == right.content }

    public func hash(into hasher: inout Hasher) { hasher.combine(content) }
}

private struct SymmetricKeyContent: Hashable {
    let type: KeyType
    let bytes: SharedSecret?

    /// The bytes do not go into a hash, which may be kept or shown.
    func hash(into hasher: inout Hasher) { hasher.combine(type) }
}

extension SecIdentity: Hashable {
    public static func == (left: SecIdentity, right: SecIdentity) -> Bool {
        left.certificate == right.certificate && left.key == right.key
    }

    public func hash(into hasher: inout Hasher) { hasher.combine(certificate) }
}

extension SecAccessControl: Hashable {
    /// A refused access control, which no item can have, is equal to itself alone.
    public static func == (left: SecAccessControl, right: SecAccessControl) -> Bool {
        guard left !== right, let control = try? left.control else { return left === right }
        return control == (try? right.control)
    }

    public func hash(into hasher: inout Hasher) { hasher.combine(try? control) }
}

extension SecPolicy: Hashable {
    public static func == (left: SecPolicy, right: SecPolicy) -> Bool {
        left.policy == right.policy && left.host == right.host
    }

    public func hash(into hasher: inout Hasher) { hasher.combine(policy) }
}

extension SecKeychain: Hashable {
    public static func == (left: SecKeychain, right: SecKeychain) -> Bool { left.path == right.path }

    public func hash(into hasher: inout Hasher) { hasher.combine(path) }
}

extension SecKeychainItem: Hashable {
    public static func == (left: SecKeychainItem, right: SecKeychainItem) -> Bool {
        left.item.reference == right.item.reference
    }

    public func hash(into hasher: inout Hasher) { hasher.combine(item.reference) }
}
