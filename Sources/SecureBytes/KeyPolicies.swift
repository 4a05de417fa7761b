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
