public import SecureBytes
public import SystemCrypto

/// A change of a card's keys, certificates and data by its administrator.
public enum CardChange: Sendable, Equatable {
    /// Makes a key pair on the card. The former certificate of its slot goes first.
    case generateKey(slot: String, KeyKind, CardKeyPolicies, replacing: CardKeyReplacement)
    /// Puts a private key into the card. The former certificate of its slot goes first.
    ///
    /// - Parameter key: PKCS #8 in DER (RFC 5208).
    case importKey(slot: String, SharedSecret, CardKeyPolicies, replacing: CardKeyReplacement)
    /// Sets the certificate of a key, in DER; nil removes it.
    case setCertificate(slot: String, [UInt8]?)
    /// Removes a key, and its certificate before it.
    case deleteKey(slot: String, replacing: CardKeyReplacement)
    /// Moves a key and its certificate to an empty slot.
    case moveKey(slot: String, to: String)
    /// Sets the content of a data object, by its ``CardDataObject/name``; nil removes it.
    case setData(String, [UInt8]?)
    /// Writes the objects by which programs know the card, where it lacks them.
    case identify
    case setManagementKey(CardManagementKey)
    /// Sets the numbers of tries, and with them the PIN and the unblocking key to those that the card was delivered with.
    case setTries(pin: Int, unblockingKey: Int)

    /// The tries that a PIN or unblocking key may have.
    public static let possibleTries = 1...255
}

/// The conditions on which a new key is used; nil for those of its slot.
public struct CardKeyPolicies: Sendable, Hashable {
    public var pin: PINPolicy?
    public var touch: TouchPolicy?

    public init(pin: PINPolicy? = nil, touch: TouchPolicy? = nil) {
        (self.pin, self.touch) = (pin, touch)
    }
}

/// The keys that a new one may take the place of.
public enum CardKeyReplacement: UInt8, Sendable, Hashable, CaseIterable {
    case none = 1
    /// Those of which no certificate says that they decrypt.
    case ordinary = 2
    /// All, also those without which data can be read no more.
    case any = 3
}

/// A new management key.
public struct CardManagementKey: Sendable, Equatable {
    /// Nil for the best that the card has.
    public let cipher: BlockCipher?
    /// The key; nil for a random one.
    public let value: SharedSecret?
    public let touch: TouchPolicy
    /// Whether the card keeps it, and gives it to whoever has the PIN.
    public let isKeptOnCard: Bool

    public init(_ cipher: BlockCipher?, _ value: SharedSecret?, touch: TouchPolicy, isKeptOnCard: Bool) {
        self.cipher = cipher
        self.value = value
        self.touch = touch
        self.isKeptOnCard = isKeptOnCard
    }
}

/// The way to a card's management key.
public enum CardAuthority: UInt8, Sendable, Hashable, CaseIterable {
    /// The factory's key where the card tells that it still has that; the key that the card keeps, by the PIN; else a person is asked.
    case found = 1
    /// A person is asked, or a script.
    case asked = 2
}

/// The facts of a card's management key that are known without it.
public struct CardManagementKeyStatus: Sendable, Hashable {
    /// Nil where the card does not tell.
    public let cipher: BlockCipher?
    /// Whether it is still the one that the card was delivered with; nil where the card does not tell.
    public let isDefault: Bool?
    /// Whether the card keeps it, and gives it to whoever has the PIN.
    public let isKeptOnCard: Bool
    /// The slots for keys, in the order of the card's standard.
    public let keyPlaces: [CardKeyPlace]
    /// Whether keys can be moved and deleted.
    public let movesKeys: Bool

    public init(
        cipher: BlockCipher?, isDefault: Bool?, isKeptOnCard: Bool, keyPlaces: [CardKeyPlace], movesKeys: Bool
    ) {
        self.cipher = cipher
        self.isDefault = isDefault
        self.isKeptOnCard = isKeptOnCard
        self.keyPlaces = keyPlaces
        self.movesKeys = movesKeys
    }
}

/// A slot for a key, and the key's use in the card's standard.
public struct CardKeyPlace: Sendable, Hashable {
    public enum Use: UInt8, Sendable, Hashable, CaseIterable {
        case authentication = 1
        /// Signatures by which a person is bound.
        case signature = 2
        case decryption = 3
        /// The authentication of the card itself, without a PIN.
        case presence = 4
        /// The decryption of what was encrypted for a former key.
        case retirement = 5
    }

    public let slot: String
    public let use: Use

    public init(_ slot: String, for use: Use) {
        (self.slot, self.use) = (slot, use)
    }
}

/// The result of a change.
public enum CardChangeOutcome: Sendable, Equatable {
    case done
    /// A new key's public half, a SubjectPublicKeyInfo in DER (RFC 5280 §4.1).
    case publicKey([UInt8])
    /// A random management key that the card does not keep.
    case managementKey(SharedSecret)
}
