internal import HostAPI
internal import KeychainHost
internal import PKCS11Driver
internal import Platform
internal import SSHAgent
internal import StandardDrivers
internal import Synchronization
internal import TokenKit

/// The PKCS #11 modules of other makers that the agent's clients have added. Each runs in one process, with the host's own environment, and
/// all connections have its logins in common.
final class AgentModules: ModuleRunner {
    private struct Entry {
        let module: PKCS11Module
        var hasEnded = false
    }

    private let shared: SharedState
    private let process: HostProcess
    /// The modules by their files. One that has ended stays for the PINs that its tokens have refused.
    private let entries = Mutex<[String: Entry]>([:])

    init(sharing shared: SharedState, in process: HostProcess) { (self.shared, self.process) = (shared, process) }

    func makeHost(ofModule path: String) -> any InProcessHost {
        Host(forModulesOf: keychains(of: path), prompter: nil, in: process)
    }

    /// The keychains of a client that uses a module alone.
    func keychains(of path: String, tellingNews news: TokenNews.Listener? = nil) -> ProcessKeychains {
        ProcessKeychains(
            sharedCards: shared.cards, files: shared.files, drivers: StandardDrivers.all,
            modules: { [self] in [PKCS11Module(sharing: module(path))] }, tellingNews: news)
    }

    private func module(_ path: String) -> PKCS11Module {
        entries.withLock { entries in
            let known = entries[path]
            if let known, !known.hasEnded { return known.module }
            let module =
                known?.module.renewed()
                ?? PKCS11Module(ConfiguredModule(path: path), worker: .tokenkitd(for: "ssh-agent")) {
                    PINLimits(total: KeychainPreferences().effectivePINTimeout)
                }
            entries[path] = Entry(module: module)
            return module
        }
    }

    func end(_ path: String) {
        let module = entries.withLock { entries in
            entries[path]?.hasEnded = true
            return entries[path]?.module
        }
        module?.end()
    }

    /// The logout from the tokens of each module. One may wait for a touch.
    var logouts: [@Sendable () -> Void] {
        entries.withLock { $0.values.filter { !$0.hasEnded }.map(\.module) }.map { module in { module.forgetPINs() } }
    }
}
