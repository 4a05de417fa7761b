public import CryptokiNames
public import KeychainModel

/// A search for private keys by a name that they have.
public struct KeyQuery: Sendable, Hashable {
    /// The places that are looked into.
    public enum Places: Sendable, Hashable {
        /// The keychains of these identifiers; nil for the search list.
        case keychains([KeychainIdentifier]?)
        /// The cards that were read before and are in no reader now.
        case absentTokens
        /// The cards that were read before, in a reader or not. No card is asked.
        case knownTokens
    }

    public let selector: KeySelector
    public let places: Places

    public init(_ selector: KeySelector, in places: Places = .keychains(nil)) {
        self.selector = selector
        self.places = places
    }
}

/// A private key that was found, and where it is.
public struct KeyDescription: Sendable, Equatable {
    public let item: Item
    /// The name of the file, or of the reader that has the card; the label of a card that is in none.
    public let keychainName: String
    /// The slot of the key's token; nil for a key in a file, or on a card that is in no reader.
    public let slotName: CryptokiSlotName?

    public init(_ item: Item, keychainName: String, slotName: CryptokiSlotName? = nil) {
        self.item = item
        self.keychainName = keychainName
        self.slotName = slotName
    }

    /// The name of the key's object on a token, or its label.
    public var name: String { item.reference.objectName ?? item.label ?? "key" }

    /// The public half as a DER SubjectPublicKeyInfo.
    public var publicKey: [UInt8] { item.der ?? [] }

    /// Whether both keys are on the same token, and share its PIN. Two modules may show the same reader.
    package func isInSamePlace(as other: KeyDescription) -> Bool {
        guard let own = slotName, let their = other.slotName else { return false }
        return keychainName == other.keychainName
            ? own == their && item.keychain == other.item.keychain
            : !own.description.isEmpty && own.description == their.description
    }
}
