package import CryptokiNames
package import KeychainModel

// The names of keychains in PKCS #11, for the module that shows them and for URIs that name them.
extension CryptokiTokenName {
    /// A keychain in a file as a token.
    package init(ofKeychain name: String, _ identifier: KeychainIdentifier) {
        self.init(
            label: name, manufacturer: CryptokiLibrary.manufacturer, model: "Keychain",
            serialNumber: String(identifier.rawValue.filter { $0 != "-" }.suffix(16)))
    }
}

extension CryptokiSlotName {
    /// The slot that a keychain in a file is in.
    package init(ofKeychain name: String, at path: String) {
        self.init(
            description: "Keychain \(name)", manufacturer: CryptokiLibrary.manufacturer,
            number: CryptokiSlotName.number(of: path, in: CryptokiSlotName.keychains))
    }
}

extension KeychainDescription {
    /// The name of its token as this package's module shows it.
    package var cryptokiName: CryptokiTokenName {
        guard kind != .file else { return CryptokiTokenName(ofKeychain: name, identifier) }
        return CryptokiTokenName(
            ofCard: name, manufacturer: token?.manufacturer, model: token?.model, serialNumber: token?.serialNumber,
            instance: identifier.instance)
    }

    /// The name of the slot that its token is in; nil for a card that is in no reader.
    package var cryptokiSlotName: CryptokiSlotName? {
        kind == .file ? CryptokiSlotName(ofKeychain: name, at: location) : token?.slotName
    }
}
