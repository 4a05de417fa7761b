/// The state of a keychain, by the bits of SecKeychainStatus.
public struct KeychainStatus: OptionSet, Sendable, Hashable {
    public let rawValue: UInt32

    public init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    /// Secrets are within reach.
    public static let unlocked = KeychainStatus(rawValue: 1)
    /// Items can be found.
    public static let readable = KeychainStatus(rawValue: 2)
    /// Items can be added, changed and deleted.
    public static let writable = KeychainStatus(rawValue: 4)
}
