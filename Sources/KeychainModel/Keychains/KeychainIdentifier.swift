/// The identifier of a keychain, which its items carry: a local file's, or a token's.
///
/// A token's identifier is the token id that its items carry (`tkid`): the driver's id, a colon, and the card's serial.
public struct KeychainIdentifier: RawRepresentable, Hashable, Sendable {
    public let rawValue: String

    public init(rawValue: String) {
        self.rawValue = rawValue
    }

    /// The identifier of the local keychain that was created with `id`.
    public init(local id: UniqueID) {
        rawValue = Self.localPrefix + id.description
    }

    /// Whether this is a local keychain's.
    public var isLocal: Bool { rawValue.hasPrefix(Self.localPrefix) }

    /// The part behind the driver's name, which tells a card from others of its kind.
    package var instance: String { String(rawValue.drop { $0 != ":" }.dropFirst()) }

    package static let localPrefix = "local:"
}

extension KeychainIdentifier: CustomStringConvertible {
    public var description: String { rawValue }
}
