internal import KeychainModel
internal import KeychainCalls

// Events of keychains, SecKeychain.h. Keychain semantics 2.4.

/// An event of a keychain. Events of trust settings and of data access never occur here.
public enum SecKeychainEvent: UInt32, Sendable {
    case lockEvent = 1
    case unlockEvent = 2
    case addEvent = 3
    case deleteEvent = 4
    case updateEvent = 5
    case passwordChangedEvent = 6
    case defaultChangedEvent = 9
    case dataAccessEvent = 10
    case keychainListChangedEvent = 11
    case trustSettingsChangedEvent = 12
}

/// The events that a function is to be called with.
public struct SecKeychainEventMask: OptionSet, Sendable {
    public let rawValue: UInt32

    public init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    private init(_ event: SecKeychainEvent) {
        rawValue = 1 << event.rawValue
    }

    public static let lockEventMask = SecKeychainEventMask(.lockEvent)
    public static let unlockEventMask = SecKeychainEventMask(.unlockEvent)
    public static let addEventMask = SecKeychainEventMask(.addEvent)
    public static let deleteEventMask = SecKeychainEventMask(.deleteEvent)
    public static let updateEventMask = SecKeychainEventMask(.updateEvent)
    public static let passwordChangedEventMask = SecKeychainEventMask(.passwordChangedEvent)
    public static let defaultChangedEventMask = SecKeychainEventMask(.defaultChangedEvent)
    public static let dataAccessEventMask = SecKeychainEventMask(.dataAccessEvent)
    public static let keychainListChangedMask = SecKeychainEventMask(.keychainListChangedEvent)
    public static let trustSettingsChangedEventMask = SecKeychainEventMask(.trustSettingsChangedEvent)
    public static let everyEventMask = SecKeychainEventMask(rawValue: .max)
}

/// The subject of an event. The objects live as long as the call.
@unsafe public struct SecKeychainCallbackInfo {
    public var version: UInt32
    /// Nil for an event that concerns no item, and for an item that is gone.
    // Code for Apple's platforms expects an implicitly unwrapped optional.
    // swift-format-ignore: NeverUseImplicitlyUnwrappedOptionals
    public var item: Unmanaged<SecKeychainItem>!
    /// Nil for an event that concerns no keychain.
    // swift-format-ignore: NeverUseImplicitlyUnwrappedOptionals
    public var keychain: Unmanaged<SecKeychain>!
    /// The process that caused the event; 0 where it is unknown.
    public var pid: Int32
}

/// A function that is called with events, on a thread of its own; it needs no run loop.
public typealias SecKeychainCallback =
    @Sendable (SecKeychainEvent, UnsafeMutablePointer<SecKeychainCallbackInfo>, UnsafeMutableRawPointer?) -> OSStatus

/// Registers a function for the events of the mask, whatever process causes them.
///
/// - Returns: `errSecDuplicateCallback` where it is registered already.
@discardableResult
public func SecKeychainAddCallback(
    _ callbackFunction: @escaping SecKeychainCallback, _ eventMask: SecKeychainEventMask,
    _ userContext: UnsafeMutableRawPointer?
) -> OSStatus {
    let context = UInt(bitPattern: userContext)
    return status { () throws(KeychainError) in
        let mask = KeychainEventMask(rawValue: eventMask.rawValue)
        let id = unsafe identity(of: callbackFunction)
        try Keychains.callbacks.add(id, for: mask) { event in
            guard let kind = SecKeychainEvent(event.kind) else { return }
            let keychain = event.location.map { SecKeychain(path: $0) }
            let item = event.item.flatMap { reference in
                (try? Keychains.caller.present(reference, in: keychain?.path)).map { SecKeychainItem($0) }
            }
            withExtendedLifetime((keychain, item)) {
                var info = unsafe SecKeychainCallbackInfo(
                    version: 0, item: item.map { unsafe Unmanaged.passUnretained($0) },
                    keychain: keychain.map { unsafe Unmanaged.passUnretained($0) }, pid: event.process ?? 0)
                _ = unsafe callbackFunction(kind, &info, UnsafeMutableRawPointer(bitPattern: context))
            }
        }
    }
}

/// Unregisters a function. A call that is in progress may still finish.
///
/// - Returns: `errSecInvalidCallback` where it is not registered.
@discardableResult
public func SecKeychainRemoveCallback(_ callbackFunction: @escaping SecKeychainCallback) -> OSStatus {
    status { () throws(KeychainError) in
        try Keychains.callbacks.remove(unsafe identity(of: callbackFunction))
    }
}

/// Holds a function by its own type: as a generic value it would be wrapped anew each time.
@unsafe private struct Function {
    let body: SecKeychainCallback
}

/// The identity of a callback: equal for the same function, or closure in a variable, by the addresses of its code and
/// of its captures.
private func identity(of function: @escaping SecKeychainCallback) -> UInt {
    unsafe withUnsafeBytes(of: unsafe Function(body: function)) { bytes in
        stride(from: 0, to: bytes.count, by: MemoryLayout<UInt>.size).reduce(0) { id, offset in
            unsafe id &* 31 &+ bytes.loadUnaligned(fromByteOffset: offset, as: UInt.self)
        }
    }
}

extension SecKeychainEvent {
    /// Nil for an event of cards.
    fileprivate init?(_ kind: KeychainEvent.Kind) {
        self.init(rawValue: UInt32(kind.rawValue))
    }
}
