extension AccessControl {
    /// The access control among an item's attributes.
    ///
    /// - Throws: `errSecParam` for bytes that are none.
    package init?(of attributes: Attributes) throws(KeychainError) {
        guard let bytes = attributes[.accessControl]?.bytes else { return nil }
        try self.init(parsing: bytes)
    }

    /// The attributes of a new item, whose accessibility is the access control's.
    ///
    /// - Throws: `errSecParam` where it was given as another.
    package static func applyingAccessControl(_ attributes: Attributes) throws(KeychainError) -> Attributes {
        guard let control = try AccessControl(of: attributes) else { return attributes }
        if let given = attributes[.accessible], !given.matches(control.protection) {
            throw KeychainError(
                .param, "the item's accessibility is not that of its access control",
                key: Attribute.accessible.rawValue)
        }
        return attributes.merging([.accessible: control.protection]) { $1 }
    }
}

extension Item {
    /// The constraints on the use of its secret; nil where an unlocked keychain is enough.
    ///
    /// - Throws: `errSecDecode` for one that was not stored as it is.
    public var accessControl: AccessControl? {
        get throws(KeychainError) {
            try AccessControl.stored(in: attributes, of: itemClass)
        }
    }
}

extension AccessControl {
    /// - Throws: `errSecDecode` for one that was not stored as it is.
    package static func stored(
        in attributes: Attributes, of itemClass: ItemClass
    ) throws(KeychainError) -> AccessControl? {
        do throws(KeychainError) { return try AccessControl(of: attributes) } catch {
            throw KeychainError(
                .decode, "the \(itemClass.noun) has been altered since it was stored: \(error.reason)",
                remedy: "delete it and add it anew, or restore the keychain from a backup")
        }
    }
}

extension NewItem {
    /// - Throws: `errSecInteractionNotAllowed` for a secret that is to be under an application password, and is not.
    package func checkSealed() throws(KeychainError) {
        guard try AccessControl(of: attributes)?.wantsApplicationPassword == true, !isApplicationSealed else { return }
        guard secret != nil else { return }
        throw KeychainError(
            .interactionNotAllowed, "the \(itemClass.noun) wants an application password",
            remedy: "add it with an authentication context")
    }
}
