internal import KeychainHost

/// What has to be shown before an item's secret is used, the value of ``kSecAttrAccessControl``.
public final class SecAccessControl: Sendable {
    let control: AccessControl

    init(_ control: AccessControl) {
        self.control = control
    }
}

/// The constraints of an access control. SecAccessControl.h.
public struct SecAccessControlCreateFlags: OptionSet, Sendable {
    public let rawValue: UInt

    public init(rawValue: UInt) {
        self.rawValue = rawValue
    }

    public static let userPresence = SecAccessControlCreateFlags(rawValue: 1 << 0)
    public static let biometryAny = SecAccessControlCreateFlags(rawValue: 1 << 1)
    public static let biometryCurrentSet = SecAccessControlCreateFlags(rawValue: 1 << 3)
    public static let devicePasscode = SecAccessControlCreateFlags(rawValue: 1 << 4)
    public static let touchIDAny = biometryAny
    public static let touchIDCurrentSet = biometryCurrentSet
    public static let companion = SecAccessControlCreateFlags(rawValue: 1 << 5)
    public static let watch = companion
    public static let or = SecAccessControlCreateFlags(rawValue: 1 << 14)
    public static let and = SecAccessControlCreateFlags(rawValue: 1 << 15)
    public static let privateKeyUsage = SecAccessControlCreateFlags(rawValue: 1 << 30)
    public static let applicationPassword = SecAccessControlCreateFlags(rawValue: 1 << 31)
}

/// An access control; nil, with an error, for a protection there is none of, or flags that exclude each other.
public func SecAccessControlCreateWithFlags(
    _ allocator: CFAllocator?, _ protection: Any, _ flags: SecAccessControlCreateFlags,
    _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> SecAccessControl? {
    unsafe giving(error) { () throws(KeychainError) in
        guard let protection = protection as? String, let bits = UInt32(exactly: flags.rawValue) else {
            throw KeychainError(.param, "the protection or the flags are of a wrong kind", key: kSecAttrAccessControl)
        }
        return SecAccessControl(try AccessControl(.string(protection), AccessControl.Flags(rawValue: bits)))
    }
}
