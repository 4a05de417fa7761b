internal import TokenKit

/// A module that is to be used, by its name and its file.
public struct ConfiguredModule: Hashable, Sendable {
    /// What p11-kit calls it: the name of its `.module` file, or that of the module's own.
    public let name: String
    public let path: String

    public init(name: String, path: String) {
        self.name = name
        self.path = path
    }

    /// One named by its file.
    public init(path: String) {
        let file = path.split(separator: "/").last.map(String.init) ?? path
        self.init(name: file.hasSuffix(".so") ? String(file.dropLast(3)) : file, path: path)
    }

    /// Whether its tokens are cards in readers of the PC/SC service and nothing else: OpenSC's modules, and Yubico's.
    var readsCardsAlone: Bool {
        let file = path.split(separator: "/").last ?? ""
        return ["opensc-pkcs11.so", "onepin-opensc-pkcs11.so", "libykcs11.so"].contains { file.hasPrefix($0) }
    }

    /// Whether it is this product's own module, in which the same cards and keychains would be seen once more.
    var isOurs: Bool { path.split(separator: "/").last?.hasPrefix(CryptokiLibrary.file) ?? false }
}
