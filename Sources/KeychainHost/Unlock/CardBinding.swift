internal import HostAPI
internal import KeychainStore
internal import KeychainModel
internal import Localization
internal import SecureBytes
internal import SystemCrypto
internal import TokenKit

/// A card whose key opens a keychain: the keychain's key, sealed for the card's key management key.
///
/// The keychain's key is sealed under one derived from a secret that only the card's key gives back: random bytes in
/// RSA-OAEP (or PKCS#1 v1.5 where the card has no better), or the secret agreed on with a key pair made for it. Keychain
/// semantics 7.11.
public struct CardBinding: Sendable, Hashable {
    /// The key on its card.
    let reference: PersistentReference

    /// The card's label, for people.
    let label: String

    /// The public half of the card's key as a DER SubjectPublicKeyInfo.
    let publicKey: [UInt8]
    let algorithm: KeyAlgorithm

    /// The key that identifies the card before its PIN is asked for; nil where it had none, and in bindings of older layouts.
    let proof: ProofKey?

    /// The input of the card's key: a ciphertext, or a public key.
    private(set) var exchange: [UInt8] = []
    /// An empty text, sealed under the keychain's key together with the card and its key: unique, as a salt has to be,
    /// and only a holder of the keychain's key can make it.
    private(set) var salt: [UInt8] = []
    private(set) var wrapped: [UInt8] = []

    /// The card, `piv:7b13d0e6-…`.
    var tokenID: String { reference.tokenID ?? "" }

    /// The key's name in its driver's terms.
    var keyName: String { reference.tokenObject?.rawValue ?? "" }
}

extension BoundCard {
    init(_ binding: CardBinding) {
        self.init(
            KeychainIdentifier(rawValue: binding.tokenID), label: binding.label, key: binding.keyName,
            proof: binding.proof?.object.rawValue, isChallenged: binding.proof?.canBeChallenged ?? false)
    }
}

// The stored form.
extension CardBinding {
    /// - Returns: nil for an algorithm or a proof that this program cannot have written.
    init?(_ row: CardBindingRow) {
        guard let algorithm = KeyAlgorithm(rawValue: row.algorithm) else { return nil }
        let proof = row.proof.flatMap { ProofKey(parsing: $0) }
        if row.proof != nil, proof == nil { return nil }
        self.init(
            reference: row.reference, label: row.label, publicKey: row.publicKey, algorithm: algorithm, proof: proof,
            exchange: row.exchange, salt: row.salt, wrapped: row.wrapped)
    }

    var row: CardBindingRow {
        CardBindingRow(
            reference: reference, label: label, publicKey: publicKey, algorithm: algorithm.rawValue,
            exchange: exchange, salt: salt, wrapped: wrapped, proof: proof?.encoded())
    }

    /// The bindings that are as they were written, in the order they were made, and the error where others are not.
    static func all(
        in keychain: borrowing KeychainConnection
    ) throws(KeychainError) -> (bindings: [CardBinding], damage: KeychainError?) {
        let (rows, damage) = try CardBindingTable.all(in: keychain.database)
        let bindings = rows.compactMap { CardBinding($0) }
        return (bindings, damage ?? (bindings.count < rows.count ? CardBindingTable.damaged : nil))
    }
}

extension CardBinding {
    /// Seals the key of a keychain for a card's key, of which only the public half is needed.
    ///
    /// - Parameter another: the advice where the key neither decrypts nor agrees.
    /// - Throws: `errSecParam` for such a key.
    init(
        sealing secret: borrowing Secret, of keychain: UniqueID, for key: any KeychainKey,
        reference: PersistentReference, label: String, proof: ProofKey?, insteadOfUseless another: LocalizedText
    ) throws(KeychainError) {
        guard let algorithm = CardBinding.algorithms.first(where: { CardBinding.canOpen(key, $0) }) else {
            throw KeychainError(
                .param, "the key \(key.name) of '\(label)' neither decrypts nor agrees",
                remedy: another, key: "key")
        }
        self.init(reference: reference, label: label, publicKey: key.publicKey, algorithm: algorithm, proof: proof)
        try seal(secret, of: keychain)
    }

    /// The binding of the same card to another key of the keychain. The card need not be present.
    ///
    /// - Parameter old: the key that it is bound to.
    /// - Returns: nil for a binding that no holder of the old key has made: the card in it may belong to anyone.
    func renewed(
        sealing secret: borrowing Secret, of keychain: UniqueID, insteadOf old: borrowing Secret
    ) throws(KeychainError) -> CardBinding? {
        guard (try? SealedBox.open(salt, key: old, authenticating: origin(keychain))) != nil else { return nil }
        var new = self
        try new.seal(secret, of: keychain)
        return new
    }

