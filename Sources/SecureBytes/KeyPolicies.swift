/// The condition on which a key needs the PIN.
public enum PINPolicy: Hashable, Sendable {
    case never
    /// Once while the card stays powered.
    case once
    /// Immediately before every use.
    case always
    /// A value without a name in this version; treated as ``always``.
    case other(UInt8)

    /// Whether each use needs the PIN right before it.
    package var isAlways: Bool {
        switch self {
        case .always, .other: true
        case .never, .once: false
        }
    }
}

/// The condition on which a key needs a touch.
public enum TouchPolicy: Hashable, Sendable {
    /// The token does not say.
    case unknown
    case never
    case always
    /// Not again for some seconds after a touch.
    case cached
    /// A value without a name in this version.
    case other(UInt8)

    /// Whether an operation may wait for a touch.
    package var mayWait: Bool { self != .never && self != .unknown }
}

/// The conditions on which a new key is used; nil for those of its place.
public struct KeyPolicies: Hashable, Sendable {
    public var pin: PINPolicy?
    public var touch: TouchPolicy?

    public init(pin: PINPolicy? = nil, touch: TouchPolicy? = nil) {
        (self.pin, self.touch) = (pin, touch)
    }
}

/// The keys that a new one may take the place of.
public enum KeyReplacement: UInt8, Hashable, Sendable, CaseIterable {
    case none = 1
    /// Those of which nothing says that they decrypt.
    case ordinary = 2
    /// All of the owner's, also those without which data can be read no more.
    case any = 3
    /// The maker's, by which the token attests to others, and which no reset brings back.
    case attestation = 4
}

/// The purpose that a token's standard gives to the key of a place.
public enum KeyRole: UInt8, Hashable, Sendable, CaseIterable {
    case authentication = 1
    /// Signatures by which a person is bound.
    case signature = 2
    case decryption = 3
    /// The authentication of the token itself, without a PIN.
    case presence = 4
    /// The decryption of what was encrypted for a former key.
    case retirement = 5
}

/// A renewal of a key that is under way. The token keeps it beside the new key, so that a later run can finish it.
public struct KeyRenewal: Hashable, Sendable {
    /// The name of the place whose key is renewed, such as `9A`.
    public let slot: String
    /// The common name for the certificate of the new key.
    public let name: String

    public init(of slot: String, for name: String) {
        self.slot = slot
        self.name = name
    }
}
