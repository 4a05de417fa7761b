internal import SystemCrypto
internal import TokenKit

/// An item as a row of the store: what is public in clear, the secret sealed together with all of it.
struct ItemRow {
    let id: UniqueID
    let itemClass: ItemClass
    var attributes: Attributes
    let der: [UInt8]?
    var sealed: [UInt8]?
    /// Whether it is not as it was written, by its checksum, or since no program of this kind can have written it.
    var isAltered = false
    /// A column of it that no program of this kind can have written.
    var damagedColumn: String?

    /// The public part.
    func item(in keychain: KeychainIdentifier) -> Item {
        Item(
            itemClass, attributes: attributes, keychain: keychain,
            reference: PersistentReference(itemClass, .local(id)), der: der)
    }

    /// Seals `secret`, or that there is none, to this row: it opens in no other keychain, under no other id, and with no
    /// other attributes.
    mutating func seal(
        _ secret: borrowing Secret?, key: borrowing Secret, keychain: UniqueID
    ) throws(KeychainError) {
        do throws(CryptoError) {
            switch secret {
            case .some(let secret):
                sealed = try SealedBox.seal(secret.bytes, key: key, authenticating: associatedData(keychain))
            case .none:
                let nothing = Secret(capacity: 0) { _ in }
                let data = associatedData(keychain, hasSecret: false)
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
        guard let sealed, !isAltered else {
            try checkUnsealed()
            return nil
        }
        if let secret = try open(sealed, key, associatedData(keychain)) { return secret }
        guard itemClass.isPassword, sealed.count == SealedBox.overhead,
            try open(sealed, key, associatedData(keychain, hasSecret: false)) != nil
        else { throw altered }
        return nil
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

    /// The same item under another id, its secret sealed to that.
    func renamed(_ id: UniqueID, key: borrowing Secret, keychain: UniqueID) throws(KeychainError) -> ItemRow {
        var other = ItemRow(id: id, itemClass: itemClass, attributes: attributes, der: der, sealed: nil)
        if sealed != nil { try other.seal(open(key: key, keychain: keychain), key: key, keychain: keychain) }
        return other
    }

    /// - Throws: `errSecDecode` for one that is never stored without a seal, or is not as it was written.
    func checkUnsealed() throws(KeychainError) {
        guard !itemClass.seals(attributes), !isAltered else { throw altered }
    }

    var altered: KeychainError {
        let column = damagedColumn.map { ", in its column \($0)" } ?? ""
        return KeychainError(
            .decode, "the \(itemClass.noun) has been altered since it was stored\(column)",
            remedy:
                "restore the keychain from a backup, or delete it with 'tokenctl item -D v_PersistentRef=\(hexReference)' and add it anew"
        )
    }

    /// Its persistent reference, as `v_PersistentRef` of the command takes it.
    var hexReference: String { Hex.encode(PersistentReference(itemClass, .local(id)).encoded()) }

    private func associatedData(_ keychain: UniqueID, hasSecret: Bool = true) -> AssociatedData {
        var data = AssociatedData(hasSecret ? "keychain item 1" : "keychain item without data 1", keychain: keychain)
        data.append(Array(itemClass.rawValue.utf8))
        data.append(id.bytes)
        data.append(attributes)
        data.append(number: der == nil ? 0 : 1)
        data.append(der ?? [])
        return data
    }
}

extension ItemClass {
    /// Whether what items with these attributes hold is under seal, be it nothing: all but certificates and public keys.
    func seals(_ attributes: Attributes) -> Bool {
        isPassword || self == .key && attributes[.keyClass]?.isTrue == true
    }
}
