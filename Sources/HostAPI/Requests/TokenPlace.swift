public import CryptokiNames
public import KeychainModel
public import SystemCrypto

/// A place for a token of PKCS #11: a reader, with or without a card in it, or a keychain in a file.
public struct TokenPlace: Sendable, Hashable {
    /// The presence of a token.
    public struct Occupancy: Sendable, Hashable {
        public let hasToken: Bool
        /// Counts insertions and removals, and so shows an exchange.
        public let changeCount: Int

        public init(hasToken: Bool, changeCount: Int = 0) {
            self.hasToken = hasToken
            self.changeCount = changeCount
        }
    }

    public let kind: KeychainDescription.Kind
    /// The reader's name, or the path of the file. Requests name the place by it.
    public let location: String
    /// A file's name, or the reader's.
    public let name: String
    public let slotName: CryptokiSlotName
    public let occupancy: Occupancy

    public init(
        _ kind: KeychainDescription.Kind, at location: String, name: String, slotName: CryptokiSlotName,
        occupancy: Occupancy
    ) {
        self.kind = kind
        self.location = location
        self.name = name
        self.slotName = slotName
        self.occupancy = occupancy
    }
}

/// The facts of a token that a request wants. The generation is told always, and without a wait.
public struct TokenFacts: OptionSet, Sendable, Hashable {
    public let rawValue: UInt8

    public init(rawValue: UInt8) {
        self.rawValue = rawValue
    }

    public static let version = TokenFacts(rawValue: 1)
    /// The name of the token, which has to be there. A card is read for it, and once where it stays in.
    public static let name = TokenFacts(rawValue: 2)
    /// The state of the PIN. Costs no try.
    public static let pin = TokenFacts(rawValue: 4)
    public static let keyLimits = TokenFacts(rawValue: 8)
    public static let login = TokenFacts(rawValue: 16)
    static let all = TokenFacts(rawValue: 31)
}

/// The facts of a token, as far as they were wanted.
public struct TokenDescription: Sendable, Hashable {
    /// Counts the different tokens in the place.
    public var generation: Int
    /// The number of this client's login, unique to it; 0 where no login is needed; nil for none, or where it was not wanted.
    public var login: Int?
    /// Changes when another program changes the token's items; nil for a token without such a number.
    public var version: Int64?
    public var name: CryptokiTokenName?
    public var pin: TokenPIN?
    public var keyLimits: TokenKeyLimits?

    public init(generation: Int, login: Int? = nil) {
        self.generation = generation
        self.login = login
    }
}

/// The facts of a token that concern its PIN or password, and its own version.
public struct TokenPIN: Sendable, Hashable {
    /// Whether items cannot be changed.
    public var isReadOnly: Bool
    public var needsLogin: Bool
    /// Whether a person can be asked for the PIN, or type it on the reader.
    public var canAsk: Bool
    /// Nil where the token does not tell.
    public var triesLeft: Int?
    public var maximumTries: Int?
    /// The bytes that a new PIN may have.
    public var lengths: ClosedRange<Int>
    /// The version of the firmware, if known.
    public var version: String?

    public init(
        isReadOnly: Bool, needsLogin: Bool, canAsk: Bool, triesLeft: Int? = nil, maximumTries: Int? = nil,
        lengths: ClosedRange<Int>, version: String? = nil
    ) {
        self.isReadOnly = isReadOnly
        self.needsLogin = needsLogin
        self.canAsk = canAsk
        self.triesLeft = triesLeft
        self.maximumTries = maximumTries
        self.lengths = lengths
        self.version = version
    }
}

/// The items of a token that a request wants.
public struct TokenItemSelection: Sendable, Hashable {
    public struct Kinds: OptionSet, Sendable, Hashable {
        public let rawValue: UInt8

        public init(rawValue: UInt8) {
            self.rawValue = rawValue
        }

        public static let certificates = Kinds(rawValue: 1)
        public static let publicKeys = Kinds(rawValue: 2)
        public static let privateKeys = Kinds(rawValue: 4)
        public static let secretKeys = Kinds(rawValue: 8)
        static let all = Kinds(rawValue: 15)
    }

    /// The data objects of a card. The passwords of a keychain are data objects too, and all of them are found unless none is wanted.
    public enum Data: Sendable, Hashable {
        case none
        /// All that a card of its kind may have. No command is sent.
        case possible
        /// Those that are known to be there. No command is sent.
        case known
        /// Those of the named ones that are there. The card is asked for each that it was not asked for before.
        case among([PersistentReference])
    }

    public var kinds: Kinds
    /// The `CKA_ID` of the items; nil for any. Items with other ids may be found as well.
    public var cryptokiID: [UInt8]?
    /// The one object that is meant; nil for all. Other items may be found as well.
    public var reference: PersistentReference?
    public var data: Data

    public init(
        _ kinds: Kinds, cryptokiID: [UInt8]? = nil, reference: PersistentReference? = nil, data: Data = .none
    ) {
        self.kinds = kinds
        self.cryptokiID = cryptokiID
        self.reference = reference
        self.data = data
    }
}
