internal import KeychainStore
public import KeychainModel
internal import Localization
internal import SecureBytes
internal import SystemCrypto
internal import TokenKit

/// Cards that open a keychain, beside its password. Keychain semantics 4.6 and 7.11.
extension LocalKeychain {
    /// The cards that open the keychain, in the order in which they were bound first; damaged bindings are left out.
    func cardBindings() throws(KeychainError) -> [CardBinding] {
        try use { opened throws(KeychainError) in try CardBinding.all(in: opened).bindings }
    }

    /// Checks that no binding to a card is damaged, and so left out.
    ///
    /// - Throws: `errSecDecode` if one is damaged.
    func checkCardBindings() throws(KeychainError) {
        try use { opened throws(KeychainError) in
            if let damage = try CardBinding.all(in: opened).damage { throw damage }
        }
    }

    /// Lets the card in a reader open the keychain from now on; a binding that it had is replaced.
    ///
    /// The card has to open it once right away, so its PIN may be asked for.
    ///
    /// - Parameter name: the card's key: one that decrypts or agrees on secrets; nil for the one that its driver recommends.
    /// - Throws: `errSecInteractionNotAllowed` while the keychain is locked, `errSecReadOnly`, `errSecNoSuchKeychain`
    ///   where there is no card, `errSecItemNotFound` where it has no such key, `errSecParam` for a key that only signs.
    @discardableResult
    public func bind(
        to token: TokenKeychain, key name: String? = nil, authentication: AuthenticationContext
    ) throws(KeychainError) -> CardBinding {
        try checkWritable()
        let secret = try clonedKey()
        guard let identity = try token.identity() else {
            throw KeychainError(.noSuchKeychain, "there is no card in '\(token.name)'", remedy: "insert one")
        }
        let recommended = try token.bindingKey()?.rawValue
        guard let name = name ?? recommended else {
            throw KeychainError(
                .param, "no key of '\(identity.label)' is meant for binding keychains", remedy: "name one", key: "key")
        }
        guard let key = try token.keys(.name(name)).first else {
            throw KeychainError(
                .itemNotFound, "'\(identity.label)' has no key \(name)",
                remedy: "have its issuer put a key management key on it")
        }
        let another: LocalizedText = recommended.map { "use the key \($0)" } ?? "use another key"
        guard (key as? any TokenObjectKey)?.key.pinPolicy != .never else {
            throw KeychainError(
                .param,
                "the key \(name) of '\(identity.label)' is used without a PIN, so that anybody who has the card could open the keychain",
                remedy: another, key: "key")
        }
        let current = try wrappedKey()
        let binding = try CardBinding(
            sealing: secret, of: current.keychain, for: key, reference: key.reference(on: identity),
            label: identity.label, proof: try token.proofKey(of: key), insteadOfUseless: another)
        let opened = try binding.open(
            with: key, of: current.keychain, use: String(localized: "bind the keychain '\(self.name)' to it"),
            authentication: authentication)
        guard current.isFor(opened) else {
            throw KeychainError(.dataNotAvailable, "the card's key does not open the keychain")
        }
        try change { opened throws(KeychainError) in
            try opened.database.writing { () throws(KeychainError) in
                // Checked again: the key may have changed while the card was at work.
                guard try WrappedKey(readingFrom: opened.database).isFor(secret) else {
                    throw KeychainConnection.locked
                }
                try CardBindingTable.put(binding.row, in: opened.database)
            }
        }
        return binding
    }

    /// Removes the binding to a card.
    ///
    /// - Parameter token: the card, ``CardBinding/tokenID``; nil for every card.
    /// - Returns: the number of removed bindings.
    @discardableResult
    public func unbind(_ token: String? = nil) throws(KeychainError) -> Int {
        try change { opened throws(KeychainError) in
            try CardBindingTable.remove(token, from: opened.database)
        }
    }

    /// The keychain's key, opened with the first bound card in one of the readers; nil without such a card.
    ///
    /// - Parameter afresh: whether the PIN must be presented for this, even if the card counts it as presented.
    /// - Throws: without a bound card, the error of a card that cannot be read, which may be the one.
    func boundKey(
        with tokens: @autoclosure () -> [TokenKeychain], use: String, afresh: Bool,
        authentication: AuthenticationContext
    ) throws(KeychainError) -> Secret? {
        let bindings = try cardBindings()
        // Readers are looked into only where a card can open it.
        guard !bindings.isEmpty else { return nil }
        var (impostor, unread): (KeychainError?, KeychainError?)
        for token in tokens() {
            let binding: CardBinding?
            do throws(KeychainError) { binding = try token.binding(among: bindings) } catch {
                // The card in another reader may be bound.
                unread = unread ?? error
                continue
            }
            guard let binding else { continue }
            do throws(KeychainError) {
                let key = try token.provenKey(of: binding)
                let opened = try open(binding, with: key, on: token, use: use, afresh: afresh, authentication)
                // A card that another program has unlocked makes this one no giver of anything.
                if authentication.hasGiven(for: token.slot.accessPlace(of: binding.tokenID)) {
                    authentication.noteGiven(for: accessPlace(of: opened))
                }
                return opened
            } catch {
                // The genuine card may be in another reader.
                guard error.code == .verifyFailed else { throw error }
                impostor = impostor ?? error
            }
        }
        if let error = impostor ?? unread { throw error }
        return nil
    }

