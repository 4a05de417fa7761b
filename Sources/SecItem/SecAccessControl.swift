internal import KeychainModel
internal import Localization

/// The conditions for the use of an item's secret, the value of ``kSecAttrAccessControl``.
public final class SecAccessControl: Sendable {
    private let content: Result<AccessControl, KeychainError>

    init(_ control: AccessControl) {
        content = .success(control)
    }

    /// A refused access control: an item that is to have it is not stored, rather than stored without protection.
    fileprivate init(refused error: KeychainError) {
        content = .failure(error)
    }

    /// - Throws: the reason why no item can have this access control.
    var control: AccessControl {
        get throws(KeychainError) { try content.get() }
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

/// Creates an access control.
///
/// Flags for biometrics or another device, which do not exist here, give an access control as well, but an item that is to
/// have it is refused with `errSecUnimplemented`. A program that got nil would leave the key out of the dictionary, and so
/// store the item without protection.
///
/// - Parameter error: receives the error for a protection that does not exist, or for flags that exclude each other. If it is
///   nil, the function returns an access control even then, and an item that is to have it is refused with that error.
public func SecAccessControlCreateWithFlags(
    _ allocator: CFAllocator?, _ protection: Any, _ flags: SecAccessControlCreateFlags,
    _ error: UnsafeMutablePointer<Unmanaged<CFError>?>?
) -> SecAccessControl? {
    let isErrorUnseen = unsafe error == nil
    return unsafe giving(error) { () throws(KeychainError) in
        do throws(KeychainError) {
            guard let protection = protection as? String, let bits = UInt32(exactly: flags.rawValue) else {
                throw KeychainError(
                    .param, "the protection or the flags are of a wrong kind", key: kSecAttrAccessControl)
            }
            return SecAccessControl(try AccessControl(.string(protection), AccessControl.Flags(rawValue: bits)))
        } catch let refusal {
            guard refusal.code == .unimplemented || isErrorUnseen else { throw refusal }
            return SecAccessControl(refused: refusal)
        }
    }
}
