package import KeychainModel
internal import Localization
internal import SecureBytes
internal import SystemCrypto

/// An item as a row of the store: its public part in clear, and bound to the secret by a seal. Rows without a secret
/// have a seal as well, except those that were added while the keychain was locked.
package struct ItemRow {
    let id: UniqueID
    let itemClass: ItemClass
    var attributes: Attributes
    package let der: [UInt8]?
    package var sealed: [UInt8]?
    /// Whether the row was altered by another program: its checksum does not match, or no program of this kind can have
    /// written it.
    package var isAltered = false
    /// A column with a value that no program of this kind can have written.
    var damagedColumn: String?

    /// The public part.
    func item(in keychain: KeychainIdentifier) -> Item {
        Item(
            itemClass, attributes: attributes, keychain: keychain,
            reference: reference, der: der)
    }

    /// Seals `secret`, or its absence, to this row: it opens in no other keychain, under no other id, and with no other
    /// attributes.
    mutating func seal(
        _ secret: borrowing Secret?, key: borrowing Secret, keychain: UniqueID, _ version: SealVersion = .current
    ) throws(KeychainError) {
        do throws(CryptoError) {
            switch secret {
            case .some(let secret):
                sealed = try SealedBox.seal(secret.bytes, key: key, authenticating: associatedData(keychain, version))
            case .none:
                let nothing = Secret(capacity: 0) { _ in }
                let data = associatedData(keychain, version, hasSecret: false)
                sealed = try SealedBox.seal(nothing.bytes, key: key, authenticating: data)
            }
        } catch {
            throw KeychainError(error)
        }
    }

    /// The secret; nil if it was stored without one.
    ///
    /// - Throws: `errSecDecode` if the row is not the one that was written.
    func open(key: borrowing Secret, keychain: UniqueID) throws(KeychainError) -> Secret? {
        guard sealed != nil, !isAltered else {
            try checkUnsealed()
            return nil
        }
        for version in [SealVersion.current, .first] {
            if let content = try open(key, keychain, version) { return content.take() }
        }
        throw altered
    }

    /// The versions of a seal's associated data. Keychains of the first one have no seals of certificates and public
    /// keys.
    enum SealVersion { case first, current }

    /// Whether the row has a seal of this version that fits.
    func hasSeal(_ version: SealVersion, key: borrowing Secret, keychain: UniqueID) throws(KeychainError) -> Bool {
        guard !isAltered else { return false }
        return try open(key, keychain, version) != nil
    }

    /// The content of a seal: a secret, or its absence.
    private struct Content: ~Copyable {
        private var secret: Secret?

        init(_ secret: consuming Secret?) { self.secret = secret }

        consuming func take() -> Secret? { secret.take() }
    }

    /// - Returns: nil where the seal does not fit, or is of another version.
    private func open(
        _ key: borrowing Secret, _ keychain: UniqueID, _ version: SealVersion
    ) throws(KeychainError) -> Content? {
        guard let sealed else { return nil }
        if let secret = try open(sealed, key, associatedData(keychain, version)) { return Content(secret) }
        guard sealed.count == SealedBox.overhead,
            try open(sealed, key, associatedData(keychain, version, hasSecret: false)) != nil
        else { return nil }
        return Content(nil)
    }

    /// - Returns: nil for what was not sealed with these data.
    private func open(
        _ sealed: [UInt8], _ key: borrowing Secret, _ data: AssociatedData
    ) throws(KeychainError) -> Secret? {
        do throws(CryptoError) { return try SealedBox.open(sealed, key: key, authenticating: data) } catch {
            guard error.code == .authenticationFailed else { throw KeychainError(error) }
            return nil
        }
    }

    /// The item under another id, with its secret sealed to that id.
    func renamed(_ id: UniqueID, key: borrowing Secret, keychain: UniqueID) throws(KeychainError) -> ItemRow {
        var other = ItemRow(id: id, itemClass: itemClass, attributes: attributes, der: der, sealed: nil)
        if sealed != nil { try other.seal(open(key: key, keychain: keychain), key: key, keychain: keychain) }
        return other
    }

    /// Whether reading the row needs the keychain's key. For a row without a secret, the key only tells whether it was altered.
    package var holdsSecret: Bool { itemClass.holdsSecret(attributes) || (sealed?.count ?? 0) > SealedBox.overhead }

    /// Whether the public key of a key or certificate has the hash that the item is found by, as far as that can be told.
    var hasFittingPublicHalf: Bool {
        let hash: AttributeValue?
        switch itemClass {
        case .key: hash = attributes[.applicationLabel]
        case .certificate: hash = attributes[.publicKeyHash]
        case .genericPassword, .internetPassword, .identity: return true
        }
        guard let der else { return true }
        if itemClass == .key, let bits = PublicKey.keyHash(ofBitsIn: der), hash?.matches(.data(bits)) == true {
            return true
        }
        let actual =
            itemClass == .key
            ? (try? PublicKey(spki: der))?.keyHash : (try? Certificate(der: der))?.keyHash
        // Nothing is done with what cannot be read.
        guard let actual else { return true }
        // Each key with a public half is stored with its hash.
        return hash.map { $0.matches(.data(actual)) } ?? (itemClass != .key)
    }

    /// - Throws: `errSecDecode` for a row that is never stored without a seal, or that was altered.
    func checkUnsealed() throws(KeychainError) {
        guard !itemClass.holdsSecret(attributes), !isAltered else { throw altered }
    }

    package var altered: KeychainError {
        let column = damagedColumn.map { ", in its column \($0)" } ?? ""
        return KeychainError(
            .decode, "the \(itemClass.noun) has been altered since it was stored\(column)",
            remedy:
                "restore the keychain from a backup, or delete it with 'tokenctl item -D v_PersistentRef=\(reference.hexText)' and add it anew"
        )
    }

    /// Its persistent reference.
    var reference: PersistentReference { PersistentReference(itemClass, .local(id)) }

    private func associatedData(
        _ keychain: UniqueID, _ version: SealVersion, hasSecret: Bool = true
    ) -> AssociatedData {
        let purpose: StaticString =
            switch (version, hasSecret) {
            case (.current, true): "keychain item 2"
            case (.current, false): "keychain item without data 2"
            case (.first, true): "keychain item 1"
            case (.first, false): "keychain item without data 1"
            }
        var data = AssociatedData(purpose, keychain: keychain)
        data.append(Array(itemClass.rawValue.utf8))
        data.append(id.bytes)
        data.append(attributes)
        data.append(number: der == nil ? 0 : 1)
        data.append(der ?? [])
        return data
    }
}
