internal import CryptokiNames
internal import KeychainHost
internal import PKCS11Driver
import Platform
internal import Synchronization
internal import TokenKit

/// The PKCS #11 modules of other makers that a run of the command uses.
enum Modules {
    /// The modules where the options name none.
    static let choice = ModuleChoice(
        program: "tokenctl", configuration: Directories.own.userConfiguration,
        text: Environment.variable(ModuleChoice.variable))

    /// The modules that p11-kit's configuration leaves out, where neither the options nor the environment name any.
    static func leftOut(_ options: CardOptions?) -> @Sendable () -> [(name: String, reason: String)] {
        let isNamed = options?.module.isEmpty == false
        return { isNamed ? [] : choice.leftOut.map { ($0.name, $0.reason) } }
    }

    /// The modules that the command's options name, for URIs that name modules as well.
    static let named = Mutex<[ConfiguredModule]>([])

    /// The modules that the options name, else those of the choice. p11-kit's configuration is read when tokens are
    /// searched for.
    ///
    /// - Parameter options: nil for a command without options for cards. An unknown name in the environment is a module that fails then.
    static func inUse(_ options: CardOptions?) throws -> @Sendable () -> [any TokenModule] {
        let names = options?.module ?? []
        do throws(ModuleChoice.Unknown) {
            let given =
                try !names.isEmpty
                ? choice.modules(named: names) : choice.isMade && options != nil ? choice.modules() : nil
            if !names.isEmpty { named.withLock { $0 = given ?? [] } }
            return {
                (given ?? standard).map {
                    PKCS11Module($0, worker: .tokenctl(at: "/proc/self/exe")) {
                        KeychainPreferences().effectivePINTimeout
                    }
                }
            }
        } catch {
            throw CommandError(
                "p11-kit's configuration has no PKCS#11 module '\(error.name)'",
                advice: "tokenctl list-modules lists what there is; a file needs a slash in its path")
        }
    }

    /// The modules where the options name none.
    private static var standard: [ConfiguredModule] {
        do throws(ModuleChoice.Unknown) { return try choice.modules() } catch {
            return [ConfiguredModule(path: error.name)]
        }
    }

    /// Whether one of the modules that are searched is the one that a URI names.
    static func areInUse(namedBy uri: PKCS11URI) -> Bool {
        (named.withLock(\.self) + ((try? choice.modules()) ?? [])).contains(where: uri.matches)
    }

    /// The folders in which p11-kit's configuration names modules.
    static var foldersOfConfiguration: [String] { choice.p11Kit.foldersOfModules }

    /// Serves a module, where the arguments of this process say that it was started as a module's worker.
    ///
    /// - Returns: whether it was.
    static func serve(_ arguments: [String]) -> Bool {
        guard let (module, program) = WorkerProgram.moduleToServe(arguments) else { return false }
        ModuleWorker.run(module, for: program)
        return true
    }
}
