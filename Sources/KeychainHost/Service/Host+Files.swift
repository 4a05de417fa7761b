public import HostAPI
public import KeychainModel
public import SecureBytes

// Requests about keychains in files, and about the settings that choose them.
extension Host {
    public func path(ofKeychain name: String, _ context: RequestContext) throws(KeychainError) -> String {
        try requests.run(context) { _ throws(KeychainError) in keychains.preferences.absolutePath(name) }
    }

    public func openKeychain(
        at path: String?, _ context: RequestContext
    ) throws(KeychainError) -> KeychainDetails {
        try visit(context, onToken: false) { visit throws(KeychainError) in
            let preferences = keychains.preferences
            let path = if let path { preferences.absolutePath(path) } else { try preferences.defaultKeychain() }
            return visit.session.details(of: try keychains.keychain(at: path))
        }
    }

    public func createKeychain(
        _ name: String, password: SharedSecret?, _ context: RequestContext
    ) throws(KeychainError) -> KeychainDetails {
        try visit(context, onToken: false) { visit throws(KeychainError) in
            let preferences = keychains.preferences
            let path = preferences.absolutePath(name)
            try preferences.checkFree(path)
            let chosen =
                if let password { password.secret.clone() } else {
                    try visit.session.authentication.prompter.ask(PromptRequest(.newPassword, subject: name))
                }
            let created = try preferences.create(path, password: chosen)
            keychains.adopt(created)
            return visit.session.details(of: created)
        }
    }

    public func deleteKeychain(_ name: String, _ context: RequestContext) throws(KeychainError) {
        try requests.run(context) { _ throws(KeychainError) in try keychains.preferences.delete(name) }
    }

    public func configure(
        _ keychain: KeychainIdentifier, _ settings: KeychainSettings, _ context: RequestContext
    ) throws(KeychainError) {
        try visit(context, onToken: false) { visit throws(KeychainError) in
            let file = try visit.session.file(keychain)
            try file.unlockToChange(
                use: visit.use("change its settings"), authentication: visit.session.authentication)
            try file.change(settings)
        }
    }

    public func keychainChoice(
        in domain: PreferencesDomain?, _ context: RequestContext
    ) throws(KeychainError) -> KeychainChoice {
        try requests.run(context) { _ throws(KeychainError) in
            let preferences = keychains.preferences
            guard let domain else {
                return KeychainChoice(
                    searchList: try preferences.searchList(),
                    defaultKeychain: try KeychainChoice.unlessMissing(preferences.defaultKeychain),
                    loginKeychain: try preferences.loginKeychain())
            }
            return KeychainChoice(
                searchList: try preferences.searchList(in: domain),
                defaultKeychain: try KeychainChoice.unlessMissing { () throws(KeychainError) in
                    try preferences.defaultKeychain(in: domain)
                },
                loginKeychain: domain == .user ? try preferences.loginKeychain() : nil)
        }
    }

    public func choose(
        _ change: KeychainChoice.Change, in domain: PreferencesDomain, _ context: RequestContext
    ) throws(KeychainError) {
        try requests.run(context) { _ throws(KeychainError) in
            let preferences = keychains.preferences
            switch change {
            case .searchList(let names): try preferences.setSearchList(names, in: domain)
            case .defaultKeychain(let name): try preferences.setDefaultKeychain(name, in: domain)
            case .loginKeychain(let name):
                guard domain == .user else {
                    throw KeychainError(.invalidPreferencesDomain, "only a user has a login keychain")
                }
                try preferences.setLoginKeychain(name)
            }
        }
    }

    public func presenceProof(
        for keychain: KeychainIdentifier, _ context: RequestContext
    ) throws(KeychainError) -> PresenceProof {
        try visit(context, onToken: false) { visit throws(KeychainError) in
            let file = try visit.session.file(keychain)
            let hasSecret = if try file.cardBindings().isEmpty { try file.hasPassword } else { true }
            guard hasSecret else { return .noSecret }
            return visit.session.authentication.canConfirmPresence ? .possible : .nobodyToAsk
        }
    }

    public func confirmPresence(
        for keychain: KeychainIdentifier, _ context: RequestContext
    ) throws(KeychainError) {
        try visit(context) { visit throws(KeychainError) in
            try visit.session.file(keychain).confirmPresence(
                use: visit.use("show that it is you"), authentication: visit.session.authentication)
        }
    }
}

extension KeychainChoice {
    /// The result of `path`; nil where there is no default keychain.
    fileprivate static func unlessMissing(
        _ path: () throws(KeychainError) -> String
    ) throws(KeychainError) -> String? {
        do throws(KeychainError) { return try path() } catch {
            guard error.code == .noDefaultKeychain else { throw error }
            return nil
        }
    }
}

extension KeychainSession {
    /// The keychain file that has an identifier.
    ///
    /// - Throws: `errSecNoSuchKeychain`, also for the identifier of a card.
    fileprivate func file(_ identifier: KeychainIdentifier) throws(KeychainError) -> LocalKeychain {
        guard let file = try keychain(identifier) as? LocalKeychain else { throw .noSuchKeychain(identifier) }
        return file
    }
}
