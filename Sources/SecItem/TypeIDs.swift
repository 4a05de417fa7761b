internal import Foundation

// The type of an object, CoreFoundation's or the keychain's, which programs compare before they cast a result.

public typealias CFTypeID = UInt

private enum TypeID: CFTypeID {
    // CoreFoundation has no type 0.
    case other = 1
    case string, data, date, number, boolean, null, array, dictionary, error
    case key, certificate, identity, accessControl, policy, keychain, keychainItem, trust, access, acl,
        trustedApplication

    init(_ object: AnyObject) {
        switch object {
        case is SecKey: self = .key
        case is SecCertificate: self = .certificate
        case is SecIdentity: self = .identity
        case is SecAccessControl: self = .accessControl
        case is SecPolicy: self = .policy
        case is SecKeychain: self = .keychain
        case is SecKeychainItem: self = .keychainItem
        case is SecTrust: self = .trust
        case is SecAccess: self = .access
        case is SecACL: self = .acl
        case is SecTrustedApplication: self = .trustedApplication
        case is NSString: self = .string
        case is NSData: self = .data
        case is NSDate: self = .date
        case let number as NSNumber: self = number === kCFBooleanTrue || number === kCFBooleanFalse ? .boolean : .number
        case is NSNull: self = .null
        case is NSArray: self = .array
        case is NSDictionary: self = .dictionary
        case is NSError: self = .error
        default: self = .other
        }
    }
}

/// The type of an object; 0 for nil, as the result of a search that has found nothing.
public func CFGetTypeID(_ object: CFTypeRef?) -> CFTypeID { object.map { TypeID($0).rawValue } ?? 0 }

public func CFStringGetTypeID() -> CFTypeID { TypeID.string.rawValue }
public func CFDataGetTypeID() -> CFTypeID { TypeID.data.rawValue }
public func CFDateGetTypeID() -> CFTypeID { TypeID.date.rawValue }
public func CFNumberGetTypeID() -> CFTypeID { TypeID.number.rawValue }
public func CFBooleanGetTypeID() -> CFTypeID { TypeID.boolean.rawValue }
public func CFNullGetTypeID() -> CFTypeID { TypeID.null.rawValue }
public func CFArrayGetTypeID() -> CFTypeID { TypeID.array.rawValue }
public func CFDictionaryGetTypeID() -> CFTypeID { TypeID.dictionary.rawValue }
public func CFErrorGetTypeID() -> CFTypeID { TypeID.error.rawValue }
public func SecKeyGetTypeID() -> CFTypeID { TypeID.key.rawValue }
public func SecCertificateGetTypeID() -> CFTypeID { TypeID.certificate.rawValue }
public func SecIdentityGetTypeID() -> CFTypeID { TypeID.identity.rawValue }
public func SecAccessControlGetTypeID() -> CFTypeID { TypeID.accessControl.rawValue }
public func SecPolicyGetTypeID() -> CFTypeID { TypeID.policy.rawValue }
public func SecKeychainGetTypeID() -> CFTypeID { TypeID.keychain.rawValue }
public func SecKeychainItemGetTypeID() -> CFTypeID { TypeID.keychainItem.rawValue }
public func SecTrustGetTypeID() -> CFTypeID { TypeID.trust.rawValue }
public func SecAccessGetTypeID() -> CFTypeID { TypeID.access.rawValue }
public func SecACLGetTypeID() -> CFTypeID { TypeID.acl.rawValue }
public func SecTrustedApplicationGetTypeID() -> CFTypeID { TypeID.trustedApplication.rawValue }