    private func open(
        _ binding: CardBinding, with key: TokenKeychainKey, on token: TokenKeychain, use: String, afresh: Bool,
        _ authentication: AuthenticationContext
    ) throws(KeychainError) -> Secret {
        let own: LocalizedText = "unlock the keychain '\(name)'"
        let purpose: LocalizedText =
            use == String(localized: LocalKeychain.plainUnlock) ? own : "\(own) and \(use)"
        let use = String(localized: purpose)
        if afresh { try token.verifyPIN(at: key.insertion, use: use, authentication: authentication) }
        let current = try wrappedKey()
        do throws(KeychainError) {
            let secret = try binding.open(with: key, of: current.keychain, use: use, authentication: authentication)
            guard current.isFor(secret) else {
                throw KeychainError(.dataNotAvailable, "the card's key does not open the keychain")
            }
            return secret
        } catch {
            // Where the keychain's own row was altered, the card is not at fault.
            throw error.code == .dataNotAvailable ? current.damage ?? error : error
        }
    }

    /// The first bound card that is in one of the readers.
    func boundCard(
        among tokens: @autoclosure () -> [TokenKeychain]
    ) throws(KeychainError) -> (token: TokenKeychain, binding: CardBinding)? {
        let bindings = try cardBindings()
        // Readers are looked into only where a card can open it.
        guard !bindings.isEmpty else { return nil }
        for token in tokens() {
            if let binding = try? token.binding(among: bindings) { return (token, binding) }
        }
        return nil
    }

    private func clonedKey() throws(KeychainError) -> Secret {
        try use { opened throws(KeychainError) -> Secret in
            switch opened.key {
            case .some(let key): key.clone()
            case .none: throw KeychainConnection.locked
            }
        }
    }
}

extension TokenKeychain {
    /// The binding of the card that is in the reader; nil for a card that is not bound.
    fileprivate func binding(among bindings: [CardBinding]) throws(KeychainError) -> CardBinding? {
        guard let id = try identity()?.id.description else { return nil }
        return bindings.first { $0.tokenID == id }
    }

    /// The bound key, on a card that has shown without a PIN that it is the one that was bound.
    ///
    /// - Throws: `errSecVerifyFailed` where it is another card.
    fileprivate func provenKey(of binding: CardBinding) throws(KeychainError) -> TokenKeychainKey {
        let key = try keys(.reference(binding.reference)).first as? TokenKeychainKey
        // A copy may lack the bound key too, and binding it again would give it the PIN: the proof comes first.
        if let proof = binding.proof {
            let insertion = if let key { key.insertion } else { try insertion() }
            try prove(proof, of: binding, at: insertion)
        }
        guard let key else {
            throw KeychainError(
                .dataNotAvailable, "'\(binding.label)' no longer has the key that the keychain was bound to",
                remedy: CardBinding.bindAgain)
        }
        return key
    }

    private func prove(
        _ proof: ProofKey, of binding: CardBinding, at insertion: TokenInsertion
    ) throws(KeychainError) {
        do throws(TokenError) {
            try slot.prove(proof, at: insertion)
        } catch {
            guard error.code == .notProven else { throw KeychainError(error) }
            throw KeychainError(
                .verifyFailed,
                "the card in '\(name)' is not the '\(binding.label)' that the keychain was bound to: it does not hold the key \(proof.object), and was sent no PIN",
                remedy: "take it out; if it was issued anew, \(CardBinding.bindAgain)")
        }
    }

    /// The key that will identify the card of the bound key.
    fileprivate func proofKey(of key: any KeychainKey) throws(KeychainError) -> ProofKey? {
        guard let key = key as? TokenKeychainKey else { return nil }
        do throws(TokenError) {
            return try slot.provenKey(at: key.insertion)
        } catch {
            throw KeychainError(error)
        }
    }
}

extension KeychainKey {
    /// The reference of a key on a card.
    fileprivate func reference(on identity: TokenIdentity) -> PersistentReference {
        let key = TokenKey(kind: .other(""), publicKey: publicKey, usage: [], pinPolicy: .never)
        let object = TokenObject(id: TokenObjectID(name), label: "", certificate: certificate, key: key)
        return TokenItems.reference(.key, to: object, on: identity)
    }
}
