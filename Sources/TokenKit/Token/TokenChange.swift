public import SecureBytes
public import SystemCrypto

/// A change of a token's keys, certificates and data by its administrator.
public enum TokenChange: Sendable {
    /// Nothing: whether the administrator is one is all that is asked.
    case authenticate
    /// Makes a key pair on the token. The former certificate of its place goes first.
    ///
    /// - Parameter allowsWeak: whether a person has agreed to a key that an advisory calls weak on this token.
    case generateKey(
        TokenObjectID, KeyKind, KeyPolicies, replacing: KeyReplacement, allowsWeak: Bool = false)
    /// Puts a key into the token. The former certificate of its place goes first.
    ///
    /// - Parameters:
    ///   - key: PKCS #8 in DER (RFC 5208).
    ///   - allowsWeak: whether a person has agreed to an RSA key that everybody can compute (CVE-2017-15361, ROCA).
    case importKey(TokenObjectID, SharedSecret, KeyPolicies, replacing: KeyReplacement, allowsWeak: Bool = false)
    /// Makes the new key of a renewal, in its place or in a free one. The token keeps the renewal in place of the former certificate, where
    /// it can.
    case renewKey(
        KeyRenewal, in: TokenObjectID, KeyKind, KeyPolicies, replacing: KeyReplacement, allowsWeak: Bool = false)
    /// Sets the certificate of a renewal's new key, in DER, and keeps the renewal beside it until the key is moved.
    case setRenewedCertificate(KeyRenewal, in: TokenObjectID, [UInt8])
    /// Sets the certificate of a key, in DER; nil removes it.
    ///
    /// - Parameter allowsWeak: whether a person has agreed to an RSA key that everybody can compute (CVE-2017-15361, ROCA).
    case setCertificate(TokenObjectID, [UInt8]?, allowsWeak: Bool = false)
    /// Removes a key, and its certificate before it.
    case deleteKey(TokenObjectID, replacing: KeyReplacement)
    /// Moves a key and its certificate to an empty place.
    case moveKey(TokenObjectID, to: TokenObjectID)
    /// Sets the content of a data object; nil removes it.
    case setData(TokenObjectID, [UInt8]?)
    /// Writes the objects by which programs know the token, where it lacks them.
    case identify
    case setManagementKey(NewManagementKey)
    /// Sets the numbers of tries. Tokens set the PIN and the unblocking key to the values that they were delivered with.
    case setTries(pin: Int, unblockingKey: Int)
}

/// A new management key.
public struct NewManagementKey: Sendable {
    public let cipher: BlockCipher
    /// The key; nil for a random one.
    public let value: SharedSecret?
    public let touch: TouchPolicy
    /// Whether the token keeps it, and gives it to whoever has the PIN.
    public let isKeptOnToken: Bool

    public init(_ cipher: BlockCipher, _ value: SharedSecret?, touch: TouchPolicy, isKeptOnToken: Bool) {
        self.cipher = cipher
        self.value = value
        self.touch = touch
        self.isKeptOnToken = isKeptOnToken
    }
}

/// The proof that somebody may administer a token.
public struct TokenAdministrator: ~Copyable, Sendable {
    public enum Key: ~Copyable, Sendable {
        /// The management key that tokens of this kind are delivered with.
        case factory
        /// The one that the token keeps, and gives to whoever has the PIN.
        case onToken
        case value(Secret)
    }

    public let key: Key
    private let pin: PIN?
    /// Whether the last try of the PIN may be spent; nil where there is no PIN.
    public let lastTry: LastTry?
    /// Called when the token is about to check a key that may wait for a touch. Its result is called once the token has answered.
    public var touchNotice: OperationNotice?

    public init(_ key: consuming Key) {
        self.key = key
        pin = nil
        lastTry = nil
    }

    /// - Parameter pin: presented before the key.
    public init(_ key: consuming Key, _ pin: consuming PIN, _ lastTry: LastTry) {
        self.key = key
        self.pin = consume pin
        self.lastTry = lastTry
    }

