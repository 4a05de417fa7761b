public import SecureBytes
public import KeychainModel

/// A driver of cards that the host has.
public struct CardDriver: Sendable, Hashable {
    /// The part of its cards' identifiers before the colon.
    public let name: String
    /// Whether its cards are left alone: the user has disabled it, or the settings that say so cannot be read.
    public let isDisabled: Bool
    /// The names of the keys that its cards may have, where these are the same on every card, as PIV slots are.
    public let keyNames: [String]
    /// The data objects that its cards may have, in the order of their specification.
    public let dataObjects: [CardDataObject]

    public init(_ name: String, isDisabled: Bool, keyNames: [String] = [], dataObjects: [CardDataObject] = []) {
        self.name = name
        self.isDisabled = isDisabled
        self.keyNames = keyNames
        self.dataObjects = dataObjects
    }
}

/// A data object that a card may have beside certificates and keys.
public struct CardDataObject: Sendable, Hashable {
    /// The name by which requests mean it, such as `chuid`.
    public let name: String
    /// The name in the specification of the card, such as `Card Holder Unique Identifier`.
    public let label: String
    /// The tag of GET DATA, in hexadecimal digits; nil where the card has none.
    public let tag: String?
    /// Whether the object can be read only after the PIN.
    public let needsPIN: Bool

    public init(_ name: String, label: String, tag: String? = nil, needsPIN: Bool) {
        self.name = name
        self.label = label
        self.tag = tag
        self.needsPIN = needsPIN
    }
}

/// The content of a data object of a card.
public struct CardDataContent: Sendable, Equatable {
    public let object: CardDataObject
    public let bytes: SharedSecret
    /// The facts in the bytes, in reading order, empty where the driver does not parse them; the error of malformed bytes.
    public let facts: Result<[CardFact], KeychainError>

    public init(_ bytes: SharedSecret, of object: CardDataObject, facts: Result<[CardFact], KeychainError>) {
        self.bytes = bytes
        self.object = object
        self.facts = facts
    }
}
