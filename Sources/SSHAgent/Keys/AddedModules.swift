package import HostAPI
internal import KeychainModel
internal import Platform
internal import SecureBytes
internal import Synchronization

/// Runs PKCS #11 modules of other makers, each in a process of its own that all connections to the agent have in common.
package protocol ModuleRunner: Sendable {
    /// Makes a host that asks nobody, with the tokens of a module alone. The module is started with the first request.
    ///
    /// - Parameter path: the module's file, without symbolic links.
    func makeHost(ofModule path: String) -> any InProcessHost

    /// Ends a module's process. The PINs that its tokens have refused stay refused.
    func end(_ path: String)
}

/// A PKCS #11 module of another maker that a client has added.
struct AddedModule: Sendable, Equatable, Expiring {
    /// The module's file, without symbolic links.
    let path: String
    let limits: KeyLimits

    var id: String { path }
}

/// The PKCS #11 modules of other makers that clients have added, and the keys of their tokens.
final class AddedModules: Sendable {
    private struct State {
        /// The keys of each module at the last look.
        var known: [String: [HostedKey]] = [:]
        /// The number of uses of each module that are under way.
        var uses: [String: Int] = [:]
        /// The last failure of each module, which is logged once.
        var failures: [String: String] = [:]
    }

    private let runner: any ModuleRunner
    private let modules: ExpiringList<AddedModule>
    private let log: @Sendable (String) -> Void
    private let state = Mutex(State())
    /// Serialises additions, during which a module may be started and ended.
    let additions = Mutex(())

    /// Modules that are kept at a time. Each is a process.
    static let maximumCount = 16

    init(_ runner: any ModuleRunner, log: @escaping @Sendable (String) -> Void) {
        (self.runner, self.log) = (runner, log)
        modules = ExpiringList(limit: AddedModules.maximumCount) { runner.end($0.path) }
    }

    var all: [AddedModule] { modules.all }

    func add(_ module: AddedModule) -> Bool { modules.add(module) }
    func remove(_ path: String) -> Bool { modules.remove(path) }
    func removeAll() { modules.removeAll() }

    func has(_ path: String) -> Bool { all.contains { $0.path == path } }

    /// Ends a module that is not added.
    func end(_ path: String) { if !has(path) { runner.end(path) } }

    // MARK: Keys

    /// The keys of all modules. What cannot be read is left out, and a module that is in use is not asked: its token may wait for a touch.
    var keys: [HostedKey] {
        all.flatMap { module in
            if let known = state.withLock({ $0.uses[module.path] == nil ? nil : $0.known[module.path] }) {
                return known.map { $0.with(module) }
            }
            // It may be removed meanwhile, and would be started again.
            defer { end(module.path) }
            do throws(Failure) {
                let keys = try look(into: module)
                state.withLock { $0.failures[module.path] = nil }
                return keys
            } catch {
                note(error, of: module)
                return []
            }
        }
    }

    private func note(_ failure: Failure, of module: AddedModule) {
        let isNew = state.withLock { $0.failures.updateValue(failure.reason, forKey: module.path) != failure.reason }
        guard isNew else { return }
        log(DisplayText.line("ssh agent: the PKCS#11 module \(module.path) shows no keys: \(failure.reason)"))
    }

    /// A module shows no keys.
    struct Failure: Error {
        let reason: String
    }

    /// The keys of a module that SSH can use.
    ///
    /// - Throws: ``Failure`` of the module or its token, and where it has no token.
    func look(into module: AddedModule) throws(Failure) -> [HostedKey] {
        let host = runner.makeHost(ofModule: module.path)
        defer { host.end() }
        let context = RequestContext(questions: .never)
        do throws(KeychainError) {
            let tokens = try host.keychains(.moduleTokens, context)
            guard !tokens.found.isEmpty else {
                if let missing = tokens.missing.first { throw missing.error }
                throw KeychainError(.noSuchKeychain)
            }
            let labels = Dictionary(tokens.found.map { ($0.identifier, $0.name) }) { first, _ in first }
            let keys = try host.keys(matching: KeyQuery(.any), context).found.compactMap { key in
                HostedKey(key.item, of: labels[key.item.keychain] ?? key.keychainName, in: .module(module))
            }
            state.withLock { $0.known[module.path] = keys }
            return keys
        } catch {
            throw Failure(
                reason: error.code == .noSuchKeychain
                    ? "it has no token besides cards that are used without it (insert one)" : error.advice)
        }
    }

    /// Runs `body` while the module counts as being in use.
    func using<Result>(_ module: AddedModule, _ body: () -> Result) -> Result {
        state.withLock { $0.uses[module.path, default: 0] += 1 }
        defer {
            state.withLock { state in
                let count = (state.uses[module.path] ?? 1) - 1
                state.uses[module.path] = count == 0 ? nil : count
            }
            end(module.path)
        }
        return body()
    }
}

extension HostedKey {
    fileprivate func with(_ module: AddedModule) -> HostedKey {
        HostedKey(blob: blob, comment: comment, kind: kind, reference: reference, home: .module(module))
    }
}

extension KeychainError {
    /// The reason, with what to do.
    var advice: String { reason + (remedy.map { " (\($0))" } ?? "") }
}
