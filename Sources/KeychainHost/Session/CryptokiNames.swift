package import CryptokiNames
package import KeychainModel

// The names of a file's keychain in PKCS #11, for the module that shows it and for URIs that name it.
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

extension LocalKeychain {
    package var cryptokiName: CryptokiTokenName { CryptokiTokenName(ofKeychain: name, identifier) }
    package var cryptokiSlotName: CryptokiSlotName { CryptokiSlotName(ofKeychain: name, at: path) }
}
