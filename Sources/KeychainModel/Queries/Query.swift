internal import Localization

/// A search for keychain items, checked when it is made: a query that exists has no key that would be ignored.
public struct Query: Sendable, Hashable {
    /// The number of wanted items.
    public enum Limit: Sendable, Hashable {
        case one
        case all
        /// At most this many, at least one.
        case atMost(Int)

        /// The number; nil for no limit.
        public var count: Int? {
            switch self {
            case .one: 1
            case .all: nil
            case .atMost(let count): count
            }
        }
    }

    /// The class searched for.
    public let itemClass: ItemClass
    /// Attributes that must be equal. `sync` is 0 unless it was named; it is absent if any value will do.
    public let attributes: Attributes
    /// The one item that is meant, if the query names it.
    public let reference: PersistentReference?
    /// The further conditions of a match.
    public let filters: [Filter]
    /// The differences that labels, accounts, services, servers and subjects may have.
    public let folding: Folding
    /// The keychains to search instead of the search list, in this order.
    public package(set) var keychains: [KeychainIdentifier]?
    public internal(set) var limit: Limit
    /// Whether items on tokens are left out, also as half of an identity.
    public package(set) var isLocalOnly = false
    /// Whether the same item in several keychains counts once, as it is found first.
    public package(set) var isDistinct = false
    /// Whether known cards that are in no reader are searched as well.
    public package(set) var includesAbsentTokens = false

    /// The value of `sync` that matches synchronizable and other items alike.
    public static let anySynchronizable: AttributeValue = "syna"

    /// A query for the items of a class.
    ///
    /// - Throws: `errSecParam` or `errSecNoSuchAttr`, naming the key, for whatever cannot be honoured.
    public init(
        _ itemClass: ItemClass, _ attributes: Attributes = [:], filters: [Filter] = [], folding: Folding = [],
        in keychains: [KeychainIdentifier]? = nil, limit: Limit = .one
    ) throws(KeychainError) {
        try self.init(
            itemClass, Self.resolve(attributes, of: itemClass), reference: nil, filters, folding, keychains, limit)
    }

    /// A query for the one item of a persistent reference, if it has these attributes and passes these filters.
    public init(
        _ reference: PersistentReference, _ attributes: Attributes = [:], filters: [Filter] = [],
        folding: Folding = [], in keychains: [KeychainIdentifier]? = nil, limit: Limit = .one
    ) throws(KeychainError) {
        // A reference means its item whether that synchronises or not.
        var attributes = attributes
        if attributes[.synchronizable] == Query.anySynchronizable { attributes[.synchronizable] = nil }
        try self.init(
            reference.itemClass, reference.itemClass.checked(attributes), reference: reference, filters, folding,
            keychains, limit)
    }

    /// A query for the one item of a persistent reference.
    public init(_ reference: PersistentReference, in keychains: [KeychainIdentifier]? = nil) {
        itemClass = reference.itemClass
        attributes = [:]
        self.reference = reference
        (filters, folding) = ([], [])
        self.keychains = keychains
        limit = .one
    }

    private init(
        _ itemClass: ItemClass, _ attributes: Attributes, reference: PersistentReference?, _ filters: [Filter],
        _ folding: Folding, _ keychains: [KeychainIdentifier]?, _ limit: Limit
    ) throws(KeychainError) {
        self.itemClass = itemClass
        self.attributes = attributes
        self.reference = reference
        self.filters = try filters.map { filter throws(KeychainError) in try filter.checked(for: itemClass) }
        self.folding = try Self.checked(
            folding, hasText: attributes.keys.contains(where: \.isFolded) || filters.contains(where: \.isSubject))
        self.keychains = keychains
        self.limit = try Self.checked(limit)
    }

    private static func resolve(
        _ attributes: Attributes, of itemClass: ItemClass
    ) throws(KeychainError) -> Attributes {
        var attributes = attributes
        let matchesAny = attributes[.synchronizable] == anySynchronizable
        attributes[.synchronizable] = matchesAny ? nil : attributes[.synchronizable] ?? 0
        return try itemClass.checked(attributes)
    }

    private static func checked(_ folding: Folding, hasText: Bool) throws(KeychainError) -> Folding {
        guard !folding.isEmpty, !hasText else { return folding }
        let key =
            folding.contains(.case)
            ? "m_CaseInsensitive" : folding.contains(.diacritics) ? "m_DiacriticInsensitive" : "m_WidthInsensitive"
        throw KeychainError(
            .param, "there is no label, account, service, server or subject to compare loosely", key: key)
    }

    private static func checked(_ limit: Limit) throws(KeychainError) -> Limit {
        if case .atMost(let count) = limit, count < 1 {
            throw KeychainError(.param, "the limit has to be at least 1, not \(count)", key: "m_Limit")
        }
        return limit
    }
}

extension Filter {
    fileprivate var isSubject: Bool {
        if case .subject = self { true } else { false }
    }
}

extension Attribute {
    /// Whether its text is compared as ``Query/folding`` says. All others are compared by their bytes.
    fileprivate var isFolded: Bool { [.label, .account, .service, .server].contains(self) }
}

extension Query {
    /// The token that the query names by its id, or by the reference of an item on it.
    package var tokenID: KeychainIdentifier? {
        let named = attributes[.tokenID]?.bytes.map { String(decoding: $0, as: UTF8.self) } ?? reference?.tokenID
        return named.flatMap { $0.isEmpty ? nil : KeychainIdentifier(rawValue: $0) }
    }

    /// Whether an attribute is compared with differences overlooked, for which no index can be used.
    package func folds(_ attribute: Attribute) -> Bool { !folding.isEmpty && attribute.isFolded }

    /// The query without its limit.
    package var withoutLimit: Query {
        var query = self
        query.limit = .all
        return query
    }
}
