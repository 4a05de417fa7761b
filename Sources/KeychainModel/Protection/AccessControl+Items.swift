internal import Localization

extension AccessControl {
    /// The access control among an item's attributes.
    ///
    /// - Throws: `errSecParam` for bytes that are not an access control.
    package init?(of attributes: Attributes) throws(KeychainError) {
        guard let bytes = attributes[.accessControl]?.bytes else { return nil }
        try self.init(parsing: bytes)
    }

    /// The attributes of a new item, with the accessibility that its access control has.
    ///
    /// - Throws: `errSecParam` where another accessibility was given.
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
    /// The constraints on the use of the item's secret; nil where an unlocked keychain is enough.
    ///
    /// - Throws: `errSecDecode` for an access control that was altered after it was stored.
    public var accessControl: AccessControl? {
        get throws(KeychainError) {
            try AccessControl.stored(in: attributes, of: itemClass)
        }
    }
}

extension AccessControl {
    /// - Throws: `errSecDecode` for an access control that was altered after it was stored.
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
    /// - Throws: `errSecInteractionNotAllowed` for a secret whose access control wants an application password, if it
    ///   is not sealed under one.
    package func checkSealed() throws(KeychainError) {
        guard try AccessControl(of: attributes)?.wantsApplicationPassword == true, !isApplicationSealed else { return }
        guard secret != nil else { return }
        throw KeychainError(
            .interactionNotAllowed, "the \(itemClass.noun) wants an application password",
            remedy: "add it with an authentication context")
    }
}
