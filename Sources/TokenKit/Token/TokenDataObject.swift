/// A data object of a token beside certificates and keys, as the token's specification describes it.
public struct TokenDataObject: Hashable, Sendable {
    public let id: TokenObjectID

    /// The name in the token's specification, such as `Card Holder Unique Identifier`.
    public let label: String

    /// The tag of GET DATA, in hexadecimal digits; nil where the token has none.
    public let tag: String?

    /// The object identifier in DER, tag and length included; empty for an object without one.
    public let objectIdentifier: [UInt8]

    /// Whether the object can be read only after the PIN.
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

/// The result of reading the beginning of a data object.
public enum TokenDataFinding: Hashable, Sendable {
    case absent
    /// The object is there, and has more than was read.
    case present
    /// The object is there, and these are all its bytes.
    case whole([UInt8])
}

/// The defaults: a token has no data objects.
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
