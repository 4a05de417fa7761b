internal import Localization
package import SystemCrypto

extension NewItem {
    /// Both halves of a new key pair.
    ///
    /// - Parameters:
    ///   - attributes: attributes of both halves that do not follow from the key.
    ///   - privateAttributes: attributes of the private half alone, such as ``Attribute/isExtractable``.
    ///   - publicAttributes: attributes of the public half alone.
    /// - Throws: `errSecKeySizeNotAllowed` for a kind or size that is not generated.
    package static func generatedKeyPair(
        _ kind: KeyKind, _ attributes: Attributes = [:], privateAttributes: Attributes = [:],
        publicAttributes: Attributes = [:]
    ) throws(KeychainError) -> (publicKey: NewItem, privateKey: NewItem) {
        try checkGenerated(kind)
        let key = try KeychainError.mapping { () throws(CryptoError) in try PrivateKey.generate(kind) }
        return (
            try .publicKey(key.publicKey, attributes.merging(publicAttributes) { $1 }),
            try .privateKey(key, history(of: attributes.merging(privateAttributes) { $1 }))
        )
    }

    private static func checkGenerated(_ kind: KeyKind) throws(KeychainError) {
        switch kind {
        case .rsa(let bits) where KeyType.generatedRSABits ~= bits && bits.isMultiple(of: 8): return
        case .ecP256, .ecP384, .ecP521, .ed25519, .x25519: return
        default:
            throw KeychainError(
                .keySizeNotAllowed, "keys of kind \(kind) cannot be generated",
                remedy: """
                    use RSA of \(KeyType.generatedRSABits.lowerBound) to \(KeyType.generatedRSABits.upperBound) bits, P-256, P-384, P-521, \
                    Ed25519 or X25519
                    """)
        }
    }

    /// Sets `wasAlwaysSensitive` and `wasNeverExtractable` on generated keys.
    package static func history(of attributes: Attributes) -> Attributes {
        var attributes = attributes
        if attributes[.isExtractable]?.isTrue == false { attributes[.wasNeverExtractable] = true }
        if attributes[.isSensitive]?.isTrue == true { attributes[.wasAlwaysSensitive] = true }
        return attributes
    }
}
