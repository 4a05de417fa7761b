package import Localization
public import SecureBytes
public import SystemCrypto

/// A change of a card's keys, certificates and data by its administrator.
public enum CardChange: Sendable, Equatable {
    /// Changes nothing, and checks the management key.
    case authenticate
    /// Makes a key pair on the card. The former certificate of its slot goes first.
    ///
    /// - Parameter allowsWeak: whether a person has agreed to a key that an advisory calls weak on this card.
    case generateKey(slot: String, KeyKind, KeyPolicies, replacing: KeyReplacement, allowsWeak: Bool = false)
    /// Puts a private key into the card. The former certificate of its slot goes first.
    ///
    /// - Parameters:
    ///   - key: PKCS #8 in DER (RFC 5208).
    ///   - allowsWeak: whether a person has agreed to an RSA key that everybody can compute (CVE-2017-15361, ROCA).
    case importKey(slot: String, SharedSecret, KeyPolicies, replacing: KeyReplacement, allowsWeak: Bool = false)
    /// Makes the new key of a renewal, in the slot itself or in a free one. The card keeps the renewal in place of the former certificate of
    /// that slot, where it can.
    case renewKey(
        KeyRenewal, in: String, KeyKind, KeyPolicies, replacing: KeyReplacement, allowsWeak: Bool = false)
    /// Sets the certificate of a renewal's new key, in DER, and keeps the renewal beside it until the key is moved.
    case setRenewedCertificate(KeyRenewal, in: String, [UInt8])
    /// Sets the certificate of a key, in DER; nil removes it.
    ///
    /// - Parameter allowsWeak: whether a person has agreed to an RSA key that everybody can compute (CVE-2017-15361, ROCA).
    case setCertificate(slot: String, [UInt8]?, allowsWeak: Bool = false)
    /// Removes a key, and its certificate before it.
    case deleteKey(slot: String, replacing: KeyReplacement)
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

    /// The form in which people give one.
    package static let form: LocalizedText = "a management key has 32, 48 or 64 hexadecimal digits"
}

extension Secret {
    /// A management key in hexadecimal digits; nil for what has another form.
    package init?(managementKey digits: borrowing Secret) {
        guard let key = Secret(hexadecimal: digits),
            BlockCipher.allCases.contains(where: { $0.keyLength == key.count })
        else { return nil }
        self = key
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
    /// Whether the card wants a touch for each use of it.
    public let touch: TouchPolicy
    /// Whether the card keeps it, and gives it to whoever has the PIN.
    public let isKeptOnCard: Bool
    /// The ciphers of which a new one may be, the best first.
    public let ciphers: [BlockCipher]
    /// The slots for keys, in the order of the card's standard.
    public let keyPlaces: [CardKeyPlace]
    /// Whether keys can be moved and deleted.
    public let movesKeys: Bool
    /// The kinds of key that are weak where this card makes them.
    public let weakKeys: [KeyKind]

    public init(
        cipher: BlockCipher?, isDefault: Bool?, touch: TouchPolicy, isKeptOnCard: Bool, ciphers: [BlockCipher],
        keyPlaces: [CardKeyPlace], movesKeys: Bool, weakKeys: [KeyKind]
    ) {
        self.cipher = cipher
        self.isDefault = isDefault
        self.touch = touch
        self.isKeptOnCard = isKeptOnCard
        self.ciphers = ciphers
        self.keyPlaces = keyPlaces
        self.movesKeys = movesKeys
        self.weakKeys = weakKeys
    }
}

/// A slot for a key, and what the card's standard has the key for.
public struct CardKeyPlace: Sendable, Hashable {
    public let slot: String
    public let use: KeyRole

    public init(_ slot: String, for use: KeyRole) {
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
