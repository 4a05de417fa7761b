internal import KeychainHost
internal import PKCS11Driver
internal import TokenKit

/// The PKCS #11 modules of others that a run of the command uses.
enum Modules {
    /// Those that the options name, else those of `TOKENKIT_MODULES`, else those that p11-kit has configured.
    ///
    /// Whoever chooses a reader wants no other tokens.
    static func inUse(_ options: CardOptions?) throws -> @Sendable () -> [any TokenModule] {
        let names = options?.module ?? []
        guard options?.reader == nil || !names.isEmpty else { return { [] } }
        let given = try names.isEmpty ? ofVariable() : named(names)
        return { (given ?? p11Kit.modules().modules).map { PKCS11Module($0, worker: worker) } }
    }

    /// Those that are used without options.
    static func configured() throws -> [ConfiguredModule] { try ofVariable() ?? p11Kit.modules().modules }

    private static func ofVariable() throws -> [ConfiguredModule]? {
        try Directories.environmentVariable(variable).map { try named($0.split(separator: ":").map(String.init)) }
    }

    /// - Parameter names: files, or names in p11-kit.
    private static func named(_ names: [String]) throws -> [ConfiguredModule] {
        try names.map { name in
            if name.contains("/") { return ConfiguredModule(path: name) }
            guard let module = p11Kit.modules().modules.first(where: { $0.name == name }) else {
                throw CommandError(
                    "there is no PKCS#11 module '\(name)'", "in p11-kit's configuration",
                    advice: "tokenctl list-modules lists what there is; a file needs a slash in its path")
            }
            return module
        }
    }

    static var p11Kit: P11KitConfiguration {
        let own = Directories.own
        let configuration = own.configuration.split(separator: "/", omittingEmptySubsequences: false).dropLast()
        return P11KitConfiguration(
            program: "tokenctl", folders: .standard(configuration: configuration.joined(separator: "/")))
    }

    /// Names or files of modules, with colons between; empty for none.
    static let variable = "TOKENKIT_MODULES"

    // MARK: Worker

    /// This very program, whatever has become of its file.
    static let worker = WorkerProgram(path: "/proc/self/exe", arguments: ["tokenctl", flag])

    /// The module that the program was started to serve as a worker; nil where it was started for anything else.
    static func toServe(_ arguments: [String]) -> String? {
        arguments.count == 3 && arguments[1] == flag ? arguments[2] : nil
    }

    private static let flag = "--serve-module"
}
