public import KeychainModel
internal import SecureBytes
internal import SystemCrypto
internal import TokenKit

/// A private key whose bytes are in a local keychain.
struct LocalKeychainKey: KeychainKey {
    let keychain: LocalKeychain
    let item: Item
    let publicKey: [UInt8]

    var keychainName: String { keychain.name }
    var name: String { item.label ?? "key" }

    /// Certificates have rows of their own; they are paired by the public-key hash.
    var certificate: [UInt8]? { nil }

    /// What the kind of key does, as far as the item lets it.
    func offers(_ algorithm: KeyAlgorithm, for operation: KeyOperation) -> Bool {
        guard let kind = try? PublicKey(spki: publicKey).kind, let permission = operation.permission else {
            return false
        }
        return item[permission]?.isTrue != false && kind.offers(algorithm, for: operation)
    }

    /// A key that asks for each use asks with the use, not ahead.
    func askAhead(use: String, authentication: AuthenticationContext) throws(KeychainError) {
        guard try item.accessControl?.wantsPasscode != true else { return }
        try keychain.unlock(use: use, authentication: authentication)
    }

    func perform(
        _ action: TokenOperation.Action, use: String, authentication: AuthenticationContext
    ) throws(KeychainError) -> Secret {
        guard
            let encoded = try keychain.keyMaterial(of: item.reference, use: use, authentication: authentication)
        else {
            throw KeychainError(.dataNotAvailable, "the key '\(name)' was stored without its private half")
        }
        do throws(CryptoError) {
            return try PrivateKey(encoded: encoded).perform(action)
        } catch {
            throw KeychainError(error)
        }
    }
}

extension KeychainKey {
    /// The keychain in a file that has the key, and its item there; nil for one on a token.
    public var localItem: (keychain: LocalKeychain, reference: PersistentReference)? {
        (self as? LocalKeychainKey).map { ($0.keychain, $0.item.reference) }
    }
}

extension KeyOperation {
    /// The attribute by which a private key is allowed to do it.
    var permission: Attribute? {
        switch self {
        case .sign: .canSign
        case .decrypt: .canDecrypt
        case .keyExchange: .canDerive
        case .verify, .encrypt: nil
        }
    }
}

extension ItemRow {
    /// - Throws: `errSecDataNotAvailable` for a key that is used where it is, and never read.
    func checkExtractable() throws(KeychainError) {
        guard itemClass == .key, attributes[.isExtractable]?.isTrue == false else { return }
        throw KeychainError(
            .dataNotAvailable,
            "the key '\(attributes[.label]?.string ?? "")' was stored as one that cannot be extracted")
    }

    /// - Throws: `errSecReadOnlyAttr` where a key would become less protected than it was, or seem to have been more so;
    ///   `errSecParam` for another access control than the item has, and another accessibility than that of the access control.
    func checkMayBecome(_ changes: Attributes) throws(KeychainError) {
        // Wrappers give it with each change, as they did when they added the item.
        if let new = changes[.accessControl], attributes[.accessControl].map({ new.matches($0) }) != true {
            throw KeychainError(
                .param, "the access control of an item stays as it was added",
                remedy: "delete the item and add it with the other", key: Attribute.accessControl.rawValue)
        }
        if attributes[.accessControl] != nil, let accessible = changes[.accessible] {
            _ = try AccessControl.settling(attributes.merging([.accessible: accessible]) { $1 })
        }
        if der != nil { try itemClass.checkAgreement(changes, with: attributes) }
        guard itemClass == .key else { return }
        // A key may be sealed off at any time, and stays so.
        let oneWay: [(Attribute, to: Bool)] = [(.isExtractable, false), (.isSensitive, true)]
        for (attribute, final) in oneWay {
            guard let new = changes[attribute]?.isTrue, let old = attributes[attribute]?.isTrue else { continue }
            guard new == old || new == final else { throw fixed(attribute) }
        }
        for attribute in [Attribute.wasNeverExtractable, .wasAlwaysSensitive] {
            guard let new = changes[attribute]?.isTrue else { continue }
            guard new == attributes[attribute]?.isTrue else { throw fixed(attribute) }
        }
    }

    /// - Throws: `errSecInteractionNotAllowed` for a secret under an application password, which is not known here.
    func checkSecretMayChange() throws(KeychainError) {
        guard try AccessControl(of: attributes)?.wantsApplicationPassword == true else { return }
        throw KeychainError(
            .interactionNotAllowed, "the \(itemClass.noun) is under an application password",
            remedy: "change it with an authentication context")
    }

    private func fixed(_ attribute: Attribute) -> KeychainError {
        KeychainError(
            .readOnlyAttribute, "attribute \(attribute) of a key does not change that way", key: attribute.rawValue)
    }
}
