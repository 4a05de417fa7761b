internal import SystemCrypto
internal import TokenKit

/// An item as a row of the store: what is public in clear, the secret sealed together with all of it.
struct ItemRow {
    let id: UniqueID
    let itemClass: ItemClass
    var attributes: Attributes
    let der: [UInt8]?
    var sealed: [UInt8]?

    /// The public part.
    func item(in keychain: KeychainIdentifier) -> Item {
        Item(
            itemClass, attributes: attributes, keychain: keychain,
            reference: PersistentReference(itemClass, .local(id)), der: der)
    }

    /// Seals `secret` to this row: it opens in no other keychain, under no other id, and with no other attributes.
    mutating func seal(_ secret: borrowing Secret, key: borrowing Secret, keychain: UniqueID) throws(KeychainError) {
        let data = associatedData(keychain)
        do {
            sealed = try SealedBox.seal(secret.bytes, key: key, authenticating: data)
        } catch {
            throw KeychainError(error)
        }
    }

    /// The secret.
    ///
    /// - Throws: `errSecDecode` if the row is not the one that was written, or was written without a secret.
    func open(key: borrowing Secret, keychain: UniqueID) throws(KeychainError) -> Secret {
        guard let sealed else { throw altered }
        do {
            return try SealedBox.open(sealed, key: key, authenticating: associatedData(keychain))
        } catch let error where error.code == .authenticationFailed {
            throw altered
        } catch {
            throw KeychainError(error)
        }
    }

    /// The same item under another id, its secret sealed to that.
    func renamed(_ id: UniqueID, key: borrowing Secret, keychain: UniqueID) throws(KeychainError) -> ItemRow {
        var other = ItemRow(id: id, itemClass: itemClass, attributes: attributes, der: der, sealed: nil)
        if sealed != nil { try other.seal(open(key: key, keychain: keychain), key: key, keychain: keychain) }
        return other
    }

    /// - Throws: `errSecDecode` for a private or symmetric key, which is never stored without a secret.
    func checkSecretless() throws(KeychainError) {
        if itemClass == .key, attributes[.keyClass]?.isTrue == true { throw altered }
    }

    private var altered: KeychainError {
        KeychainError(
            .decode, "the \(itemClass.noun) has been altered since it was stored",
            remedy: "delete it and add it anew, or restore the keychain from a backup")
    }

    private func associatedData(_ keychain: UniqueID) -> AssociatedData {
        var data = AssociatedData("keychain item 1", keychain: keychain)
        data.append(Array(itemClass.rawValue.utf8))
        data.append(id.bytes)
        data.append(attributes)
        data.append(number: der == nil ? 0 : 1)
        data.append(der ?? [])
        return data
    }
}
