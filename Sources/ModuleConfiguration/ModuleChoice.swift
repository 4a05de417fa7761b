/// The modules of others that a program searches: the named ones, else those that p11-kit has configured for it.
public struct ModuleChoice: Sendable {
    /// The environment variable that names the modules: names in p11-kit or files, separated by colons; empty for none.
    public static let variable = "TOKENKIT_MODULES"

    public let p11Kit: P11KitConfiguration
    private let text: String?

    /// There is no such module.
    public struct Unknown: Error, Hashable {
        public let name: String
    }

    /// - Parameters:
    ///   - program: the program's name in p11-kit's configuration.
    ///   - configuration: `$XDG_CONFIG_HOME`.
    ///   - text: the value of ``variable``; nil where it is not set.
    public init(program: String, configuration: String, text: String?) {
        self.init(P11KitConfiguration(program: program, folders: .standard(configuration: configuration)), text: text)
    }

    init(_ p11Kit: P11KitConfiguration, text: String?) {
        self.p11Kit = p11Kit
        self.text = text
    }

    /// Whether the environment names the modules.
    public var isMade: Bool { text != nil }

    /// The modules that the environment names, else all that p11-kit has; each file once.
    ///
    /// - Throws: ``Unknown`` for a name that p11-kit does not have.
    public func modules() throws(Unknown) -> [ConfiguredModule] {
        guard let text else { return p11Kit.modules().modules }
        return try modules(named: text.split(separator: ":").map(String.init))
    }

    /// The modules of p11-kit's that are not used; none where the environment names the modules.
    public var leftOut: [P11KitConfiguration.LeftOut] { isMade ? [] : p11Kit.modules().leftOut }

    /// The modules of these names, each file once.
    ///
    /// - Parameter names: names in p11-kit, or paths of files, which have a slash in them.
    /// - Throws: ``Unknown`` for a name that p11-kit does not have.
    public func modules(named names: [String]) throws(Unknown) -> [ConfiguredModule] {
        let configured = names.allSatisfy { $0.contains("/") } ? [] : p11Kit.allModules().modules
        return try names.map { name throws(Unknown) in
            if name.contains("/") { return ConfiguredModule(path: name) }
            guard let module = configured.first(where: { $0.name == name }) else { throw Unknown(name: name) }
            return module
        }.oncePerFile.modules
    }
}