    public borrowing func clone() -> TokenAdministrator {
        let key: Key =
            switch self.key {
            case .factory: .factory
            case .onToken: .onToken
            case .value(let key): .value(key.clone())
            }
        var clone: TokenAdministrator
        switch pin {
        case .some(let pin): clone = TokenAdministrator(key, pin.clone(), lastTry ?? .keep)
        case .none: clone = TokenAdministrator(key)
        }
        clone.touchNotice = touchNotice
        return clone
    }

    /// Calls `body` with the PIN, where there is one.
    public borrowing func withPIN<E: Error>(_ body: (borrowing PIN) throws(E) -> Void) throws(E) {
        switch pin {
        case .some(let pin): try body(pin)
        case .none: break
        }
    }
}

/// The facts of a token's management key that are known without it.
public struct ManagementKeyStatus: Hashable, Sendable {
    /// Nil where the token does not tell.
    public let cipher: BlockCipher?
    /// Whether it is still the one that the token was delivered with; nil where the token does not tell.
    public let isDefault: Bool?
    /// Whether the token wants a touch for each use of it.
    public let touch: TouchPolicy
    /// Whether the token keeps it, and gives it to whoever has the PIN.
    public let isKeptOnToken: Bool
    /// The ciphers of which a new one may be, the best first.
    public let ciphers: [BlockCipher]
    /// The places for keys, in the order of the token's standard.
    public let keyPlaces: [KeyPlace]
    /// Whether keys can be moved and deleted.
    public let movesKeys: Bool
    /// The kinds of key that are weak where this token makes them.
    public let weakKeys: [KeyKind]

    public init(
        cipher: BlockCipher?, isDefault: Bool?, touch: TouchPolicy, isKeptOnToken: Bool, ciphers: [BlockCipher],
        keyPlaces: [KeyPlace], movesKeys: Bool, weakKeys: [KeyKind]
    ) {
        self.cipher = cipher
        self.isDefault = isDefault
        self.touch = touch
        self.isKeptOnToken = isKeptOnToken
        self.ciphers = ciphers
        self.keyPlaces = keyPlaces
        self.movesKeys = movesKeys
        self.weakKeys = weakKeys
    }
}

/// A place for a key, and what the token's standard has the key for.
public struct KeyPlace: Hashable, Sendable {
    public let id: TokenObjectID
    public let use: KeyRole
    /// The `CKA_ID` of the place's objects; nil where programs are not shown them.
    public let cryptokiID: [UInt8]?

    public init(_ id: TokenObjectID, for use: KeyRole, cryptokiID: [UInt8]?) {
        (self.id, self.use, self.cryptokiID) = (id, use, cryptokiID)
    }
}

/// The result of a change.
public enum TokenChangeOutcome: ~Copyable, Sendable {
    case done
    /// A new key pair's public half, a SubjectPublicKeyInfo in DER (RFC 5280 §4.1).
    case publicKey([UInt8])
    /// A random management key that the token does not keep.
    case managementKey(Secret)
}

extension Token {
    private static var unmanaged: TokenError {
        TokenError(.unsupported, "tokens of this kind are administered with their own tools")
    }

    public mutating func managementKey(_ card: inout CardTransaction) throws(TokenError) -> ManagementKeyStatus {
        throw Self.unmanaged
    }

    public mutating func perform(
        _ change: TokenChange, by administrator: borrowing TokenAdministrator, _ card: inout CardTransaction
    ) throws(TokenError) -> TokenChangeOutcome {
        throw Self.unmanaged
    }

    public mutating func erase(_ card: inout CardTransaction) throws(TokenError) { throw Self.unmanaged }

    public mutating func attestation(
        of key: TokenObjectID, _ card: inout CardTransaction
    ) throws(TokenError) -> [[UInt8]] { throw Self.unmanaged }
}
