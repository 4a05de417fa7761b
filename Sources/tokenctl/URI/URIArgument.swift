internal import CryptokiNames
internal import Glibc
internal import HostAPI
internal import KeychainModel
internal import Localization

extension PKCS11URI {
    /// The argument as a URI; nil for an argument that is none.
    ///
    /// - Throws: for a malformed URI, and for one that names a module that is not used.
    init?(argument text: String) throws {
        guard PKCS11URI.isURI(text) else { return nil }
        try self.init(text)
        let isOwn = moduleName.map(PKCS11URI.isOwn(name:)) ?? true && modulePath.map(PKCS11URI.isOwn(path:)) ?? true
        guard isOwn || Modules.areInUse(namedBy: self) else {
            let names = [moduleName, modulePath].compactMap(\.self).joined(separator: "' in '")
            throw CommandError(
                "the module '\(names)' of the URI is not used here",
                advice: "leave module-name and module-path out, and give the module with --module")
        }
    }

    /// The arguments that are URIs.
    static func all(in arguments: [String]) throws -> [PKCS11URI] {
        try arguments.compactMap { try PKCS11URI(argument: $0) }
    }

    /// The URI with certificates in place of the keys that it may name, since people paste the URI that they have.
    var forCertificates: PKCS11URI {
        guard object.kind == .privateKey || object.kind == .publicKey else { return self }
        var uri = self
        uri.object.kind = .certificate
        // The label is that of the key.
        if uri.object.id != nil { uri.object.label = nil }
        return uri
    }

    // MARK: Modules

    /// Whether the name is p11-kit's for the module of this package, or that of its file or of a copy.
    private static func isOwn(name: String) -> Bool {
        let file = name.hasPrefix("lib") ? name : "lib" + name
        return name == CryptokiLibrary.configuration || file == CryptokiLibrary.file
            || file.hasPrefix(CryptokiLibrary.file + ".") || file.hasPrefix(CryptokiLibrary.file + "-")
    }

    /// Whether the path is the module's file, or a folder that has it.
    private static func isOwn(path: String) -> Bool {
        let file = path.split(separator: "/").last.map(String.init) ?? ""
        if file.hasPrefix("lib"), isOwn(name: file) { return true }
        return unsafe access("\(path)/\(CryptokiLibrary.file).so", F_OK) == 0
    }
}

extension PKCS11URI.Place {
    /// A card or a file as the module of this package shows it, or a token as its own module does.
    init(_ keychain: KeychainDescription) {
        let slot = keychain.cryptokiSlotName.map { PKCS11URI.Slot($0) }
        // The id of another module's token is its URI.
        let own = keychain.kind == .moduleToken ? try? PKCS11URI(keychain.identifier.rawValue) : nil
        self.init(
            own?.wholeToken ?? PKCS11URI.Token(keychain.cryptokiName), slot: slot,
            library: keychain.kind == .moduleToken ? nil : .own)
    }
}

extension PKCS11URI {
    /// The URI of a card, a file, or a module's token.
    init(of keychain: KeychainDescription) { self.init(of: PKCS11URI.Place(keychain).token) }
}

extension PKCS11URI {
    /// Whether the token may be a card: the manufacturer that the URI tells, if any, is not that of keychains in files.
    var mayNameCard: Bool { token.manufacturer != .init(CryptokiLibrary.manufacturer) }
}
