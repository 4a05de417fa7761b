internal import HostAPI
internal import KeychainModel
internal import Localization

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
        if let copy = copies().first(where: { $0.identifier == identifier }) { return copy }
        return try listed(identifier)
    }

    /// The keychain that an item was found in.
    func keychain(of item: Item) throws(KeychainError) -> any Keychain {
        if !item.isOnToken, let copy = copy(with: item.reference) { return copy }
        return try listed(item.keychain)
    }

    private func listed(_ identifier: KeychainIdentifier) throws(KeychainError) -> any Keychain {
        // A card is not searched for the identifier of a file.
        let members = searchList.members.lazy.filter { !identifier.isLocal || !($0 is any CardKeychain) }
        let listed = members.compactMap { $0.part(identifiedBy: identifier) }.first
        let opened = listed ?? openedKeychains().first { $0.isIdentified(by: identifier) }
        guard let keychain = opened ?? defaultKeychain?.part(identifiedBy: identifier) else {
            if !identifier.isLocal, let unread = unreadCards().first { throw unread.error }
            throw .noSuchKeychain(identifier)
        }
        return keychain
    }

    /// The files that the client has named and of which the search list has a copy with the same identifier.
    ///
    /// A request that names the keychain, or an item in it, means the named file. Other requests visit the search list as it is.
    private func copies() -> [LocalKeychain] {
        namedKeychains().filter { named in
            searchList.members.contains { member in
                guard let listed = member as? LocalKeychain else { return false }
                return listed.identifier == named.identifier && listed.path != named.path
            }
        }
    }

    /// The named copy that has the item of a reference.
    private func copy(with reference: PersistentReference) -> LocalKeychain? {
        let item = reference.itemClass == .identity ? reference.retyped(as: .certificate) : reference
        return copies().first { copy in
            let found = try? copy.items(matching: ResolvedQuery(Query(item), accessGroups: client.accessGroups)).found
            return found?.isEmpty == false
        }
    }

    /// The keychains that a query visits. A keychain that the query names and that does not exist is left out.
    func searchList(for query: Query) -> SearchList {
        if let identifiers = query.keychains { return SearchList(members: named(identifiers).members) }
        if let reference = query.reference, reference.tokenID == nil, let copy = copy(with: reference) {
            let members = searchList.members.map { member in
                (member as? LocalKeychain)?.identifier == copy.identifier ? copy : member
            }
            return SearchList(locals: members, missing: searchList.missing)
        }
        guard query.includesAbsentTokens else { return searchList }
        return SearchList(
            tokens: searchList.members.filter { $0 is any CardKeychain } + absentTokens(),
            locals: searchList.members.filter { !($0 is any CardKeychain) }, missing: searchList.missing)
    }

    /// The keychains that a search for keys visits.
    func searchList(for places: KeyQuery.Places) -> SearchList {
        switch places {
        case .keychains(nil): searchList
        case .keychains(let identifiers?): namedList(identifiers)
        case .absentTokens: SearchList(members: absentTokens())
        case .knownTokens: SearchList(members: AbsentTokenKeychain.all(of: knownTokens(), besides: []))
        }
    }

    private func namedList(_ identifiers: [KeychainIdentifier]) -> SearchList {
        let (members, missing) = named(identifiers)
        return SearchList(locals: members, missing: missing)
    }

    /// The gaps for keychains that a query names and that do not exist. A card, which has no passwords, is not looked for where they are
    /// wanted.
    func absentKeychains(_ query: Query) -> [Missing] {
        named((query.keychains ?? []).filter { $0.isLocal || !query.itemClass.isPassword }).missing
    }

    /// The keychains that a request names, and the gaps for those that do not exist.
    private func named(_ identifiers: [KeychainIdentifier]) -> (members: [any Keychain], missing: [Missing]) {
        var (members, missing): ([any Keychain], [Missing]) = ([], [])
        var seen: Set<KeychainIdentifier> = []
        for identifier in identifiers where seen.insert(identifier).inserted {
            do throws(KeychainError) { members += try all(identifier) } catch {
                missing.append(
                    Missing(.absentKeychain, in: identifier.isLocal ? .file : .card, of: identifier.rawValue, error))
            }
        }
        return (members, missing)
    }

    /// The keychains of an identifier. Several blank or copied cards share one.
    private func all(_ identifier: KeychainIdentifier) throws(KeychainError) -> [any Keychain] {
        guard !identifier.isLocal else { return [try keychain(identifier)] }
        let cards = searchList.members.compactMap { $0.part(identifiedBy: identifier) }
        return cards.isEmpty ? [try keychain(identifier)] : cards
    }
}
