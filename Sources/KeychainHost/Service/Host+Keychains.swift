internal import HostAPI
internal import KeychainModel
internal import Localization
internal import SecureBytes
internal import SystemCrypto
internal import TokenKit

extension KeychainError {
    static func noSuchKeychain(_ identifier: KeychainIdentifier) -> KeychainError {
        identifier.isLocal
            ? KeychainError(.noSuchKeychain, "the keychain is not in the search list")
            : .cardNotInserted(identifier.rawValue)
    }
}

extension KeychainSession {
    /// The card that has an identifier.
    ///
    /// - Throws: `errSecParam` for the identifier of a file; `errSecNoSuchKeychain`.
    func card(_ identifier: KeychainIdentifier) throws(KeychainError) -> TokenKeychain {
        guard !identifier.isLocal else {
            throw KeychainError(.param, "the keychain is a file, and not a card", remedy: "name a card")
        }
        guard let token = try keychain(identifier) as? TokenKeychain else { throw .noSuchKeychain(identifier) }
        return token
    }

    /// The one item of a reference.
    ///
    /// - Throws: `errSecItemNotFound`; for a damaged item or one whose card is not inserted, the error that says so.
    func item(_ reference: PersistentReference) throws(KeychainError) -> Item {
        let query = Query(reference)
        var (outcome, failure) = (Outcome<[Item]>([]), KeychainError?.none)
        do throws(KeychainError) {
            outcome = try searchList(for: query).items(matching: query, for: client)
        } catch {
            failure = error
        }
        if let item = outcome.found.first { return item }
        // A client may have found it in a keychain that the search list does not have.
        for keychain in openedKeychains() {
            if let item = try keychain.items(matching: searchList.resolve(query, for: client)).found.first {
                return item
            }
        }
        if let failure { throw failure }
        if let gap = (absentCards(query) + outcome.missing).first(where: { $0.kind != .unrelatedDamagedItem }) {
            throw gap.error
        }
        throw KeychainError(.itemNotFound)
    }

    /// The item of a key on a card, whether or not the card is in a reader.
    ///
    /// - Throws: as ``item(_:)`` does.
    func tokenKeyItem(_ reference: PersistentReference) throws(KeychainError) -> Item {
        var query = Query(reference)
        query.includesAbsentTokens = true
        let outcome = try searchList(for: query).items(matching: query, for: client)
        guard let item = outcome.found.first else { return try keyItem(reference) }
        return item
    }

    /// The item of a key that a reference names directly, or by its identity.
    func keyItem(_ reference: PersistentReference) throws(KeychainError) -> Item {
        guard reference.itemClass == .identity else { return try item(reference) }
        let query = Query(reference)
        let outcome = try searchList(for: query).identities(matching: query, for: client)
        if let identity = outcome.found.first { return identity.key }
        return try item(reference.retyped(as: .certificate)).withoutKey()
    }

    /// The known card that a query names, if it is in no reader; a card that cannot be read, which may be the one.
    func absentCards(_ query: Query) -> [Missing] {
        guard let token = query.tokenID, let card = absentTokens().first(where: { $0.isIdentified(by: token) }) else {
            return []
        }
        let unread = unreadCards()
        return unread.isEmpty
            ? [Missing(.absentKeychain, in: .card, of: card.name, .cardNotInserted(card.name))] : unread
    }

    /// The cards in readers that cannot be identified, as one that another program holds; all of them where there is no card
    /// service.
    func unreadCards() -> [Missing] {
        let unread: [Missing] = searchList.members.compactMap { member in
            guard let card = member as? TokenKeychain else { return nil }
            do throws(KeychainError) {
                _ = try card.identity()
                return nil
            } catch {
                return card.missing(error)
            }
        }
        return searchList.missing.filter { $0.place == .allCards } + unread
    }
}

extension Item {
    /// - Throws: `errSecItemNotFound`, always.
    fileprivate func withoutKey() throws(KeychainError) -> Item {
        throw KeychainError(.itemNotFound, "no keychain has the private key of the certificate '\(label ?? "")'")
    }
}
