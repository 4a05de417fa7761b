/// Something a search can be made of: a ``Query``, or a ``TypedQuery``.
public protocol QueryForm: Sendable {
    /// - Throws: `errSecParam`, `errSecNoSuchAttr` or `errSecUnimplemented`, naming the key, for what cannot be honoured.
    func checked() throws(KeychainError) -> Query
}

extension Query: QueryForm {
    public func checked() throws(KeychainError) -> Query { self }

    /// All generic passwords, to be narrowed down.
    public static var genericPasswords: TypedQuery<GenericPasswords> { TypedQuery() }
    /// All internet passwords, to be narrowed down.
    public static var internetPasswords: TypedQuery<InternetPasswords> { TypedQuery() }
    /// All certificates, to be narrowed down.
    public static var certificates: TypedQuery<Certificates> { TypedQuery() }
    /// All keys, to be narrowed down.
    public static var keys: TypedQuery<Keys> { TypedQuery() }
    /// All identities, to be narrowed down.
    public static var identities: TypedQuery<Identities> { TypedQuery() }
}

/// A search for items of one kind, built so that only their attributes and filters compile.
///
///     let mail = try host.items(.genericPasswords.where(.service, "mail").where(.account, "anna"))
///     let signers = try host.identities(.identities.subject(.contains, "anna").where(.canSign, true))
public struct TypedQuery<Kind: ItemKind>: QueryForm {
    private var attributes: Attributes = [:]
    private var filters: [Filter] = []
    private var folding: Folding = []
    private var keychains: [KeychainIdentifier]?
    private var limit = Query.Limit.all
    private var isDistinct = false

    init() {}

    public func checked() throws(KeychainError) -> Query {
        var query = try Query(
            Kind.itemClass, attributes, filters: filters, folding: folding, in: keychains, limit: limit)
        query.isDistinct = isDistinct
        return query
    }

    /// Limits the search to items whose attribute has the value.
    public func `where`<Value>(_ attribute: ItemAttribute<Kind, Value>, _ value: Value) -> Self {
        changed { $0.attributes[attribute.attribute] = value.attributeValue }
    }

    /// Adds the items that synchronise, which are left out otherwise.
    public func includingSynchronizable() -> Self {
        changed { $0.attributes[.synchronizable] = Query.anySynchronizable }
    }

    /// Limits the search to some keychains.
    public func `in`(_ keychains: KeychainIdentifier...) -> Self { changed { $0.keychains = keychains } }

    /// Limits the search to the items of a list.
    public func among(_ items: ItemList) -> Self { filtered(.items(items)) }

    /// Limits the search to the first `count` items.
    public func first(_ count: Int = 1) -> Self { changed { $0.limit = count == 1 ? .one : .atMost(count) } }

    /// Finds an item that is on several cards or in several files once, where it is found first.
    public func distinct() -> Self { changed { $0.isDistinct = true } }

    /// Overlooks these differences in labels, accounts, services, servers and subjects.
    public func ignoring(_ folding: Folding) -> Self { changed { $0.folding.formUnion(folding) } }

    private func filtered(_ filter: Filter) -> Self { changed { $0.filters.append(filter) } }

    private func changed(_ change: (inout Self) -> Void) -> Self {
        var copy = self
        change(&copy)
        return copy
    }
}

extension TypedQuery where Kind: CertificateKind {
    /// Limits the search to certificates whose subject's common name matches.
    public func subject(_ part: SubjectMatch.Part, _ text: String) -> Self { filtered(.subject(part, text)) }

    /// Limits the search to certificates that one of the names, in DER, issued, directly or further up.
    public func issued(by names: [[UInt8]]) -> Self { filtered(.issuers(names)) }

    /// Limits the search to certificates with an e-mail address.
    public func emailAddress(_ address: String) -> Self { filtered(.emailAddress(address)) }

    /// Limits the search to certificates for a purpose.
    public func policy(_ policy: CertificatePolicy) -> Self { filtered(.policy(policy)) }

    /// Limits the search to certificates that are valid at a time.
    public func valid(on date: ItemDate) -> Self { filtered(.validOn(date.seconds)) }

    /// Limits the search to certificates that are valid now.
    public func validNow() -> Self { filtered(.validNow) }

    /// Limits the search to certificates whose chain leads to a root that the client trusts.
    public func trusted() -> Self { filtered(.trusted) }
}

extension TypedQuery where Kind == InternetPasswords {
    /// Limits the search to passwords for a host and its subdomains.
    public func hostOrSubdomain(of host: String) -> Self { filtered(.hostOrSubdomain(host)) }
}

extension QueryForm where Self == TypedQuery<GenericPasswords> {
    public static var genericPasswords: Self { Query.genericPasswords }
}

extension QueryForm where Self == TypedQuery<InternetPasswords> {
    public static var internetPasswords: Self { Query.internetPasswords }
}

extension QueryForm where Self == TypedQuery<Certificates> {
    public static var certificates: Self { Query.certificates }
}

extension QueryForm where Self == TypedQuery<Keys> {
    public static var keys: Self { Query.keys }
}

extension QueryForm where Self == TypedQuery<Identities> {
    public static var identities: Self { Query.identities }
}
