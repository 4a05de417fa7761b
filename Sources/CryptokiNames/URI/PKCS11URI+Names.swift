extension PKCS11URI.Slot {
    package init(_ name: CryptokiSlotName) {
        self.init(
            description: .init(name.description), manufacturer: .init(name.manufacturer), number: UInt64(name.number))
    }
}

extension PKCS11URI.Library {
    /// The module of this package.
    package static let own = PKCS11URI.Library(
        description: .init(CryptokiLibrary.description), manufacturer: .init(CryptokiLibrary.manufacturer),
        version: Int(CryptokiLibrary.version.major) << 8 | Int(CryptokiLibrary.version.minor))
}
