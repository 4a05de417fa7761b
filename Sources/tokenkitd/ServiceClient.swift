internal import HostAPI
internal import HostServer
internal import KeychainHost
internal import KeychainModel
internal import Localization
internal import ModuleConfiguration
internal import PKCS11Driver
internal import Platform
internal import StandardDrivers
internal import TokenKit

/// A client of the host's face: its hello, and what the kernel tells of its process.
struct ServiceClient {
    private let options: HostOptions
    private let variables: [String: String]
    private let peer: Peer

    init(_ hello: ServiceHello, _ peer: Peer) {
        options = hello.options
        variables = ClientVariables(hello.environment).values
        self.peer = peer
    }

    /// The host of the client, as its options want it.
    ///
    /// - Parameters:
    ///   - shared: the state that the host's programs have in common; nil for a host of one program.
    ///   - process: this process.
    ///   - trace: the trace of commands to cards; nil for none.
    /// - Throws: `errSecParam` for a module that is not there, or a reader's URI that cannot be read.
    func host(sharing shared: SharedState?, in process: HostProcess, trace: TraceFile?) throws(KeychainError) -> Host {
        let host = Host(
            try keychains(shared, trace, process.news(of: peer.client)),
            accessGroups: options.accessGroups ?? AccessGroups(configured: variables[AccessGroups.variable]),
            trustAnchors: variables["SSL_CERT_FILE"].map { .file($0) } ?? .system, prompter: person,
            in: process, for: peer.client)
        return shared?.host(host, for: peer, variables, asks: !options.hasMoreRights, isForRequests: true) ?? host
    }

    private var person: any Prompter {
        options.hasMoreRights ? NoPrompter(because: KeychainError.reasonOfMoreRights) : prompter(peer, variables)
    }

    private func keychains(
        _ shared: SharedState?, _ trace: TraceFile?, _ news: TokenNews.Listener?
    ) throws(KeychainError) -> ProcessKeychains {
        let reader = try chosenReader
        let modules = try modules(shared?.modules)
        let isNamed = if case .named = options.modules { true } else { false }
        return ProcessKeychains(
            recalls: options.recalls, trace: trace, waitsOnce: options.waitsOnce, sharedCards: shared?.cards,
            files: shared?.files ?? SharedKeychains(),
            drivers: StandardDrivers.all,
            modules: { reader?.isFound ?? false && !isNamed ? [] : modules.used() }, leftOutModules: modules.leftOut,
            includesToken: { reader?.includes($0) ?? true },
            readers: { () throws(CardError) in
                guard let reader else { return try PCSCReader.all() }
                return try reader.readers()
            }, tellingNews: news)
    }

    private var chosenReader: ReaderChoice? {
        get throws(KeychainError) {
            guard let reader = options.reader else { return nil }
            do throws(ReaderChoice.Invalid) { return try ReaderChoice(reader) } catch {
                throw KeychainError(.param, "\(error)")
            }
        }
    }

    // MARK: Modules

    /// The modules of other makers. p11-kit's configuration is read when tokens are searched for.
    private struct Modules {
        var used: @Sendable () -> [any TokenModule] = { [] }
        var leftOut: @Sendable () -> [(name: String, reason: String)] = { [] }
    }

    /// - Parameter shared: the modules that the host's programs have in common; nil for a host of one program.
    private func modules(_ shared: SharedModules?) throws(KeychainError) -> Modules {
        let choice = ModuleChoice(
            program: peer.program, configuration: Directories { variables[$0] }.userConfiguration,
            text: variables[ModuleChoice.variable])
        do throws(ModuleChoice.Unknown) {
            switch options.modules {
            case .none: return Modules()
            case .named(let names):
                let modules = try choice.modules(named: names)
                return Modules(used: { used(modules, shared) })
            case .configured:
                guard variables["PATH"] != nil else { return Modules() }
                return Modules(
                    used: { used(modules(of: choice), shared) },
                    leftOut: { choice.leftOut.map { ($0.name, $0.reason) } })
            }
        } catch {
            throw KeychainError(
                .param, "p11-kit's configuration has no PKCS#11 module '\(error.name)'",
                remedy: "tokenctl list-modules lists what there is; a file needs a slash in its path")
        }
    }

    /// The modules of a choice. An unknown name becomes a module that fails in each search.
    private func modules(of choice: ModuleChoice) -> [ConfiguredModule] {
        do throws(ModuleChoice.Unknown) { return try choice.modules() } catch {
            return [ConfiguredModule(path: error.name)]
        }
    }

    private func used(_ modules: [ConfiguredModule], _ shared: SharedModules?) -> [any TokenModule] {
        if let shared { return modules.map { shared.module($0, for: peer.program, variables) } }
        let worker = WorkerProgram.tokenkitd(
            for: peer.program, environment: variables.map { "\($0.key)=\($0.value)" })
        return modules.map {
            PKCS11Module($0, worker: worker) { PINLimits(total: KeychainPreferences().effectivePINTimeout) }
        }
    }
}
