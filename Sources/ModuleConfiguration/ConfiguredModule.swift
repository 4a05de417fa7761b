package import CryptokiNames
internal import Platform

/// A module in use: its name and its file.
public struct ConfiguredModule: Hashable, Sendable {
    /// The name in p11-kit: that of its `.module` file, or that of the module's own file.
    public let name: String

    /// The module's file; nil for a module that p11-kit reaches elsewhere (`remote:`), and finds by the name.
    public let path: String?

    public init(name: String, path: String?) {
        self.name = name
        self.path = path
    }

    /// A module named by its file.
    public init(path: String) {
        let file = path.split(separator: "/").last.map(String.init) ?? path
        self.init(name: file.hasSuffix(".so") ? String(file.dropLast(3)) : file, path: path)
    }

    /// The module's name for a worker: a path, which has a slash in it, or a name, which has none.
    package var place: String { path ?? name }

    /// A command of another program that uses the module.
    package var test: String { "p11tool \(path.map { "--provider \($0) " } ?? "")--list-tokens" }

    /// Whether the module's tokens are only cards in PC/SC readers, as with OpenSC's modules and Yubico's.
    package var readsCardsAlone: Bool {
        ["opensc-pkcs11.so", "onepin-opensc-pkcs11.so", "libykcs11.so"].contains { file.hasPrefix($0) }
    }

    /// Whether the module is this product's own, in which the same cards and keychains would be seen once more.
    var isOurs: Bool { file.hasPrefix(CryptokiLibrary.file) }

    private var file: Substring { path?.split(separator: "/").last ?? "" }

    // MARK: In URIs

    /// Whether a name is the module's in p11-kit or that of its file, with or without `lib` and `.so`, regardless of letter case.
    /// RFC 7512 §2.3 wants the name without them.
    func isNamed(_ other: String) -> Bool {
        let wanted = ConfiguredModule.bareName(other[...])
        return ConfiguredModule.bareName(name[...]) == wanted
            || path != nil && ConfiguredModule.bareName(file) == wanted
    }

    private static func bareName(_ file: Substring) -> String {
        let name = file.lowercased()
        let start = name.hasPrefix("lib") ? name.dropFirst(3) : name[...]
        return String(start.hasSuffix(".so") ? start.dropLast(3) : start)
    }

    /// Whether a path is that of the module's file, or of the folder that the file is in.
    func isAt(_ other: String) -> Bool {
        guard let path, let wanted = resolvedPath(other) else { return path == other }
        let folder = path.split(separator: "/").dropLast().joined(separator: "/")
        return resolvedPath(path) == wanted || resolvedPath("/" + folder) == wanted
    }
}

extension [ConfiguredModule] {
    /// The modules with each file once, under its first name. A file loaded twice would show its tokens twice, with two logins.
    var oncePerFile: (modules: [ConfiguredModule], others: [(module: ConfiguredModule, first: ConfiguredModule)]) {
        var firsts: [String: ConfiguredModule] = [:]
        var modules: [ConfiguredModule] = []
        var others: [(module: ConfiguredModule, first: ConfiguredModule)] = []
        for module in self {
            let file = module.path.map { resolvedPath($0) ?? $0 }
            if let file, let first = firsts[file] {
                others.append((module, first))
            } else {
                modules.append(module)
                if let file { firsts[file] = module }
            }
        }
        return (modules, others)
    }
}

extension PKCS11URI {
    /// Whether a module is the one that the URI names, or one of those in the folder that it names. RFC 7512 §2.3.
    package func matches(_ module: ConfiguredModule) -> Bool {
        moduleName.map(module.isNamed) ?? true && modulePath.map(module.isAt) ?? true
    }
}
