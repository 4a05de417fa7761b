public import Localization

/// The permanent identifier of a token. A card has the same value in any reader, at any time.
public struct TokenID: Hashable, Sendable, CustomStringConvertible {
    /// The driver that recognised the token, such as `piv`.
    public let driver: String

    /// The part that tells the token from others of its kind: a GUID, a serial number, a certificate's hash.
    public let instance: String

    public init(driver: String, instance: String) {
        self.driver = driver
        self.instance = instance
    }

    /// Reads the form that ``description`` gives.
    public init?(_ text: String) {
        guard let colon = text.firstIndex(of: ":"), colon != text.startIndex else { return nil }
        self.init(driver: String(text[..<colon]), instance: String(text[text.index(after: colon)...]))
        guard !instance.isEmpty else { return nil }
    }

    /// Driver and instance with a colon between, as SecItem's `tkid` has it.
    public var description: String { "\(driver):\(instance)" }
}

/// A token's description of itself.
public struct TokenIdentity: Hashable, Sendable {
    public let id: TokenID

    /// Whether other tokens may have the same identifier, as blank cards of one kind do.
    public let isShared: Bool

    /// A name for people, which does not depend on any certificate.
    public let label: String
    public let manufacturer: String?
    public let model: String?

    /// The serial number printed on the device; nil where the token does not tell it.
    public let serialNumber: String?

    /// The firmware or application version.
    public let version: String?

    public init(
        id: TokenID, isShared: Bool = false, label: String, manufacturer: String? = nil, model: String? = nil,
        serialNumber: String? = nil, version: String? = nil
    ) {
        self.id = id
        self.isShared = isShared
        self.label = label
        self.manufacturer = manufacturer
        self.model = model
        self.serialNumber = serialNumber
        self.version = version
    }
}

/// A line about a token beyond its identity.
public struct TokenFact: Hashable, Sendable {
    /// A value for programs, which no language changes.
    public enum Plain: Hashable, Sendable {
        case text(String)
        case number(Int)
        case list([String])
    }

    /// The name in English.
    public let name: LocalizedKey
    /// The fact for people, in their language.
    public let value: String
    /// The fact for programs, by keys that stay.
    public let parts: [String: Plain]

    /// - Parameter parts: the parts for programs; unless given, the value by a key made of the name: `FASC-N` is `fascN`,
    ///   `Valid until` is `validUntil`.
    public init(_ name: LocalizedKey, _ value: String, parts: [String: Plain]? = nil) {
        self.name = name
        self.value = value
        self.parts = parts ?? [TokenFact.key(name): .text(value)]
    }

    private static func key(_ name: String) -> String {
        let words = name.split { !$0.isLetter && !$0.isNumber }.map { $0.lowercased() }
        return words.prefix(1).joined() + words.dropFirst().map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined()
    }
}

/// The memory of tokens between their insertions, so that they need not be asked again.
///
/// Only facts that the token reveals to anybody are remembered, and only as a hint: a driver trusts them no more than the card.
public protocol TokenMemory: Sendable {
    func recall(_ token: TokenID) -> [UInt8]?
    func remember(_ bytes: [UInt8], for token: TokenID)

    /// The remembered bytes of every token, in no particular order.
    func all() -> [[UInt8]]
}

/// The remembered facts of a token that was read before, whether it is in a reader or not.
public struct KnownToken: Hashable, Sendable {
    public let identity: TokenIdentity

    /// The token's certificates, and their keys.
    public let inventory: TokenInventory

    public init(identity: TokenIdentity, inventory: TokenInventory) {
        self.identity = identity
        self.inventory = inventory
    }
}
