internal import KeychainModel

extension KeychainSession {
    /// The keychain of an identifier: a member of the search list, or one that the process has opened beside it. The
    /// default one for nil.
    ///
    /// - Throws: `errSecNoSuchKeychain`, `errSecNoDefaultKeychain`; the error of a card that cannot be read, and may be the one.
    func keychain(_ identifier: KeychainIdentifier?) throws(KeychainError) -> any Keychain {
        guard let identifier else {
            guard let defaultKeychain else {
                throw KeychainError(
                    .noDefaultKeychain, "there is no default keychain to store it in",
                    remedy: "name a keychain, or create one")
            }
            return defaultKeychain
        }
        // A card is not searched for the identifier of a file.
        let members = searchList.members.lazy.filter { !identifier.isLocal || !($0 is any CardKeychain) }
        let listed = members.compactMap { $0.part(identifiedBy: identifier) }.first
        guard let keychain = listed ?? openedKeychains().first(where: { $0.isIdentified(by: identifier) }) else {
            if !identifier.isLocal, let unread = unreadCards().first { throw unread.error }
            throw .noSuchKeychain(identifier)
        }
        return keychain
    }

    /// The keychains that a query visits. A keychain that the query names and that does not exist is left out.
    func searchList(for query: Query) -> SearchList {
        if let identifiers = query.keychains {
            return SearchList(members: identifiers.compactMap { try? keychain($0) })
        }
        guard query.includesAbsentTokens else { return searchList }
        return SearchList(
            tokens: searchList.members.filter { $0 is any CardKeychain } + absentTokens(),
            locals: searchList.members.filter { !($0 is any CardKeychain) }, missing: searchList.missing)
    }

    /// The gaps for keychains that a query names and that do not exist.
    func absentKeychains(_ query: Query) -> [Missing] {
        var missing: [Missing] = []
        for identifier in query.keychains ?? [] {
            do throws(KeychainError) { _ = try keychain(identifier) } catch {
                missing.append(
                    Missing(.absentKeychain, in: identifier.isLocal ? .file : .card, of: identifier.rawValue, error))
            }
        }
        return missing
    }
}
