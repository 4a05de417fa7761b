internal import HostAPI
internal import KeychainStore
public import KeychainModel
internal import Localization
internal import SecureBytes

// Secrets of items with an access control. Keychain semantics 3.2.
extension LocalKeychain {
    /// The item as it is stored: its secret under the context's application password where its access control says so.
    ///
    /// - Parameter cost: the cost of one guess at the application password.
    /// - Throws: `errSecInteractionNotAllowed` where the password is neither given nor can be asked for.
    func prepared(
        _ item: NewItem, authentication: AuthenticationContext, cost: ScryptCost
    ) throws(KeychainError) -> NewItem {
        try checkWritable()
        guard try AccessControl(of: item.attributes)?.wantsApplicationPassword == true, let shared = item.secret else {
            return item
        }
        let request = PromptRequest(
            .newPassword, subject: item.attributes[.label]?.string ?? String(localized: "the new item"))
        let password = try authentication.applicationPassword(request)
        let sealed = try ApplicationSeal.seal(
            shared.secret, password: password, keychain: try wrappedKey().keychain, cost: cost)
        return try NewItem(item.itemClass, item.attributes, der: item.der, secret: sealed, isApplicationSealed: true)
    }

    public func sealedSecrets(
        for changes: ItemChanges, matching query: ResolvedQuery, authentication: AuthenticationContext
    ) throws(KeychainError) -> SealedSecrets {
        var sealed = SealedSecrets()
        guard let shared = changes.secret else { return sealed }
        for item in try items(matching: query.withoutLimit).found {
            do throws(KeychainError) {
                guard try item.accessControl?.wantsApplicationPassword == true, let id = item.reference.localID
                else { continue }
                sealed.byItem[id] = try seal(shared.secret, of: item, authentication).copied()
            } catch {
                // The change itself leaves the damaged item out, or reports it.
                guard error.code == .decode else { throw error }
            }
        }
        return sealed
    }

    private func seal(
        _ secret: borrowing Secret, of item: Item, _ authentication: AuthenticationContext
    ) throws(KeychainError) -> Secret {
        let old = try use { opened throws(KeychainError) in
            try opened.secret(of: item.reference, leaving: false, isAuthorized: true)
        }
        let subject = item.label ?? "\(item.itemClass.noun)"
        switch old {
        case .some(let old):
            let request = PromptRequest(.password, subject: subject, use: String(localized: "change it"))
            return try replace(old, by: secret, request, authentication)
        case .none:
            let password = try authentication.applicationPassword(PromptRequest(.newPassword, subject: subject))
            return try ApplicationSeal.seal(
                secret, password: password, keychain: try wrappedKey().keychain, cost: .standard)
        }
    }

    private func replace(
        _ sealed: borrowing Secret, by secret: borrowing Secret, _ request: PromptRequest,
        _ authentication: AuthenticationContext
    ) throws(KeychainError) -> Secret {
        try withApplicationPassword(request, authentication) { password, keychain throws(KeychainError) in
            try ApplicationSeal.replace(sealed, by: secret, password: password, keychain: keychain)
        }
    }

    /// The secret of an item, or nil if it was stored without one; asks for what its access control requires.
    ///
    /// - Parameters:
    ///   - access: the use, which a person may have to allow the client's program: to read or export, or of a key where it is; nil to
    ///     read or export what the item is.
    ///   - use: completes "password to …".
    /// - Throws: as ``secret(of:)`` does; `errSecAuthFailed` where password, PIN or application password is wrong.
    func secret(
        of reference: PersistentReference, for access: AccessQuestion.Use? = nil, use: String,
        authentication: AuthenticationContext
    ) throws(KeychainError) -> Secret? {
        guard let item = try items(matching: Query(reference)).found.first else { throw KeychainError(.itemNotFound) }
        return try secret(of: item, for: access, use: use, authentication: authentication)
    }

    /// The secret of an item that was found for the same request, as its access control was then.
    func secret(
        of item: Item, for access: AccessQuestion.Use? = nil, use: String, authentication: AuthenticationContext
    ) throws(KeychainError) -> Secret? {
        let control = try item.accessControl
        if control?.wantsPasscode == true {
            try confirmPresence(use: use, authentication: authentication)
        } else {
            try unlock(use: use, authentication: authentication)
        }
        try authentication.requirePermission(
            to: access ?? (item.isPrivateKey ? .export : .read), item, in: self)
        let stored = try self.use { opened throws(KeychainError) in
            try opened.secret(of: item.reference, leaving: access == nil, isAuthorized: true)
        }
        guard control?.wantsApplicationPassword == true else { return stored }
        switch stored {
        case .none: return nil
        case .some(let sealed):
            let request = PromptRequest(.password, subject: item.label ?? "\(item.itemClass.noun)", use: use)
            return try unseal(sealed, request, authentication)
        }
    }

    private func unseal(
        _ sealed: borrowing Secret, _ request: PromptRequest, _ authentication: AuthenticationContext
    ) throws(KeychainError) -> Secret {
        try withApplicationPassword(request, authentication) { password, keychain throws(KeychainError) in
            try ApplicationSeal.open(sealed, password: password, keychain: keychain)
        }
    }

    /// Runs `body` with the application password, which is forgotten if it is wrong.
    private func withApplicationPassword(
        _ request: PromptRequest, _ authentication: AuthenticationContext,
        _ body: (borrowing Secret, UniqueID) throws(KeychainError) -> Secret
    ) throws(KeychainError) -> Secret {
        let password = try authentication.applicationPassword(request)
        let keychain = try wrappedKey().keychain
        do throws(KeychainError) {
            return try body(password, keychain)
        } catch {
            if error.code == .authFailed { authentication.refuseCredential(.applicationPassword) }
            throw error
        }
    }
}

extension AuthenticationContext {
    /// The application password of the context, else the answer to a question.
    fileprivate func applicationPassword(_ request: PromptRequest) throws(KeychainError) -> Secret {
        switch credential(.applicationPassword) {
        case .some(let password): return password
        case .none:
            try checkNotRefused(.applicationPassword)
            guard prompter.canAsk else { throw .cannotAsk(request, by: prompter) }
            return try prompter.askForAnother(request)
        }
    }
}
