internal import CryptokiNames
internal import ItemDictionaries
internal import KeychainModel
internal import Localization

/// The arguments of `item` and `explain`: keys and values of SecItem, and URIs of the items that are meant.
struct ItemQueries {
    let uris: [PKCS11URI]
    private let query: ItemDictionary
    /// The names of the keychains to search, where the query names any.
    private let searchList: [String]?

    init(_ arguments: [String]) throws {
        uris = try PKCS11URI.all(in: arguments)
        var query = try ItemArguments.dictionary(arguments.filter { !PKCS11URI.isURI($0) })
        if case .string(let names) = query.removeValue(forKey: "m_SearchList") {
            searchList = names.split(separator: ",").map(String.init)
        } else {
            searchList = nil
        }
        self.query = query
    }

    /// The query, or where URIs name items, a query for each of them.
    ///
    /// - Throws: `errSecItemNotFound` for URIs that name nothing.
    func dictionaries(in session: CommandKeychains) throws -> [ItemDictionary] {
        var query = query
        if let searchList {
            let searched = try CommandKeychains(keychains: searchList, of: session.access, session.gaps)
            let identifiers = searched.reporting(try searched.identifiers())
            query["m_SearchList"] = .array(identifiers.map { .reference(.keychain($0)) })
        }
        guard !uris.isEmpty else { return [query] }
        let named = try session.limited(to: uris)
        let names = try ObjectURIs(named)
        let items = try classes.flatMap { itemClass in
            try named.items(
                matching: Query(itemClass, [.synchronizable: Query.anySynchronizable], limit: .all)
            ).found.filter { item in uris.contains { names.matches($0, item) } }
        }
        try session.require(!items.isEmpty, namedBy: uris)
        return items.map { item in
            query.merging(["class": .string(item.itemClass.rawValue)]) { $1 }
                .merging(["v_PersistentRef": .data(item.reference.encoded())]) { $1 }
        }
    }

    /// The only query, for items to be changed or deleted. Several are an error: one could fail after another has succeeded.
    func dictionary(in session: CommandKeychains) throws -> ItemDictionary {
        if let uri = uris.first(where: { !$0.tellsTokensApart && !$0.tellsObjectsApart }) {
            throw CommandError("'\(uri)' does not say which item", advice: "give one with a token, an id or an object")
        }
        let queries = try dictionaries(in: session)
        guard let query = queries.first else { throw KeychainError(.itemNotFound, "no item matches") }
        guard queries.count == 1 else {
            throw CommandError(
                "the URIs name \(queries.count) items", advice: "choose one of them: 'tokenctl item' lists them")
        }
        return query
    }

    /// The classes that the items may be of.
    private var classes: [ItemClass] {
        if case .string(let name) = query["class"] { return ItemClass(rawValue: name).map { [$0] } ?? [] }
        return [.certificate, .key, .genericPassword, .internetPassword]
    }
}
