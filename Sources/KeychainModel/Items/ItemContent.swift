package import SecureBytes
internal import SystemCrypto

/// An item with its data, in a keychain or to be added to one.
package protocol ItemContent: ~Copyable {
    var itemClass: ItemClass { get }
    var attributes: Attributes { get }
    var der: [UInt8]? { get }
}

extension Item: ItemContent {}
extension NewItem: ItemContent {}

// The form of keys outside of a keychain: Apple's external representation, PKCS #1 or X9.63. Keychain semantics 1.6 and 4.5.
extension ItemContent where Self: ~Copyable {
    /// Whether the item's data are no secret: of a certificate and of a public key.
    package var hasPublicData: Bool {
        itemClass == .certificate
            || itemClass == .key && der != nil && attributes[.keyClass]?.integer == KeyClass.public.rawValue
    }

    /// The DER of a certificate, or the external form of a public key; nil for another item, and for a malformed one.
    package var publicData: [UInt8]? {
        guard hasPublicData, let der else { return nil }
        return itemClass == .certificate ? der : (try? PublicKey(spki: der))?.rawRepresentation
    }

    /// The item's secret in the form in which it leaves the keychain.
    ///
    /// - Throws: `errSecDecode` for a private key that cannot be read.
    package func externalForm(of secret: consuming Secret) throws(KeychainError) -> Secret {
        guard itemClass == .key, attributes[.keyClass]?.integer == KeyClass.private.rawValue, der != nil else {
            return secret
        }
        do throws(CryptoError) {
            return try PrivateKey(encoded: secret).externalRepresentation()
        } catch {
            throw KeychainError(error)
        }
    }
}
