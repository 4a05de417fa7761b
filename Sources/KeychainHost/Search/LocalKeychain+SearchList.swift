internal import SystemCrypto
internal import TokenKit

extension LocalKeychain: Keychain {
    /// The file's name without folder and ending.
    public var name: String {
        let file = path.split(separator: "/").last ?? path[...]
        guard let dot = file.lastIndex(of: "."), dot != file.startIndex else { return String(file) }
        return String(file[..<dot])
    }

    public func keys(_ selector: KeySelector) throws(KeychainError) -> [any KeychainKey] {
        let query =
            switch selector {
            case .name(let name): try LocalKeychain.privateKeys([.label: .string(name)])
            case .publicKeyHash(let hash): try LocalKeychain.privateKeys([.applicationLabel: .data(hash)])
            case .reference(let reference): Query(reference)
            }
        return try items(matching: query).items.filter(\.isPrivateKey).compactMap { item in
            item.der.map { LocalKeychainKey(keychain: self, item: item, publicKey: $0) }
        }
    }

    private static func privateKeys(_ attributes: Attributes) throws(KeychainError) -> Query {
        let fixed: Attributes = [.keyClass: KeyClass.private.value, .synchronizable: Query.anySynchronizable]
        return try Query(.key, fixed.merging(attributes) { $1 }, limit: .all)
    }

    /// Unlocks with what this login session keeps, else with the password, which is asked for.
    ///
    /// - Parameter use: completes "password to …".
    public func unlock(use: String, authentication: AuthenticationContext) throws(KeychainError) {
        guard isLocked else { return }
        // A session that keeps no keys is no reason not to ask.
        if let isUnlocked = try? unlockFromSession(), isUnlocked { return }
        var failure: String?
        while true {
            let request = PromptRequest(.password, subject: name, use: use, failure: failure)
            guard authentication.prompter.canAsk else { throw .cannotAsk(request) }
            let password = try authentication.prompter.ask(request)
            do throws(KeychainError) {
                return try unlock(password: password)
            } catch {
                guard error.code == .authFailed, authentication.prompter.canAskAgain else { throw error }
                failure = error.reason
            }
        }
    }
}

/// A private key whose bytes are in a local keychain.
struct LocalKeychainKey: KeychainKey {
    let keychain: LocalKeychain
    let item: Item
    let publicKey: [UInt8]

    var keychainName: String { keychain.name }
    var name: String { item.label ?? "key" }

    /// Certificates have rows of their own; they are paired by the public-key hash.
    var certificate: [UInt8]? { nil }

    func perform(
        _ action: TokenOperation.Action, use: String, authentication: AuthenticationContext
    ) throws(KeychainError) -> Secret {
        try keychain.unlock(use: use, authentication: authentication)
        guard let encoded = try keychain.secret(of: item.reference) else {
            throw KeychainError(.dataNotAvailable, "the key '\(name)' was stored without its private half")
        }
        do throws(CryptoError) {
            return try PrivateKey(encoded: encoded).perform(action)
        } catch {
            throw KeychainError(error)
        }
    }
}

extension PrivateKey {
    /// Does in software what a card does on the card.
    func perform(_ action: TokenOperation.Action) throws(CryptoError) -> Secret {
        switch action {
        case .sign(.rsaRaw, let block), .decrypt(.rsaRaw, let block): return try rsaPrivateOperation(block)
        case .sign(.rsaPKCS1(let digest), let input): return try signed(digest: input, .rsaPKCS1(digest))
        case .sign(.rsaPKCS1Unprefixed, let input): return try signed(digest: input, .rsaPKCS1(nil))
        case .sign(.rsaPSS(let digest, let saltLength), let input):
            return try signed(digest: input, .rsaPSS(digest, mgf1: digest, saltLength: saltLength))
        case .sign(.ecdsa, let input): return try signed(digest: input, .ecdsa(nil))
        case .sign(.ed25519, let message):
            var signature = try sign(message: message, using: .ed25519)
            return Secret(consuming: &signature)
        case .decrypt(.rsaPKCS1, let ciphertext): return try decrypt(ciphertext, using: .pkcs1)
        case .decrypt(.rsaOAEP(let digest), let ciphertext): return try decrypt(ciphertext, using: .oaep(digest))
        case .agree(let peer):
            let key = kind.isEC ? try PublicKey(ecPoint: peer, curve: kind) : try PublicKey(raw: peer, kind: kind)
            return try sharedSecret(with: key)
        }
    }

    private func signed(
        digest: [UInt8], _ algorithm: SystemCrypto.SignatureAlgorithm
    ) throws(CryptoError) -> Secret {
        var signature = try sign(digest: digest, using: algorithm)
        return Secret(consuming: &signature)
    }
}
