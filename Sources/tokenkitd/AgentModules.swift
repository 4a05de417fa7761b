internal import HostAPI
internal import KeychainHost
internal import ModuleConfiguration
internal import PKCS11Driver
internal import Platform
internal import SSHAgent
internal import StandardDrivers
internal import Synchronization
internal import TokenKit

/// The PKCS #11 modules of other makers that the agent's clients have added. Each runs in one process, with the host's own environment, and
/// all connections have its logins in common.
final class AgentModules: Sendable {
    private struct Entry {
        let module: PKCS11Module
        var hasEnded = false
    }

    /// The modules by their files. One that has ended stays for the PINs that its tokens have refused.
    private let entries = Mutex<[String: Entry]>([:])

    /// A module for one client.
    func module(_ path: String) -> PKCS11Module {
        entries.withLock { entries in
            let known = entries[path]
            if let known, !known.hasEnded { return PKCS11Module(sharing: known.module) }
            let module =
                known?.module.renewed()
                ?? PKCS11Module(ConfiguredModule(path: path), worker: .tokenkitd(for: "ssh-agent")) {
                    PINLimits(total: KeychainPreferences().effectivePINTimeout)
                }
            entries[path] = Entry(module: module)
            return PKCS11Module(sharing: module)
        }
    }

    func end(_ path: String) {
        let module = entries.withLock { entries in
            entries[path]?.hasEnded = true
            return entries[path]?.module
        }
        module?.end()
    }

    /// The modules that have not ended.
    var all: [any SharedTokenModule] { entries.withLock { $0.values.filter { !$0.hasEnded }.map(\.module) } }
}

/// Makes the hosts that use a module of the agent alone.
struct AgentModuleRunner: ModuleRunner {
    let shared: SharedState
    let process: HostProcess

    func makeHost(ofModule path: String) -> any InProcessHost {
        Host(forModulesOf: keychains(of: path), prompter: nil, in: process)
    }

    func keychains(of path: String, tellingNews news: TokenNews.Listener? = nil) -> ProcessKeychains {
        ProcessKeychains(
            sharedCards: shared.cards, files: shared.files, drivers: StandardDrivers.all,
            modules: { [shared] in [shared.agentModules.module(path)] }, tellingNews: news)
    }

    func end(_ path: String) { shared.agentModules.end(path) }
}
