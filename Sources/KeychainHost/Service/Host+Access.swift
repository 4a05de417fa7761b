public import HostAPI
public import KeychainModel
internal import Localization

// Decisions on whether programs may use items.
extension Host {
    public func accessDecisions(
        in keychains: [KeychainIdentifier]?, _ context: RequestContext
    ) throws(KeychainError) -> Outcome<[AccessEntry]> {
        let permission = try requiredPermission
        return try visit(context, onToken: false) { visit throws(KeychainError) in
            var outcome = Outcome<[AccessEntry]>([])
            for keychain in try visit.session.files(keychains) {
                do throws(KeychainError) {
                    guard try keychain.hasPassword else { continue }
                    try keychain.requireDecisions()
                    outcome.found += try keychain.accessEntries()
                } catch {
                    outcome.add(missing: [keychain.missing(error)])
                }
            }
            if keychains == nil { outcome.found += permission.unsaved }
            return outcome
        }
    }

    public func changeAccess(_ change: AccessChange, _ context: RequestContext) throws(KeychainError) -> Int {
        let permission = try requiredPermission
        return try visit(context, onToken: change.isAboutToken ? nil : false) { visit throws(KeychainError) in
            let session = visit.session
            return try session.authentication.change(
                change, by: permission.during(visit.ticket, for: nil, journal)
            ) { reference throws(KeychainError) in try session.accessItem(reference) }
        }
    }

    public func access(
        to item: PersistentReference, _ context: RequestContext
    ) throws(KeychainError) -> ItemAccess {
        let permission = try requiredPermission
        return try visit(context, onToken: item.tokenID == nil ? false : nil) { visit throws(KeychainError) in
            try permission.access(to: visit.session.accessItem(item))
        }
    }

    package func mayAlwaysSign(
        with key: PersistentReference, in place: String?, from machine: String
    ) throws(KeychainError) -> Bool {
        guard let permission else { return false }
        return permission.isAlwaysAllowed(.sign, of: try accessItem(key, in: place), to: machine)
    }

    package func allowAlwaysSigning(
        with key: PersistentReference, in place: String?, from machine: RemoteMachine
    ) throws(KeychainError) {
        try requiredPermission.allowAlways(.sign, of: try accessItem(key, in: place), to: machine)
    }

    private func accessItem(_ key: PersistentReference, in place: String?) throws(KeychainError) -> AccessItem {
        let context = RequestContext(questions: .never)
        guard let place else {
            return try visit(context, onToken: key.tokenID != nil) { visit throws(KeychainError) in
                try visit.session.accessItem(key)
            }
        }
        return try run(context) { _ throws(KeychainError) in
            try placeTable.place(at: place).accessItem(key)
        }
    }

    private var requiredPermission: Permission {
        get throws(KeychainError) {
            guard let permission else {
                throw KeychainError(
                    .notAvailable, "a host that serves one program alone asks about none, and has no decisions",
                    remedy:
                        "start the session's host with 'tokenctl host start', and do not set TOKENKIT_HOST to private")
            }
            return permission
        }
    }
}

extension AccessChange {
    fileprivate var isAboutToken: Bool {
        switch self {
        case .allow(_, let items), .deny(_, let items), .reset(_, let items?): items.contains { $0.tokenID != nil }
        case .reset(_, nil): false
        case .replace(_, let item): item.tokenID != nil
        }
    }
}

extension KeychainSession {
    /// The keychains in files that have these identifiers.
    ///
    /// - Parameter identifiers: nil for those of the search list.
    /// - Throws: `errSecNoSuchKeychain`; `errSecParam` for a card.
    fileprivate func files(_ identifiers: [KeychainIdentifier]?) throws(KeychainError) -> [LocalKeychain] {
        guard let identifiers else { return searchList.members.compactMap { $0 as? LocalKeychain } }
        return try identifiers.map { (identifier) throws(KeychainError) in
            guard let file = try keychain(identifier) as? LocalKeychain else {
                throw KeychainError(.param, "a card keeps no decisions", remedy: "name a keychain file")
            }
            return file
        }
    }

    /// The item of a reference in decisions about programs.
    ///
    /// - Throws: `errSecParam` for an item that each program may use; `errSecInteractionNotAllowed` for one of a locked keychain;
    ///   `errSecItemNotFound`.
    fileprivate func accessItem(_ reference: PersistentReference) throws(KeychainError) -> AccessItem {
        if reference.tokenID != nil {
            guard reference.itemClass == .key,
                let key = try searchList.keys(.reference(reference)).found.first as? TokenKeychainKey
            else { throw KeychainError(.param, "only keys of a card are used by a program's permission") }
            return AccessItem(key)
        }
        let item = try item(reference)
        guard item.needsPermission, let keychain = try keychain(of: item) as? LocalKeychain else {
            throw KeychainError(.param, "each program may use '\(item.journalName)': it has no secret")
        }
        try keychain.requireDecisions()
        return AccessItem(item, in: keychain)
    }
}

extension LocalKeychain {
    /// - Throws: `errSecParam` for a keychain without a password, of which no decisions are kept; `errSecInteractionNotAllowed` while the
    ///   keychain is locked.
    func requireDecisions() throws(KeychainError) {
        guard try hasPassword else {
            throw KeychainError(
                .param, "each program may use the items of '\(name)': it has no password",
                remedy: "give it one with set-keychain-password")
        }
        guard !isLocked else {
            throw KeychainError(
                .interactionNotAllowed, "the keychain '\(name)' is locked, and its decisions are sealed",
                remedy: "unlock it with unlock-keychain")
        }
    }
}
