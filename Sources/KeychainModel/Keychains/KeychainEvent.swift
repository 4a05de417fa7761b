/// Something that happened to a keychain. Keychain semantics 2.4.
public struct KeychainEvent: Sendable, Hashable {
    /// The kind of the event, by the numbers of SecKeychainEvent; those from 24 on are of cards, those from 27
    /// on of readers.
    public enum Kind: Int, Sendable, Hashable, CaseIterable {
        case lock = 1
        case unlock = 2
        case add = 3
        case delete = 4
        case update = 5
        case passwordChanged = 6
        case defaultChanged = 9
        case listChanged = 11
        case tokenInserted = 24
        case tokenRemoved = 25
        /// Reported by the program that used up the last try, to all programs of its user.
        case pinBlocked = 26
        case readerAdded = 27
        case readerRemoved = 28
        /// A card was inserted that does not answer, or ceased to answer.
        case cardMute = 29
        /// The card service cannot be reached. All readers are gone with it.
        case serviceUnavailable = 30
        case serviceAvailable = 31

        /// The name of the kind, for people and programs.
        public var name: String {
            switch self {
            case .lock: "lock"
            case .unlock: "unlock"
            case .add: "add"
            case .delete: "delete"
            case .update: "update"
            case .passwordChanged: "password-changed"
            case .defaultChanged: "default-changed"
            case .listChanged: "list-changed"
            case .tokenInserted: "token-inserted"
            case .tokenRemoved: "token-removed"
            case .pinBlocked: "pin-blocked"
            case .readerAdded: "reader-added"
            case .readerRemoved: "reader-removed"
            case .cardMute: "card-mute"
            case .serviceUnavailable: "service-unavailable"
            case .serviceAvailable: "service-available"
            }
        }

        /// The event as a bit of a mask.
        public var mask: KeychainEventMask { KeychainEventMask(rawValue: 1 << UInt32(rawValue)) }
    }

    public let kind: Kind
    /// The keychain; nil for an event without one, or of a card that could not be read.
    public let keychain: KeychainIdentifier?
    /// The place: a file's path, or the name of a card's reader.
    public let location: String?
    /// The item that was added, changed or deleted.
    public let item: PersistentReference?
    /// The process that did it, where that is known.
    public let process: Int32?
    /// The label of an inserted card, where readers are watched.
    public let label: String?
    /// The reason why an inserted card cannot be used or the card service not be reached, where readers are watched.
    public let reason: String?

    public init(
        _ kind: Kind, keychain: KeychainIdentifier? = nil, location: String? = nil, item: PersistentReference? = nil,
        process: Int32? = nil, label: String? = nil, reason: String? = nil
    ) {
        self.label = label
        self.reason = reason
        self.kind = kind
        self.keychain = keychain
        self.location = location
        self.item = item
        self.process = process
    }
}

/// The events that a callback wants: a bit for each, `1 << number`.
public struct KeychainEventMask: OptionSet, Sendable, Hashable {
    public let rawValue: UInt32

    public init(rawValue: UInt32) {
        self.rawValue = rawValue
    }

    /// Every event, those of later versions included.
    public static let every = KeychainEventMask(rawValue: .max)

    public func contains(_ kind: KeychainEvent.Kind) -> Bool { contains(kind.mask) }
}
