internal import CryptokiNames
internal import Localization
internal import ModuleConfiguration
import Platform
internal import Synchronization

/// The PKCS #11 modules of other makers that a run of the command uses.
enum Modules {
    /// The modules where the options name none.
    static let choice = ModuleChoice(
        program: "tokenctl", configuration: Directories.own.userConfiguration,
        text: Environment.variable(ModuleChoice.variable))

    /// The modules that the command's options name, for URIs that name modules as well.
    static let named = Mutex<[ConfiguredModule]>([])

    /// Checks the names of modules in the options, else those in the environment.
    ///
    /// - Parameter options: nil for a command without options for cards. An unknown name in the environment is a module that fails then.
    static func checkNames(_ options: CardOptions?) throws {
        let names = options?.module ?? []
        do throws(ModuleChoice.Unknown) {
            if !names.isEmpty {
                let modules = try choice.modules(named: names)
                named.withLock { $0 = modules }
            } else if options != nil, choice.isMade {
                _ = try choice.modules()
            }
        } catch {
            throw CommandError(
                "p11-kit's configuration has no PKCS#11 module '\(error.name)'",
                advice: "tokenctl list-modules lists what there is; a file needs a slash in its path")
        }
    }

    /// Whether one of the modules that are searched is the one that a URI names.
    static func areInUse(namedBy uri: PKCS11URI) -> Bool {
        (named.withLock(\.self) + ((try? choice.modules()) ?? [])).contains(where: uri.matches)
    }

    /// The folders in which p11-kit's configuration names modules.
    static var foldersOfConfiguration: [String] { choice.p11Kit.foldersOfModules }
}
