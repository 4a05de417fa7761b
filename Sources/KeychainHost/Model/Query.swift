/// A search for keychain items, checked when it is made: a query that exists has no key that would be ignored.
public struct Query: Sendable, Hashable {
    /// How many items are wanted.
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

    /// What happens to items that need a password or PIN.
    public enum AuthenticationUI: Sendable, Hashable {
        /// The user is asked.
        case allow
        /// Nobody is asked; the operation fails with `errSecInteractionNotAllowed`.
        case fail
        /// Nobody is asked; such items are left out. Only for searches.
        case skip
    }

    /// The class searched for.
    public let itemClass: ItemClass
    /// Attributes that must be equal. `sync` is 0 unless it was named; it is absent if any value will do.
    public let attributes: Attributes
    /// The one item that is meant, if the query names it.
    public let reference: PersistentReference?
    /// A match on the common name of the certificate's subject.
    public let subject: SubjectMatch?
    /// Whether labels and subjects match without regard to case.
    public let ignoresCase: Bool
    /// The keychains to search instead of all of the search list.
    public let keychains: [KeychainIdentifier]?
    public let limit: Limit
    public let authenticationUI: AuthenticationUI

    /// The value of `sync` that matches synchronizable and other items alike.
    public static let anySynchronizable: AttributeValue = "syna"

    /// A query for the items of a class.
    ///
    /// - Throws: `errSecParam` or `errSecNoSuchAttr`, naming the key, for whatever cannot be honoured.
    public init(
        _ itemClass: ItemClass, _ attributes: Attributes = [:], subject: SubjectMatch? = nil,
        ignoringCase: Bool = false, in keychains: [KeychainIdentifier]? = nil, limit: Limit = .one,
        authenticationUI: AuthenticationUI = .allow
    ) throws(KeychainError) {
        self.itemClass = itemClass
        self.attributes = try Self.resolve(attributes, of: itemClass)
        self.subject = try Self.checked(subject, of: itemClass)
        self.keychains = keychains
        self.limit = try Self.checked(limit)
        self.authenticationUI = authenticationUI
        reference = nil
        guard !ignoringCase || subject != nil || attributes[.label] != nil else {
            throw KeychainError(
                .param, "there is neither a label nor a subject to match without regard to case",
                key: "m_CaseInsensitive")
        }
        ignoresCase = ignoringCase
    }

    /// A query for the one item of a persistent reference.
    public init(
        _ reference: PersistentReference, in keychains: [KeychainIdentifier]? = nil,
        authenticationUI: AuthenticationUI = .allow
    ) {
        itemClass = reference.itemClass
        attributes = [:]
        self.reference = reference
        subject = nil
        ignoresCase = false
        self.keychains = keychains
        limit = .one
        self.authenticationUI = authenticationUI
    }

    private static func resolve(
        _ attributes: Attributes, of itemClass: ItemClass
    ) throws(KeychainError) -> Attributes {
        var attributes = attributes
        let matchesAny = attributes[.synchronizable] == anySynchronizable
        attributes[.synchronizable] = matchesAny ? nil : attributes[.synchronizable] ?? 0
        return try itemClass.checked(attributes)
    }

    private static func checked(
        _ subject: SubjectMatch?, of itemClass: ItemClass
    ) throws(KeychainError) -> SubjectMatch? {
        guard let subject else { return nil }
        guard itemClass == .certificate || itemClass == .identity else {
            throw KeychainError(.param, "a \(itemClass.noun) has no subject to match", key: subject.key)
        }
        return subject
    }

    private static func checked(_ limit: Limit) throws(KeychainError) -> Limit {
        if case .atMost(let count) = limit, count < 1 {
            throw KeychainError(.param, "a limit of \(count) items makes no sense", key: "m_Limit")
        }
        return limit
    }
}

/// How the common name of a certificate's subject is compared with a text.
public struct SubjectMatch: Sendable, Hashable {
    /// Which part of the name must be equal.
    public enum Part: String, Sendable, Hashable, CaseIterable {
        case contains = "m_SubjectContains"
        case startsWith = "m_SubjectStartsWith"
        case endsWith = "m_SubjectEndsWith"
        case wholeString = "m_SubjectWholeString"
    }

    public let part: Part
    public let text: String

    public init(_ part: Part, _ text: String) {
        self.part = part
        self.text = text
    }

    /// The query key it stands for.
    var key: String { part.rawValue }

    /// Whether a common name passes.
    func accepts(_ name: String, ignoringCase: Bool) -> Bool {
        let name = ignoringCase ? name.lowercased() : name
        let text = ignoringCase ? self.text.lowercased() : self.text
        return switch part {
        case .contains: text.isEmpty || name.contains(text)
        case .startsWith: name.hasPrefix(text)
        case .endsWith: name.hasSuffix(text)
        case .wholeString: name == text
        }
    }
}