    private mutating func seal(_ secret: borrowing Secret, of keychain: UniqueID) throws(KeychainError) {
        do throws(CryptoError) {
            let shared = try CardBinding.secret(for: PublicKey(spki: publicKey), algorithm)
            exchange = shared.exchange
            salt = try SealedBox.seal([UInt8]().span, key: secret, authenticating: origin(keychain))
            wrapped = try SealedBox.seal(
                secret.bytes, key: wrappingKey(shared.secret), authenticating: data(keychain))
        } catch {
            throw KeychainError(error)
        }
    }

    /// The keychain's key, opened with the card's key.
    ///
    /// - Throws: `errSecDataNotAvailable` where the binding was altered, or is not for this key.
    func open(
        with key: any KeychainKey, of keychain: UniqueID, use: String, authentication: AuthenticationContext
    ) throws(KeychainError) -> Secret {
        let key = key.forAnyPurpose
        let shared =
            if algorithm == CardBinding.agreement {
                try key.keyExchange(with: exchange, using: algorithm, use: use, authentication: authentication)
            } else {
                try key.decrypt(exchange, using: algorithm, use: use, authentication: authentication)
            }
        do throws(CryptoError) {
            return try SealedBox.open(wrapped, key: wrappingKey(shared), authenticating: data(keychain))
        } catch {
            guard error.code == .authenticationFailed else { throw KeychainError(error) }
            throw KeychainError(
                .dataNotAvailable, "the key on '\(label)' does not open the keychain",
                remedy: proof?.canBeChallenged == true
                    ? CardBinding.bindAgain
                    : "it may be a copy, which knows the PIN now: change the PIN if this is not your card, else \(CardBinding.bindAgain)"
            )
        }
    }

    static let bindAgain: LocalizedText = "unlock it with its password and bind the card again"

    // MARK: - How

    /// The algorithms of bindings, best first.
    private static let algorithms: [KeyAlgorithm] = [
        .encryption(.oaep(.sha256)), .encryption(.pkcs1), agreement,
    ]

    private static let agreement = KeyAlgorithm.keyExchange(.standard, nil)

    private static func canOpen(_ key: any KeychainKey, _ algorithm: KeyAlgorithm) -> Bool {
        key.isSupported(algorithm, for: algorithm == agreement ? .keyExchange : .decrypt)
    }

    private struct SharedSecret: ~Copyable {
        let secret: Secret
        let exchange: [UInt8]
    }

    /// A new secret, and the input from which only the holder of the private key obtains it.
    private static func secret(
        for key: PublicKey, _ algorithm: KeyAlgorithm
    ) throws(CryptoError) -> SharedSecret {
        if case .encryption(let encryption) = algorithm {
            let secret = try RandomBytes.makeSecret(count: WrappedKey.keyLength)
            let ciphertext = try encrypted(secret, for: key, encryption)
            return SharedSecret(secret: secret, exchange: ciphertext)
        }
        let ephemeral = try PrivateKey.generate(key.kind)
        return SharedSecret(
            secret: try ephemeral.sharedSecret(with: key), exchange: ephemeral.publicKey.rawRepresentation)
    }

    private static func encrypted(
        _ secret: borrowing Secret, for key: PublicKey, _ encryption: RSAEncryption
    ) throws(CryptoError) -> [UInt8] {
        try key.encrypt(secret.bytes, using: encryption)
    }

    /// The wrapping key, derived from the shared secret, and bound to its purpose, the public key and the exchanged
    /// value (SP 800-56A §5.8.2).
    private func wrappingKey(_ shared: borrowing Secret) throws(CryptoError) -> Secret {
        try HKDF.deriveKey(
            from: shared, salt: salt, info: Array("tokenkit card binding 1".utf8) + publicKey + exchange,
            count: WrappedKey.keyLength)
    }

    /// The card and its key, which the salt authenticates.
    private func origin(_ keychain: UniqueID) -> AssociatedData {
        var data = AssociatedData("keychain card binding origin 1", keychain: keychain)
        for part in [reference.encoded(), Array(label.utf8), publicKey, Array(algorithm.rawValue.utf8)] {
            data.append(part)
        }
        if let proof { data.append(proof.encoded()) }
        return data
    }

    private func data(_ keychain: UniqueID) -> AssociatedData {
        // Bindings of older layouts have no proof.
        var data = AssociatedData(
            proof == nil ? "keychain card binding 1" : "keychain card binding 2", keychain: keychain)
        for part in [reference.encoded(), publicKey, Array(algorithm.rawValue.utf8), exchange, salt] {
            data.append(part)
        }
        if let proof { data.append(proof.encoded()) }
        return data
    }
}
