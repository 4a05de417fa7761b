/// What a token may hold beside certificates and keys, as its specification has it.
public struct TokenDataObject: Hashable, Sendable {
    public let id: TokenObjectID

    /// What the token's specification calls it, `Card Holder Unique Identifier`.
    public let label: String

    /// The tag of GET DATA, in hexadecimal digits; nil where the token has none.
    public let tag: String?

    /// Its object identifier in DER, tag and length included; nothing where it has none.
    public let objectIdentifier: [UInt8]

    /// Whether it is read only after the PIN.
    public let needsPIN: Bool

    public init(
        id: TokenObjectID, label: String, tag: String? = nil, objectIdentifier: [UInt8] = [], needsPIN: Bool
    ) {
        self.id = id
        self.label = label
        self.tag = tag
        self.objectIdentifier = objectIdentifier
        self.needsPIN = needsPIN
    }
}

/// What a look at the beginning of a data object told.
public enum TokenDataFinding: Hashable, Sendable {
    case absent
    /// It is there, and has more than was read.
    case present
    /// It is there, and this is all of it.
    case whole([UInt8])
}

/// Tokens without data objects, as all are unless they say otherwise.
extension Token {
    public var possibleData: [TokenDataObject] { [] }

    public var knownData: Set<TokenObjectID> { [] }

    public mutating func look(
        for data: TokenObjectID, _ card: inout CardTransaction
    ) throws(TokenError) -> TokenDataFinding { .absent }

    public mutating func content(
        of data: TokenObjectID, _ card: inout CardTransaction
    ) throws(TokenError) -> [UInt8]? { nil }
}
