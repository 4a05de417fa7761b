internal import KeychainModel
internal import Localization

/// The refusals of an item's protection.
extension ItemRow {
    /// - Throws: `errSecInteractionNotAllowed` for an item whose access control asks for something first.
    func checkFree() throws(KeychainError) {
        guard let control = try AccessControl.stored(in: attributes, of: itemClass),
            control.wantsPasscode || control.wantsApplicationPassword
        else { return }
        throw KeychainError(
            .interactionNotAllowed, "the \(itemClass.noun) asks for a password each time it is read",
            remedy: "read it with an authentication context")
    }

    /// - Throws: `errSecDataNotAvailable` for a key that is not extractable.
    func checkExtractable() throws(KeychainError) {
        guard itemClass == .key, attributes[.isExtractable]?.isTrue == false else { return }
        throw KeychainError(
            .dataNotAvailable,
            "the key '\(attributes[.label]?.string ?? "")' was stored as one that cannot be extracted")
    }

    /// - Throws: `errSecReadOnlyAttr` where a key would become less protected, or claim a protection that it has not
    ///   always had; `errSecParam` for another access control than the item has, and another accessibility than that of
    ///   the access control.
    func checkMayBecome(_ changes: Attributes) throws(KeychainError) {
        // Wrapper libraries give the access control with each change, as they did when they added the item.
        if let new = changes[.accessControl], attributes[.accessControl].map({ new.matches($0) }) != true {
            throw KeychainError(
                .param, "the access control of an item stays as it was added",
                remedy: "delete the item and add it with the other", key: Attribute.accessControl.rawValue)
        }
        if attributes[.accessControl] != nil, let accessible = changes[.accessible] {
            _ = try AccessControl.applyingAccessControl(attributes.merging([.accessible: accessible]) { $1 })
        }
        if der != nil { try itemClass.checkAgreement(changes, with: attributes) }
        guard itemClass == .key else { return }
        // A key can become non-extractable or sensitive at any time, and then stays so.
        let oneWay: [(Attribute, to: Bool)] = [(.isExtractable, false), (.isSensitive, true)]
        for (attribute, final) in oneWay {
            guard let new = changes[attribute]?.isTrue, let old = attributes[attribute]?.isTrue else { continue }
            guard new == old || new == final else { throw fixed(attribute) }
        }
        for attribute in [Attribute.wasNeverExtractable, .wasAlwaysSensitive] {
            guard let new = changes[attribute]?.isTrue else { continue }
            guard new == attributes[attribute]?.isTrue else { throw fixed(attribute) }
        }
    }

    /// - Throws: `errSecInteractionNotAllowed` for a secret under an application password, which is not known here.
    func checkSecretMayChange() throws(KeychainError) {
        guard try AccessControl(of: attributes)?.wantsApplicationPassword == true else { return }
        throw KeychainError(
            .interactionNotAllowed, "the \(itemClass.noun) is under an application password",
            remedy: "change it with an authentication context")
    }

    private func fixed(_ attribute: Attribute) -> KeychainError {
        KeychainError(
            .readOnlyAttribute, "attribute \(attribute) of a key can only be changed so that the key is protected more",
            key: attribute.rawValue)
    }
}
