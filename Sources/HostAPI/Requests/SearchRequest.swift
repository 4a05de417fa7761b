public import KeychainModel
public import SecureBytes

/// A search whose answer carries all that its client wants of each item, so that one request is enough.
public struct SearchRequest: Sendable, Equatable {
    public var query: Query
    public var secrets: Secrets
    /// Whether items are left out for which a person would have to be asked. The next matches take their place.
    public var leavesOutGuarded: Bool
    /// Whether the keychains of the items are described.
    public var describesKeychains: Bool
    /// Whether the authentication context of the request is for this search alone, so that the host ends it with the last page.
    public var endsAuthentication: Bool
    /// The ``SearchPage/next`` of the page before; nil for the first page.
    public var start: SearchPosition?

    /// The items whose secrets are read. No secret is read of a certificate and of a public key, whose data are in the item.
    public enum Secrets: UInt8, Sendable, CaseIterable {
        case none = 0
        /// Items whose secret may leave their keychain.
        case extractable = 1
        /// All items: the search fails for a secret that may not leave its keychain.
        case all = 2
    }

    public init(
        _ query: Query, secrets: Secrets = .none, leavingOutGuarded leavesOutGuarded: Bool = false,
        describingKeychains describesKeychains: Bool = false, endingAuthentication endsAuthentication: Bool = false,
        after start: SearchPosition? = nil
    ) {
        self.query = query
        self.secrets = secrets
        self.leavesOutGuarded = leavesOutGuarded
        self.describesKeychains = describesKeychains
        self.endsAuthentication = endsAuthentication
        self.start = start
    }
}

/// The end of a page of a search.
public struct SearchPosition: Sendable, Equatable {
    /// The matches so far, with those that were left out.
    public let matchCount: Int
    /// The findings so far, which count towards the limit.
    public let foundCount: Int

    public init(matchCount: Int, foundCount: Int) {
        self.matchCount = matchCount
        self.foundCount = foundCount
    }
}

/// A part of a search's answer: only secrets beyond what one message carries make a further page.
public struct SearchPage: Sendable, Equatable {
    public var found: [FoundItem]
    /// The keychains of the items, where they are wanted and still there.
    public var keychains: [KeychainDetails]
    /// The position after which the search goes on; nil on the last page.
    public var next: SearchPosition?

    public init(_ found: [FoundItem] = [], keychains: [KeychainDetails] = [], next: SearchPosition? = nil) {
        self.found = found
        self.keychains = keychains
        self.next = next
    }
}

/// A finding of a search.
public struct FoundItem: Sendable, Equatable {
    /// The item, or the certificate of an identity, which gives data, label and keychain.
    public var item: Item
    /// The private key of an identity.
    public var key: Item?
    /// The secret in the form in which it leaves the keychain; nil where it is not wanted, where there is none, and where it may not leave.
    public var secret: SharedSecret?

    public init(_ item: Item, key: Item? = nil, secret: SharedSecret? = nil) {
        self.item = item
        self.key = key
        self.secret = secret
    }

    public init(_ identity: Identity) { self.init(identity.certificate, key: identity.key) }

    public var identity: Identity? { key.map { Identity(certificate: item, key: $0) } }

    public var reference: PersistentReference { identity?.reference ?? item.reference }
}

extension KeychainService {
    /// The whole answer to a search, page by page.
    public func searchAll(
        _ request: SearchRequest, _ context: RequestContext = RequestContext()
    ) throws(KeychainError) -> Outcome<SearchPage> {
        var answer = try search(request, context)
        while let start = answer.found.next {
            var rest = request
            rest.start = start
            let page = try search(rest, context)
            answer.found.found += page.found.found
            for keychain in page.found.keychains
            where !answer.found.keychains.contains(where: { $0.keychain.identifier == keychain.keychain.identifier }) {
                answer.found.keychains.append(keychain)
            }
            answer.found.next = page.found.next
            answer.add(missing: page.missing)
        }
        return answer
    }
}
