internal import Glibc

/// A class of items as a type, so that the compiler knows the attributes of its items.
public protocol ItemKind: Sendable {
    static var itemClass: ItemClass { get }
}

/// The classes whose items are passwords.
public protocol PasswordKind: ItemKind {}
/// The classes whose items are or have a certificate.
public protocol CertificateKind: ItemKind {}
/// The classes whose items are or have a key.
public protocol KeyItemKind: ItemKind {}
/// The classes that items are stored under.
public protocol StoredKind: ItemKind {}

/// Generic passwords.
public enum GenericPasswords: PasswordKind, StoredKind {
    public static let itemClass = ItemClass.genericPassword
}

/// Internet passwords.
public enum InternetPasswords: PasswordKind, StoredKind {
    public static let itemClass = ItemClass.internetPassword
}

/// Certificates.
public enum Certificates: CertificateKind, StoredKind {
    public static let itemClass = ItemClass.certificate
}

/// Public, private and symmetric keys.
public enum Keys: KeyItemKind, StoredKind {
    public static let itemClass = ItemClass.key
}

/// Certificates with their private keys.
public enum Identities: CertificateKind, KeyItemKind {
    public static let itemClass = ItemClass.identity
}

/// A type that an attribute's values can have.
public protocol AttributeConvertible: Sendable {
    var attributeValue: AttributeValue { get }
}

extension AttributeValue: AttributeConvertible {
    public var attributeValue: AttributeValue { self }
}

extension String: AttributeConvertible {
    public var attributeValue: AttributeValue { .string(self) }
}

extension Array: AttributeConvertible where Element == UInt8 {
    public var attributeValue: AttributeValue { .data(self) }
}

extension Int: AttributeConvertible {
    public var attributeValue: AttributeValue { .number(Int64(self)) }
}

extension Bool: AttributeConvertible {
    public var attributeValue: AttributeValue { .bool(self) }
}

extension KeyClass: AttributeConvertible {
    public var attributeValue: AttributeValue { value }
}

extension KeyType: AttributeConvertible {
    public var attributeValue: AttributeValue { value }
}

extension InternetProtocol: AttributeConvertible {
    public var attributeValue: AttributeValue { value }
}

extension InternetAuthentication: AttributeConvertible {
    public var attributeValue: AttributeValue { value }
}

/// A point in time, in whole seconds since the start of 1970, UTC.
public struct ItemDate: AttributeConvertible, Hashable, Comparable {
    public let seconds: Int64

    public init(seconds: Int64) {
        self.seconds = seconds
    }

    public var attributeValue: AttributeValue { .date(seconds) }

    public static func < (left: ItemDate, right: ItemDate) -> Bool { left.seconds < right.seconds }

    /// The present time. Wraps `clock_gettime`.
    public static var now: ItemDate {
        var time = timespec()
        unsafe clock_gettime(CLOCK_REALTIME, &time)
        return ItemDate(seconds: Int64(time.tv_sec))
    }
}
