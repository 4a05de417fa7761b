internal import CryptokiNames
internal import Glibc
internal import KeychainHost
internal import PKCS11Driver
internal import Synchronization
internal import TokenKit

extension PKCS11URI {
    /// The argument as a URI; nil for an argument that is none.
    ///
    /// - Throws: for a malformed URI, and for one that names a module that is not used.
    init?(argument text: String) throws {
        guard PKCS11URI.isURI(text) else { return nil }
        try self.init(text)
        let isOwn = moduleName.map(PKCS11URI.isOwn(name:)) ?? true && modulePath.map(PKCS11URI.isOwn(path:)) ?? true
        guard isOwn || PKCS11URI.modulesInUse.contains(where: matches) else {
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

    /// The modules of other makers that are searched.
    private static var modulesInUse: [ConfiguredModule] {
        Modules.named.withLock(\.self) + ((try? Modules.choice.modules()) ?? [])
    }
}

extension PKCS11URI.Place {
    /// A card as the module of this package shows it, or a token as its own module does.
    ///
    /// - Parameter slot: nil for a card that is not inserted.
    init(_ identity: TokenIdentity, in slot: (any TokenBackend)?) {
        let isForeign = identity.id.driver == PKCS11Module.driver
        self.init(
            PKCS11URI.Token(identity), slot: slot.map { PKCS11URI.Slot($0.cryptokiName) },
            library: isForeign ? nil : .own)
    }

    /// A keychain in a file.
    init(_ keychain: LocalKeychain) {
        self.init(
            PKCS11URI.Token(keychain.cryptokiName), slot: PKCS11URI.Slot(keychain.cryptokiSlotName), library: .own)
    }
}

extension PKCS11URI {
    /// Whether the token may be a card: the manufacturer that the URI tells, if any, is not that of keychains in files.
    var mayNameCard: Bool { token.manufacturer != .init(CryptokiLibrary.manufacturer) }
}

extension PKCS11URI.Slot {
    init(_ name: CryptokiSlotName) {
        self.init(
            description: .init(name.description), manufacturer: .init(name.manufacturer), number: UInt64(name.number))
    }
}

extension PKCS11URI.Library {
    fileprivate static let own = PKCS11URI.Library(
        description: .init(CryptokiLibrary.description), manufacturer: .init(CryptokiLibrary.manufacturer),
        version: Int(CryptokiLibrary.version.major) << 8 | Int(CryptokiLibrary.version.minor))
}
