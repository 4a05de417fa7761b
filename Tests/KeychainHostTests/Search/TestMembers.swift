import KeychainModel
import SecureBytes
import SystemCrypto

@testable import KeychainHost

/// A keychain that fails whenever it is searched.
struct AlwaysFails: Keychain {
    var name = "broken"
    var isReadOnly = true
    var code = ErrSec.deviceFailed

    func items(matching query: ResolvedQuery) throws(KeychainError) -> Outcome<[Item]> { throw KeychainError(code) }
    func missing(_ error: KeychainError) -> Missing { Missing(.unreadableKeychain, in: .file, of: name, error) }
    var isLocked: Bool { false }
    func reasonToSkip(_ query: Query) -> String? { nil }
    func plan(for query: Query) -> [String] { [] }
    func isIdentified(by identifier: KeychainIdentifier) -> Bool { false }
    func secret(of item: Item, use: String, authentication: AuthenticationContext) throws(KeychainError) -> Secret? {
        throw KeychainError(code)
    }
    func unlock(use: String, authentication: AuthenticationContext) throws(KeychainError) { throw KeychainError(code) }
    func keys(_ selector: KeySelector) throws(KeychainError) -> [any KeychainKey] { throw KeychainError(code) }
    func checkWritable() throws(KeychainError) { throw KeychainError(code) }
    func prepared(_ item: NewItem, authentication: AuthenticationContext) throws(KeychainError) -> NewItem {
        throw KeychainError(code)
    }
    var writableIdentifier: KeychainIdentifier? { nil }
    func sealedSecrets(
        for changes: ItemChanges, matching query: ResolvedQuery, authentication: AuthenticationContext
    ) throws(KeychainError) -> SealedSecrets { throw KeychainError(code) }
    func carryOut<Final: Sendable>(
        _ steps: [KeychainStep], then others: @Sendable ([KeychainStep.Result]) throws(KeychainError) -> Final
    ) throws(KeychainError) -> Final { throw KeychainError(code) }
}

extension TestKeychain {
    @discardableResult
    func add(_ certificate: Certificate, _ attributes: Attributes = [:]) throws -> Item {
        try keychain.add(.certificate(certificate, attributes))
    }

    @discardableResult
    func add(_ key: PrivateKey, _ attributes: Attributes = [:]) throws -> Item {
        try keychain.add(.privateKey(key, attributes))
    }

    func count(_ itemClass: ItemClass) throws -> Int {
        try keychain.items(matching: Query(itemClass, limit: .all)).found.count
    }
}

extension SearchList {
    func certificates(_ attributes: Attributes = [:], limit: Query.Limit = .all) throws -> [Item] {
        try items(matching: Query(.certificate, attributes, limit: limit)).found
    }

    func identities(_ attributes: Attributes = [:], limit: Query.Limit = .all) throws -> [Identity] {
        try identities(matching: Query(.identity, attributes, limit: limit)).found
    }
}

extension SearchList {
    /// Changes all items a query finds, or none of them, and returns their number.
    @discardableResult
    func update(
        matching query: Query, to changes: ItemChanges, for client: SearchClient = SearchClient(),
        authentication: AuthenticationContext = AuthenticationContext()
    ) throws(KeychainError) -> Int {
        try Self.change([(.update(query, changes), self)], for: client, authentication: authentication)
            .reduce(0) { $0 + $1.count }
    }

    /// Deletes all items a query finds, or none of them, and returns their number.
    @discardableResult
    func delete(
        matching query: Query, for client: SearchClient = SearchClient(), sharedWith others: SearchList? = nil
    ) throws(KeychainError) -> Int {
        try Self.change([(.delete(query), self)], for: client, sharedWith: others).reduce(0) { $0 + $1.count }
    }
}
