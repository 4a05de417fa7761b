internal import KeychainModel

/// The conditions for the use of an item's secret, the value of ``kSecAttrAccessControl``.
public final class SecAccessControl: Sendable {
    private let content: Result<AccessControl, KeychainError>

    init(_ control: AccessControl) {
        content = .success(control)
    }

    /// A control that no item can have, so that none is stored without its protection.
    fileprivate init(refused error: KeychainError) {
        content = .failure(error)
    }

    /// - Throws: why no item can have it.
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

/// An access control.
///
/// One for which biometrics or another device are needed, of which there are none here, is made all the same, and refused with
/// `errSecUnimplemented` where an item is to have it. A program that found nil in its place would leave the key out of the
/// dictionary, and so store the item without protection.
///
/// - Parameter error: gets why there is none, for a protection that does not exist, or flags that exclude each other. A caller who gives
///   no place for it gets an access control, which is refused with that error where an item is to have it.
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
