internal import Glibc
internal import KeychainHost
internal import ModuleConfiguration
internal import PKCS11Driver
internal import Platform
internal import Synchronization
internal import TokenKit

/// The modules of other makers that the programs of a session have in common. Programs with the same settings for a module have one process
/// of it, and one login to each of its tokens.
///
/// A module's process ends some seconds after its last program, unless a token's PIN counts: it holds files and cards.
final class SharedModules: Sendable {
    /// A module with the environment of its process, which modules have settings in.
    private struct Configuration: Hashable {
        let module: ConfiguredModule
        /// For modules that p11-kit reaches by a name, the program that it decides about; else nil.
        let program: String?
        let variables: [String: String]
    }

    private struct Entry {
        let module: PKCS11Module
        var clients = 0
        var lastUse = ContinuousClock.now
    }

    private struct State {
        var entries: [Configuration: Entry] = [:]
        var isWatched = false
    }

    private let state = Mutex(State())

    /// The time for which a module goes on without a program.
    private static let patience: Duration = .seconds(10)

    /// Variables that tell where a program runs, and differ between programs with the same settings.
    private static let ofSurroundings: Set = [
        "_", "COLORTERM", "COLUMNS", "DESKTOP_STARTUP_ID", "GIO_LAUNCHED_DESKTOP_FILE", "GIO_LAUNCHED_DESKTOP_FILE_PID",
        "INVOCATION_ID", "JOURNAL_STREAM", "LINES", "MANAGERPID", "OLDPWD", "PWD", "SHLVL", "SSH_CLIENT",
        "SSH_CONNECTION", "SSH_TTY", "STY", "SYSTEMD_EXEC_PID", "TERM", "TERM_PROGRAM", "TERM_PROGRAM_VERSION", "TMUX",
        "TMUX_PANE", "VTE_VERSION", "WINDOWID", "XDG_ACTIVATION_TOKEN",
    ]

    /// A module for one client.
    ///
    /// - Parameters:
    ///   - program: the client's name in p11-kit's configuration.
    ///   - variables: of the client's environment.
    func module(_ module: ConfiguredModule, for program: String, _ variables: [String: String]) -> PKCS11Module {
        let configuration = Configuration(
            module: module, program: module.path == nil ? program : nil,
            variables: variables.filter { !SharedModules.ofSurroundings.contains($0.key) })
        return state.withLock { state in
            var entry = state.entries[configuration] ?? Entry(module: makeModule(configuration, for: program))
            entry.clients += 1
            state.entries[configuration] = entry
            if !state.isWatched { state.isWatched = BlockingThread.start { [self] in watch() } }
            return PKCS11Module(sharing: entry.module) { [self] in leave(configuration) }
        }
    }

    private func makeModule(_ configuration: Configuration, for program: String) -> PKCS11Module {
        let environment = configuration.variables.map { "\($0.key)=\($0.value)" }
        return PKCS11Module(configuration.module, worker: .tokenkitd(for: program, environment: environment)) {
            KeychainPreferences().effectivePINTimeout.map { PINLimits(total: $0) } ?? SharedCards.pinLimits
        }
    }

    private func leave(_ configuration: Configuration) {
        state.withLock { state in
            state.entries[configuration]?.clients -= 1
            state.entries[configuration]?.lastUse = .now
        }
    }

    /// Ends what is no longer used, until nothing is left.
    private func watch() {
        while true {
            sleep(UInt32(SharedModules.patience.components.seconds))
            // A module's end, outside of the lock, waits for its process.
            let (ended, isLast) = state.withLock { state in
                let ended = state.entries.filter { _, entry in
                    entry.clients == 0 && entry.lastUse.duration(to: .now) >= SharedModules.patience
                        && entry.module.slotsWithPIN.isEmpty
                }
                for configuration in ended.keys { state.entries[configuration] = nil }
                state.isWatched = !state.entries.isEmpty
                return (ended, !state.isWatched)
            }
            withExtendedLifetime(ended) {}
            if isLast { return }
        }
    }

    /// All modules that run, each once.
    var all: [any SharedTokenModule] { state.withLock { $0.entries.values.map(\.module) } }

    /// Whether the PIN of a token counts. Does not wait.
    var havePIN: Bool { all.contains { !$0.slotsWithPIN.isEmpty } }
}
