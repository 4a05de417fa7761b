internal import Localization

/// When a keychain locks by itself. Keychain semantics 2.1.
public struct KeychainSettings: Sendable, Hashable {
    /// Whether the keychain locks when the machine sleeps.
    public var locksOnSleep: Bool
    /// The seconds without use after which the keychain locks; nil for never.
    public var lockInterval: UInt32?

    /// The time for which a login session keeps a keychain unlocked by default, in seconds: a working day.
    public static let standardSessionTime: UInt32 = 28_800

    public init(locksOnSleep: Bool = false, lockInterval: UInt32? = nil) {
        self.locksOnSleep = locksOnSleep
        self.lockInterval = lockInterval
    }
}

extension KeychainError {
    /// The error where no keychain is chosen for new items.
    package static let noDefaultKeychain = KeychainError(
        .noDefaultKeychain, "there is no default keychain",
        remedy: "make one with 'tokenctl create-keychain', or choose one with 'tokenctl default-keychain -s NAME'")
}
