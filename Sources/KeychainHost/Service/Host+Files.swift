public import HostAPI
public import KeychainModel
internal import Localization
public import SecureBytes

// Requests about keychains in files, and about the settings that choose them.
extension Host {
    public func path(ofKeychain name: String, _ context: RequestContext) throws(KeychainError) -> String {
        try run(context) { _ throws(KeychainError) in keychains.preferences.absolutePath(name) }
    }

    public func openKeychain(
        at path: String?, _ context: RequestContext
    ) throws(KeychainError) -> KeychainDetails {
        let preferences = keychains.preferences
        // A file that is named counts as such before the search list is read, whose settings may be unreadable.
        if let path { _ = try keychains.open(preferences.absolutePath(path)) }
        return try visit(context, onToken: false) { visit throws(KeychainError) in
            let path = if let path { preferences.absolutePath(path) } else { try preferences.defaultKeychain() }
            return visit.session.details(of: try keychains.open(path))
        }
    }

    public func createKeychain(
        _ name: String, password: SharedSecret?, _ context: RequestContext
    ) throws(KeychainError) -> KeychainDetails {
        try visit(context, onToken: false) { visit throws(KeychainError) in
            let preferences = keychains.preferences
            let path = preferences.absolutePath(name)
            try preferences.checkFree(path)
            let chosen = try password.orAsked(
                PromptRequest(.newPassword, subject: name), visit.session.authentication.prompter)
            let created = try preferences.create(path, password: chosen)
            keychains.adopt(created)
            visit.session.authentication.noteGiven(for: created.accessPlace)
            return visit.session.details(of: created)
        }
    }

    public func deleteKeychain(_ name: String, _ context: RequestContext) throws(KeychainError) {
        try run(context) { _ throws(KeychainError) in try keychains.preferences.delete(name) }
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
        try run(context) { _ throws(KeychainError) in
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
        try run(context) { _ throws(KeychainError) in
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
        try visit(context, onToken: !keychain.isLocal) { visit throws(KeychainError) in
            if keychain.isLocal {
                let file = try visit.session.file(keychain)
                let hasSecret = if try file.cardBindings().isEmpty { try file.hasPassword } else { true }
                guard hasSecret else { return .noSecret }
            } else {
                _ = try visit.session.card(keychain)
            }
            return visit.session.authentication.canConfirmPresence ? .possible : .nobodyToAsk
        }
    }

    public func confirmPresence(
        for keychain: KeychainIdentifier, _ context: RequestContext
    ) throws(KeychainError) {
        try visit(context, onToken: keychain.isLocal ? nil : true) { visit throws(KeychainError) in
            let (use, authentication) = (visit.use("show that it is you"), visit.session.authentication)
            if keychain.isLocal {
                try visit.session.file(keychain).confirmPresence(use: use, authentication: authentication)
            } else {
                try visit.session.card(keychain).verifyPIN(use: use, authentication: authentication)
            }
        }
    }
}

// Requests about what opens a keychain in a file, and about backups.
extension Host {
    public func changePassword(
        of keychain: KeychainIdentifier, from old: SharedSecret?, to new: SharedSecret?, renewingKey renewsKey: Bool,
        _ context: RequestContext
    ) throws(KeychainError) -> PasswordChange {
        try visit(context, onToken: false) { visit throws(KeychainError) in
            let file = try visit.session.file(keychain)
            try file.checkWritable()
            let prompter = visit.session.authentication.prompter
            let from = try old.orAsked(
                PromptRequest(.password, subject: file.name, use: visit.use("change it")), prompter)
            // The old password is checked first: behind a wrong one, no new password is asked for.
            if new == nil { try file.check(password: from) }
            let to = try new.orAsked(PromptRequest(.newPassword, subject: file.name), prompter)
            try visit.ticket.check()
            let cost = try keychains.preferences.passwordCost()
            let change =
                renewsKey
                ? try file.rekey(from: from, to: to, cost: cost)
                : try file.changePassword(from: from, to: to, cost: cost)
            if !file.isLocked { visit.session.authentication.noteGiven(for: file.accessPlace) }
            return change
        }
    }

    public func bind(
        _ keychain: KeychainIdentifier, to card: KeychainIdentifier, key: String?, _ context: RequestContext
    ) throws(KeychainError) -> BoundCard {
        try visit(context) { visit throws(KeychainError) in
            let (file, authentication) = (try visit.session.file(keychain), visit.session.authentication)
            guard let token = try visit.session.keychain(card) as? TokenKeychain else {
                throw .noSuchKeychain(card)
            }
            try file.checkWritable()
            // The card gets the key. A program for which another one has unlocked the keychain needs the password for that.
            if authentication.permission != nil, !authentication.hasGiven(for: file.accessPlace), try file.hasPassword {
                try file.confirmPresence(use: visit.use("bind it to a card"), authentication: authentication)
            }
            try file.unlockToChange(use: visit.use("bind it to a card"), authentication: authentication)
            let others = try file.hasPassword ? authentication.forOthers : authentication
            return BoundCard(try file.bind(to: token, key: key, authentication: others))
        }
    }

    public func unbind(
        _ keychain: KeychainIdentifier, from card: KeychainIdentifier?, _ context: RequestContext
    ) throws(KeychainError) -> [BoundCard] {
        try visit(context, onToken: false) { visit throws(KeychainError) in
            let file = try visit.session.file(keychain)
            let bound = try file.cardBindings().map { BoundCard($0) }.filter { card == nil || $0.token == card }
            // A damaged binding is not listed, and removed as well.
            guard try file.unbind(card?.rawValue) > 0 else {
                throw KeychainError(
                    .itemNotFound, "no such card opens '\(file.name)'",
                    remedy: "'tokenctl show-keychain-info' lists those that do")
            }
            return bound
        }
    }

    public func backUp(
        _ keychain: KeychainIdentifier, to path: String, _ context: RequestContext
    ) throws(KeychainError) -> BackupCount {
        try visit(context, onToken: false) { visit throws(KeychainError) in
            try visit.session.file(keychain).backUp(to: path)
        }
    }

    public func restoreKeychain(
        from backup: String, as name: String, password: SharedSecret?, _ context: RequestContext
    ) throws(KeychainError) -> KeychainDetails {
        try visit(context, onToken: false) { visit throws(KeychainError) in
            let preferences = keychains.preferences
            try LocalKeychain.checkBackup(backup)
            try preferences.checkFree(name)
            let request = PromptRequest(.password, subject: backup, use: visit.use("restore it"))
            let password = try password.orAsked(request, visit.session.authentication.prompter)
            try visit.ticket.check()
            let restored = try preferences.restore(backup, as: name, password: password)
            keychains.adopt(restored)
            visit.session.authentication.noteGiven(for: restored.accessPlace)
            return visit.session.details(of: restored)
        }
    }
}

extension SharedSecret? {
    /// A copy of the secret, or the answer to a question where there is none.
    fileprivate func orAsked(_ request: PromptRequest, _ prompter: any Prompter) throws(KeychainError) -> Secret {
        if let self { self.secret.clone() } else { try prompter.ask(request) }
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
    func file(_ identifier: KeychainIdentifier) throws(KeychainError) -> LocalKeychain {
        guard let file = try keychain(identifier) as? LocalKeychain else { throw .noSuchKeychain(identifier) }
        return file
    }
}
