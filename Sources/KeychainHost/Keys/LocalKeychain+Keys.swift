public import SystemCrypto
public import TokenKit

/// The two halves of a key pair as a keychain has them.
public struct KeyPair: Sendable, Hashable {
    public let privateKey: Item
    public let publicKey: Item
}

extension LocalKeychain {
    /// RSA keys that are generated have so many bits, a multiple of 8.
    public static let rsaSizes = 2048...4096

    /// Generates a key pair and stores both halves.
    ///
    /// - Parameters:
    ///   - attributes: those of both halves that do not follow from the key.
    ///   - privateAttributes: those of the private half alone, such as ``Attribute/isExtractable``.
    ///   - publicAttributes: those of the public half alone.
    /// - Throws: `errSecKeySizeNotAllowed` for a kind or size that is not generated, and what ``add(_:)`` throws; nothing
    ///   is stored then.
    @discardableResult
    public func generateKeyPair(
        _ kind: KeyKind, _ attributes: Attributes = [:], privateAttributes: Attributes = [:],
        publicAttributes: Attributes = [:]
    ) throws(KeychainError) -> KeyPair {
        try LocalKeychain.checkSize(of: kind)
        let key = try KeychainError.mapping { () throws(CryptoError) in try PrivateKey.generate(kind) }
        let born = LocalKeychain.history(of: attributes.merging(privateAttributes) { $1 })
        let privateKey = try add(.privateKey(key, born))
        let other = attributes.merging(publicAttributes) { $1 }
        do throws(KeychainError) {
            return KeyPair(privateKey: privateKey, publicKey: try add(.publicKey(key.publicKey, other)))
        } catch {
            try delete(matching: Query(privateKey.reference))
            throw error
        }
    }

    /// Generates an AES key and stores it.
    ///
    /// - Throws: `errSecKeySizeNotAllowed` for other sizes than 128, 192 and 256, and what ``add(_:)`` throws.
    @discardableResult
    public func generateSymmetricKey(bits: Int = 256, _ attributes: Attributes = [:]) throws(KeychainError) -> Item {
        try NewItem.checkSize(ofSymmetricKey: bits)
        let key = try KeychainError.mapping { () throws(CryptoError) in try RandomBytes.makeSecret(count: bits / 8) }
        return try add(.symmetricKey(key, LocalKeychain.history(of: attributes)))
    }

    /// A private key that is to leave the keychain.
    ///
    /// - Parameter encrypted: whether it leaves encrypted, as sensitive keys do only.
    /// - Throws: `errSecDataNotAvailable` for one that is not extractable, `errSecKeyIsSensitive`; and what
    ///   ``secret(of:use:authentication:)`` throws.
    public func exportKey(
        _ reference: PersistentReference, encrypted: Bool = true,
        authentication: AuthenticationContext = AuthenticationContext()
    ) throws(KeychainError) -> PrivateKey {
        guard let encoded = try secret(of: reference, use: "export a key", authentication: authentication) else {
            throw KeychainError(.dataNotAvailable, "the key was stored without its private half")
        }
        if !encrypted, try items(matching: Query(reference)).items.first?[.isSensitive]?.isTrue == true {
            throw KeychainError(
                .keyIsSensitive, "the key leaves the keychain only encrypted", remedy: "give a password for it")
        }
        return try KeychainError.mapping { () throws(CryptoError) in try PrivateKey(encoded: encoded) }
    }

    /// The bytes of a key as `SecKeyCopyExternalRepresentation` gives them: PKCS#1, X9.63, or those of a symmetric key.
    ///
    /// - Throws: as ``exportKey(_:encrypted:authentication:)`` does.
    public func externalRepresentation(
        of key: Item, authentication: AuthenticationContext = AuthenticationContext()
    ) throws(KeychainError) -> Secret {
        switch key[.keyClass]?.integer {
        case KeyClass.public.rawValue:
            let encoded = key.der ?? []
            let bytes = try KeychainError.mapping { () throws(CryptoError) -> [UInt8] in
                try PublicKey(spki: encoded).rawRepresentation
            }
            return Secret(copying: bytes.span)
        case KeyClass.private.rawValue:
            let exported = try exportKey(key.reference, encrypted: false, authentication: authentication)
            return try KeychainError.mapping { () throws(CryptoError) in try exported.externalRepresentation() }
        default:
            guard let bytes = try secret(of: key.reference, use: "export a key", authentication: authentication)
            else {
                throw KeychainError(.dataNotAvailable, "the key was stored without its bytes")
            }
            return bytes
        }
    }

    private static func checkSize(of kind: KeyKind) throws(KeychainError) {
        switch kind {
        case .rsa(let bits) where rsaSizes ~= bits && bits.isMultiple(of: 8): return
        case .ecP256, .ecP384, .ecP521, .ed25519, .x25519: return
        default:
            throw KeychainError(
                .keySizeNotAllowed, "no keys of kind \(kind) are generated",
                remedy: "use RSA of \(rsaSizes.lowerBound) to \(rsaSizes.upperBound) bits, P-256, P-384, P-521, "
                    + "Ed25519 or X25519")
        }
    }

    /// What a key that is born here has always been: it never was anything else.
    private static func history(of attributes: Attributes) -> Attributes {
        var attributes = attributes
        if attributes[.isExtractable]?.isTrue == false { attributes[.wasNeverExtractable] = true }
        if attributes[.isSensitive]?.isTrue == true { attributes[.wasAlwaysSensitive] = true }
        return attributes
    }
}

extension KeyType {
    /// AES; Apple's number for it is that of CDSA.
    public static let aes = KeyType(rawValue: 0x8000_0001)
}

extension NewItem {
    /// An AES key of 16, 24 or 32 bytes.
    ///
    /// Its application label is the caller's to choose; one that is not given is random, for a hash would tell who guesses
    /// the key that he is right.
    ///
    /// - Throws: `errSecKeySizeNotAllowed` for another length.
    public static func symmetricKey(
        _ key: consuming Secret, _ attributes: Attributes = [:]
    ) throws(KeychainError) -> NewItem {
        let bits = key.count * 8
        try checkSize(ofSymmetricKey: bits)
        let size = AttributeValue.number(Int64(bits))
        let inferred: Attributes = [
            .keyClass: KeyClass.symmetric.value, .keyType: KeyType.aes.value, .keySizeInBits: size,
            .effectiveKeySize: size, .applicationLabel: .data(UniqueID().bytes), .isPermanent: true,
            .isModifiable: true, .isExtractable: true, .isPrivate: false, .isSensitive: false,
            .wasAlwaysSensitive: false, .wasNeverExtractable: false, .canEncrypt: true, .canDecrypt: true,
            .canWrap: true, .canUnwrap: true, .canDerive: true, .canSign: false, .canVerify: false,
            .canSignRecover: false, .canVerifyRecover: false,
        ]
        return try NewItem(.key, inferred.merging(attributes) { $1 }, secret: key)
    }

    static func checkSize(ofSymmetricKey bits: Int) throws(KeychainError) {
        guard [128, 192, 256].contains(bits) else {
            throw KeychainError(.keySizeNotAllowed, "AES has no keys of \(bits) bits", remedy: "use 128, 192 or 256")
        }
    }
}
