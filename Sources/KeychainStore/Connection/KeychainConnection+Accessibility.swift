internal import KeychainModel
internal import Localization

/// When the secrets of items may be used, keychain semantics 3.1. All of them need the keychain's key.
extension KeychainConnection {
    /// - Throws: `errSecInteractionNotAllowed` while the login session is locked, for an item that may not be used then.
    func checkSession(_ row: ItemRow) throws(KeychainError) {
        guard Accessibility.whileUnlocked.contains(where: { row.isAccessible($0) }), environment.isSessionLocked()
        else { return }
        throw KeychainError(
            .interactionNotAllowed, "the \(row.itemClass.noun) cannot be used while the session is locked",
            remedy: "unlock the session")
    }

    /// - Throws: `errSecAuthFailed` for an item that may only be in a keychain with a password, if the keychain has none.
    func checkPasscode(_ row: ItemRow) throws(KeychainError) {
        guard row.isAccessible(Accessibility.whenPasscodeSet) else { return }
        let key = try WrappedKey(readingFrom: database)
        if let damage = key.damage { throw damage }
        guard !key.hasPassword else { return }
        throw KeychainError(
            .authFailed, "the item may only be in a keychain with a password, and this one has none",
            remedy: "set a password first", key: Attribute.accessible.rawValue)
    }
}

extension ItemRow {
    fileprivate func isAccessible(_ accessibility: AttributeValue) -> Bool {
        attributes[.accessible]?.matches(accessibility) ?? false
    }
}
