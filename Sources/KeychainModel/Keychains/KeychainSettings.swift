/// When a keychain locks by itself. Keychain semantics 2.1.
public struct KeychainSettings: Sendable, Hashable {
    /// Whether the keychain locks when the machine sleeps.
    public var locksOnSleep: Bool
    /// The seconds without use after which the keychain locks; nil for never.
    public var lockInterval: UInt32?

    public init(locksOnSleep: Bool = false, lockInterval: UInt32? = nil) {
        self.locksOnSleep = locksOnSleep
        self.lockInterval = lockInterval
    }
}
