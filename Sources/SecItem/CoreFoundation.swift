public import Foundation

// The few names of CoreFoundation that the keychain's interface is written in. Foundation's own types stand behind them:
// `query as CFDictionary`, `item as? Data` and `data as CFData` mean on Linux what they mean on Apple's platforms.

public typealias OSStatus = Int32
public typealias CFTypeRef = AnyObject
public typealias CFString = String
public typealias CFData = Data
public typealias CFDate = Date
public typealias CFNumber = NSNumber
public typealias CFBoolean = NSNumber
public typealias CFArray = [Any]
/// The type that Swift's dictionaries and Foundation's own convert to with `as`.
public typealias CFDictionary = NSDictionary
public typealias CFIndex = Int
public typealias CFOptionFlags = UInt
/// Seconds since the beginning of 2001.
public typealias CFAbsoluteTime = TimeInterval
public typealias CFTimeInterval = TimeInterval

/// A type without values, since Swift allocates the memory: only `nil` and `kCFAllocatorDefault` exist.
public enum CFAllocator: Sendable {}

public var kCFAllocatorDefault: CFAllocator? { nil }
// Code for Apple's platforms expects implicitly unwrapped optionals.
// swift-format-ignore: NeverUseImplicitlyUnwrappedOptionals
public var kCFBooleanTrue: CFBoolean! { NSNumber(value: true) }
// swift-format-ignore: NeverUseImplicitlyUnwrappedOptionals
public var kCFBooleanFalse: CFBoolean! { NSNumber(value: false) }

/// The failure of a call: a result code, and a text for people.
///
/// It is Foundation's own class, since with Foundation `catch let error as NSError` catches every error.
public typealias CFError = NSError
public typealias CFErrorDomain = CFString

/// The domain of result codes, which Foundation calls `NSOSStatusErrorDomain`.
public let kCFErrorDomainOSStatus: CFErrorDomain = NSOSStatusErrorDomain

public func CFErrorGetCode(_ error: CFError) -> CFIndex { error.code }
public func CFErrorGetDomain(_ error: CFError) -> CFErrorDomain! { error.domain }
public func CFErrorCopyUserInfo(_ error: CFError) -> CFDictionary! { error.userInfo as CFDictionary }
public func CFErrorCopyDescription(_ error: CFError) -> CFString! { error.localizedDescription }

/// The place for the error of a function that Apple's platforms share with Objective-C.
public typealias NSErrorPointer = UnsafeMutablePointer<NSError?>?

/// The C type of a truth value, which Foundation for Linux does not have.
public struct DarwinBoolean: ExpressibleByBooleanLiteral, Hashable, Sendable {
    public var boolValue: Bool

    public init(_ value: Bool) {
        boolValue = value
    }

    public init(booleanLiteral value: Bool) {
        self.init(value)
    }
}
