public import CryptokiNames
public import KeychainModel

/// A member of the search list and its state.
public struct KeychainDescription: Sendable, Equatable {
    public enum Kind: UInt8, Sendable, CaseIterable {
        /// A local keychain in a file.
        case file = 1
        /// A card in a reader.
        case card = 2
        /// A token of another PKCS #11 module.
        case moduleToken = 3
    }

    /// The kinds of keychains that a request is about.
    public struct Kinds: OptionSet, Sendable, Hashable {
        public let rawValue: UInt8

        public init(rawValue: UInt8) {
            self.rawValue = rawValue
        }

        public static let files = Kinds(rawValue: 1)
        public static let cards = Kinds(rawValue: 2)
        public static let moduleTokens = Kinds(rawValue: 4)
        public static let tokens: Kinds = [.cards, .moduleTokens]
        public static let all: Kinds = [.files, .cards, .moduleTokens]
        /// The cards that were read before, whether or not they are in a reader now, as they were then. No card is asked.
        public static let knownCards = Kinds(rawValue: 8)
    }

    /// The description that a card or a module's token gives of itself, and its place.
    public struct Token: Sendable, Hashable {
        public var manufacturer: String?
        public var model: String?
        /// The serial number printed on the device.
        public var serialNumber: String?
        /// The firmware or application version.
        public var version: String?
        /// The slot that the token is in; nil for a card that is in no reader.
        public var slotName: CryptokiSlotName?
        /// The name of the module that shows the token; nil for a card that is read without one.
        public var module: String?

        public init(
            manufacturer: String? = nil, model: String? = nil, serialNumber: String? = nil, version: String? = nil,
            slotName: CryptokiSlotName? = nil, module: String? = nil
        ) {
            self.manufacturer = manufacturer
            self.model = model
            self.serialNumber = serialNumber
            self.version = version
            self.slotName = slotName
            self.module = module
        }
    }

    public let identifier: KeychainIdentifier
    public let kind: Kind
    /// A file's name, or a card's label.
    public let name: String
    /// A file's path, or the name of a card's reader; empty for a card that is in none.
    public let location: String
    public let status: KeychainStatus
    /// Whether new items that name no keychain go to it.
    public let isDefault: Bool
    /// Nil for a file.
    public let token: Token?
    /// The error of a file that is damaged as a whole.
    public let damage: KeychainError?

    public init(
        _ identifier: KeychainIdentifier, _ kind: Kind, name: String, location: String, status: KeychainStatus,
        isDefault: Bool = false, token: Token? = nil, damage: KeychainError? = nil
    ) {
        self.identifier = identifier
        self.kind = kind
        self.name = name
        self.location = location
        self.status = status
        self.isDefault = isDefault
        self.token = token
        self.damage = damage
    }
}

/// A keychain with the details that only the keychain itself can tell.
public struct KeychainDetails: Sendable, Equatable {
    public let keychain: KeychainDescription
    /// The number of times that a card's PIN may still be tried, where the card tells.
    public let triesLeft: Int?
    /// The names of other modules through which a card can be used.
    public let otherLocations: [String]
    /// When a file locks by itself; nil for a card, and for a file that cannot be read.
    public let settings: KeychainSettings?
    /// The password and the cards of a file; nil for a card.
    public let unlocking: UnlockingDetails?

    public init(
        _ keychain: KeychainDescription, triesLeft: Int? = nil, otherLocations: [String] = [],
        settings: KeychainSettings? = nil, unlocking: UnlockingDetails? = nil
    ) {
        self.keychain = keychain
        self.settings = settings
        self.triesLeft = triesLeft
        self.otherLocations = otherLocations
        self.unlocking = unlocking
    }
}

/// Administration of a card.
public enum CardAdministration: UInt8, Sendable, CaseIterable {
    /// Sets a new PIN by the old one.
    case changePIN = 1
    /// Sets a new unblocking key by the old one.
    case changeUnblockingKey = 2
    /// Sets a new PIN by the unblocking key.
    case unblockPIN = 3
    /// Resets the card, so that it forgets the PIN, whichever program presented it.
    case reset = 4
}

extension KeychainDetails {
    /// The keychain's name in searches: the file's, the reader's, or that of a card that is not inserted.
    package var searchName: String {
        keychain.kind == .file || keychain.location.isEmpty ? keychain.name : keychain.location
    }
}
