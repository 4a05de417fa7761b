internal import CryptokiNames
internal import HostAPI
internal import KeychainModel
internal import Platform
internal import SecureBytes
internal import Synchronization

// The requests of `ssh-add -s` and `-e`: this package's own module means the cards of the host, and another one is run for its keys.
extension AgentSession {
    /// Whether a client means the cards of this host: by this package's name, or its module by any path and under each of its names.
    private func isOwnModule(_ path: [UInt8]) -> Bool {
        let name = String(decoding: path, as: UTF8.self).split(separator: "/").last ?? ""
        return name == "tokenkit" || name.hasPrefix(CryptokiLibrary.file)
    }

    func addModule(_ path: [UInt8], _ pin: SharedSecret, _ constraints: [KeyConstraint]?) -> AgentAnswer {
        guard !binds.wasAttempted else { return refuse("refused a PKCS#11 module from another machine") }
        guard isOwnModule(path) else { return runModule(path, pin, KeyLimits(constraints ?? [])) }
        guard constraints?.isEmpty ?? true else { return refuse("the keys of a card cannot have constraints") }
        return unlockCard(pin)
    }

    func removeModule(_ path: [UInt8]) -> AgentAnswer {
        guard !binds.wasAttempted else { return .failure }
        guard isOwnModule(path) else { return endModule(path) }
        return lockCards()
    }

    // MARK: Cards

    /// Gives the card its PIN. Without a PIN the host asks for it when it is needed.
    private func unlockCard(_ pin: SharedSecret) -> AgentAnswer {
        guard !pin.secret.isEmpty else { return .success }
        guard let host, let places = try? host.places(RequestContext(questions: .never)).found else { return .failure }
        let cards = places.filter { $0.kind == .card && $0.occupancy.hasToken }
        // A PIN is not tried on a card that it may not belong to.
        guard let card = cards.first, cards.count == 1 else {
            return refuse(cards.isEmpty ? "no card is inserted" : "several cards are inserted, and the PIN is for one")
        }
        do throws(KeychainError) {
            try host.logIn(to: card.location, forOneUse: false, giving(pin))
            return .success
        } catch {
            return refuse(error.reason)
        }
    }

    private func giving(_ pin: SharedSecret) -> RequestContext {
        RequestContext(questions: .never, credentials: [RequestContext.Credential(.pin, pin.secret.clone())])
    }

    private func lockCards() -> AgentAnswer {
        guard let host, let keychains = try? host.keychains(.cards, RequestContext(questions: .never)).found
        else { return .failure }
        let context = RequestContext(questions: .never)
        var isDone = true
        for keychain in keychains where (try? host.lock(keychain.identifier, context))?.isEmpty != true {
            isDone = false
        }
        return state(of: isDone)
    }

    // MARK: Modules of other makers

    /// Adds the keys of a module, and gives its token the PIN. Without a PIN the host asks for it when it is needed.
    private func runModule(_ path: [UInt8], _ pin: SharedSecret, _ limits: KeyLimits) -> AgentAnswer {
        let shown = String(decoding: path, as: UTF8.self)
        guard let modules = agent.modules else { return refuse("refused \(shown): this host runs no PKCS#11 modules") }
        let file: ModuleFile
        do throws(ModuleFile.Refusal) { file = try ModuleFile(path) } catch {
            return refuse("refused the PKCS#11 module \(shown): \(error.reason)")
        }
        let module = AddedModule(path: file.path, limits: limits)
        let reason = modules.additions.withLock { _ in
            let reason = reasonNotToAdd(module, pin, modules)
            if reason != nil { modules.end(module.path) }
            return reason
        }
        guard let reason else { return .success }
        return refuse("the PKCS#11 module \(module.path) is not added: \(reason)")
    }

    /// Adds a module.
    ///
    /// - Returns: the reason why it is not added; nil for success.
    private func reasonNotToAdd(_ module: AddedModule, _ pin: SharedSecret, _ modules: AddedModules) -> String? {
        guard modules.has(module.path) || modules.all.count < AddedModules.maximumCount else {
            return "too many are (remove one with ssh-add -e)"
        }
        if let reason = reasonNotToLogIn(to: module, pin) { return reason }
        do throws(AddedModules.Failure) {
            guard try !modules.look(into: module).isEmpty else {
                return pin.secret.isEmpty
                    ? "its tokens show no key that SSH can use (some show none without the PIN)"
                    : "its tokens have no key that SSH can use"
            }
        } catch {
            return error.reason
        }
        // The agent may have been locked meanwhile.
        guard !agent.added.isLocked else { return "the agent is locked" }
        return modules.add(module) ? nil : "too many are (remove one with ssh-add -e)"
    }

    private func reasonNotToLogIn(to module: AddedModule, _ pin: SharedSecret) -> String? {
        guard !pin.secret.isEmpty else { return nil }
        var reason: String? = "the connection has ended"
        _ = withHost(ofModule: module.path) { host in
            do throws(KeychainError) {
                try host.logInToModule(giving(pin))
                reason = nil
            } catch {
                reason = error.advice
            }
        }
        return reason
    }

    private func endModule(_ path: [UInt8]) -> AgentAnswer {
        let text = String(decoding: path, as: UTF8.self)
        guard let modules = agent.modules, modules.remove(resolvedPath(text) ?? text) || modules.remove(text) else {
            return refuse("\(text) is no PKCS#11 module that was added")
        }
        return .success
    }
}
