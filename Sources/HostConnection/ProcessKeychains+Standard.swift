package import KeychainHost
internal import PKCS11Driver
internal import Platform
internal import StandardDrivers

extension HostConnection {
    /// The keychains of a program that runs the host inside its process: all drivers, and the modules that p11-kit's
    /// configuration gives the program.
    package static func process() -> ProcessKeychains {
        ProcessKeychains(
            drivers: StandardDrivers.all,
            modules: {
                // A program that has more rights than its user starts no program that the user's environment names.
                guard Environment.variable("PATH") != nil else { return [] }
                return modules().map { module in
                    PKCS11Module(module, worker: .tokenctl(at: "tokenctl", for: program)) {
                        KeychainPreferences().effectivePINTimeout
                    }
                }
            },
            leftOutModules: { choice.leftOut.map { ($0.name, $0.reason) } })
    }

    /// The name by which p11-kit's configuration knows this program.
    private static var program: String {
        CommandLine.arguments.first.flatMap { $0.split(separator: "/").last }.map(String.init) ?? ""
    }

    private static var choice: ModuleChoice {
        ModuleChoice(
            program: program, configuration: Directories().userConfiguration,
            text: Environment.variable(ModuleChoice.variable))
    }

    /// The other makers' modules that are searched. An unknown name in the choice becomes a module that fails in each search.
    private static func modules() -> [ConfiguredModule] {
        do { return try choice.modules() } catch { return [ConfiguredModule(path: error.name)] }
    }
}
