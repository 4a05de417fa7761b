internal import HostAPI
internal import KeychainModel
internal import SecureBytes
internal import Synchronization
internal import SystemCrypto

/// A connection to an agent: answers its requests, one after the other.
package final class AgentSession: Sendable {
    let agent: Agent
    private let client: AgentClient
    private let state = Mutex(State())

    private struct State {
        var binds = SessionBinds()
        var host: (any InProcessHost)?
        /// The host of the module that is used at the moment.
        var moduleHost: (any InProcessHost)?
        /// The data that a key of the host is signing.
        var signed: SignedData?
        var hasEnded = false
    }

    package init(_ agent: Agent, for client: AgentClient) { (self.agent, self.client) = (agent, client) }

    /// Ends the connection. A question that is before a person ends with it.
    package func end() {
        let hosts = state.withLock { state in
            state.hasEnded = true
            return [state.host.take(), state.moduleHost.take()]
        }
        for host in hosts { host?.end() }
    }

    /// The host of the client; nil once the connection has ended.
    var host: (any InProcessHost)? {
        state.withLock { state in
            guard !state.hasEnded else { return nil }
            if state.host == nil { state.host = client.makeHost(nil) { [weak self] in self?.words } }
            return state.host
        }
    }

    /// Runs `body` with the client's host of a module.
    ///
    /// - Returns: nil once the connection has ended.
    func withHost<Result>(ofModule path: String, _ body: (any InProcessHost) -> Result?) -> Result? {
        let host = state.withLock { state -> (any InProcessHost)? in
            guard !state.hasEnded else { return nil }
            let host = client.makeHost(path) { [weak self] in self?.words }
            state.moduleHost = host
            return host
        }
        guard let host else { return nil }
        defer {
            state.withLock { $0.moduleHost = nil }
            host.end()
        }
        return body(host)
    }

    /// The answer to a message, both without the length before them. A request that is malformed or unknown fails.
    package func answer(_ message: Span<UInt8>) -> [UInt8] {
        guard let request = try? AgentRequest.parse(message) else {
            return AgentAnswer.failure.encoded()
        }
        return answer(request).encoded()
    }

    func answer(_ request: AgentRequest) -> AgentAnswer {
        switch request {
        case .listIdentities: return .identities(identities())
        case .sign(let key, let data, let flags):
            return sign(key, data, flags).map(AgentAnswer.signature) ?? .failure
        case .extend(let name, let content): return extend(name, content)
        // Another machine could lock the person out, and delay the own unlocking by its guesses.
        case .lock where binds.isForwarded, .unlock where binds.isForwarded:
            return refuse("refused to lock or unlock from another machine")
        case .lock(let secret): return state(of: agent.added.lock(secret.secret))
        case .unlock(let secret): return state(of: agent.added.unlock(secret.secret))
        case .removeAllOfVersion1: return .success
        default: return agent.added.isLocked ? .failure : change(request)
        }
    }

    private func change(_ request: AgentRequest) -> AgentAnswer {
        switch request {
        case .add(let identity, let constraints):
            guard let key = try? AddedKey(identity, constraints ?? []) else { return refuse("the key cannot be used") }
            return agent.added.add(key) ? .success : refuse("too many keys were added")
        case .remove(let key): return state(of: mayShow(key) && agent.added.remove(key))
        case .removeAll:
            agent.added.removeAll()
            agent.modules?.removeAll()
            agent.hosted.forget()
            return .success
        case .addModule(let path, let pin, let constraints): return addModule(path, pin, constraints)
        case .removeModule(let path, _): return removeModule(path)
        default: return .failure
        }
    }

    func state(of isDone: Bool) -> AgentAnswer { isDone ? .success : .failure }

    func refuse(_ reason: String) -> AgentAnswer {
        log(reason)
        return .failure
    }

    private func log(_ reason: String) {
        agent.log("\(DisplayText.line(client.name)), ssh agent: \(DisplayText.line(reason))")
    }

    var binds: SessionBinds { state.withLock { $0.binds } }

    // MARK: Keys

    private func identities() -> [AgentAnswer.Identity] {
        guard !agent.added.isLocked else { return [] }
        let added = agent.added.all.filter(mayShow)
        var known = Set<[UInt8]>()
        let hosted = agent.hostedKeys.filter { $0.module.map { mayShow($0.limits) } ?? true }
        let all =
            hosted.map { AgentAnswer.Identity($0.blob, comment: $0.comment) }
            + added.map { AgentAnswer.Identity($0.blob, comment: $0.comment) }
        var room = AgentAnswer.maximumListLength
        return all.filter { identity in
            let length = identity.key.count + identity.comment.count + 8
            guard length <= room, known.insert(identity.key).inserted else { return false }
            room -= length
            return true
        }
    }

    private func mayShow(_ key: AddedKey) -> Bool { mayShow(key.limits) }

    private func mayShow(_ limits: KeyLimits) -> Bool {
        limits.destinations.isEmpty || binds.mayList(limits.destinations)
    }

    private func mayShow(_ blob: [UInt8]) -> Bool { added(blob).map(mayShow) ?? true }

    private func added(_ blob: [UInt8]) -> AddedKey? { agent.added.all.first { $0.blob == blob } }

    /// - Returns: nil where the key does not sign.
    private func sign(_ blob: [UInt8], _ data: [UInt8], _ flags: UInt32) -> [UInt8]? {
        guard !agent.added.isLocked else { return nil }
        guard SignatureFlags.areKnown(flags) else {
            log("refused a signature with flags that are unknown")
            return nil
        }
        let (binds, signed) = (binds, SignedData(data))
        // ssh has the key sign for a login with a certificate of it.
        if case .login(let login) = signed,
            SSHPublicKey(login.key)?.plain != SSHPublicKey(blob)?.plain || !binds.admit(login)
        {
            log("refused a login that is another one than the connection's")
            return nil
        }
        if let key = added(blob) {
            let signature = sign(key, data, flags, signed, binds)
            client.noteUse(SSHPublicKey.fingerprint(of: blob), signature != nil)
            return signature
        }
        guard let key = agent.hostedKey(blob) else { return nil }
        guard let module = key.module, let modules = agent.modules else {
            return host.flatMap { sign(key, data, flags, signed, binds, $0) }
        }
        return modules.using(module) {
            withHost(ofModule: module.path) { sign(key, data, flags, signed, binds, $0) }
        }
    }

    /// The purpose of the present signature; nil for none.
    private var words: String? {
        let (signed, binds) = state.withLock { ($0.signed, $0.binds) }
        return signed.map { purpose(of: $0, binds).words }
    }

    private func purpose(of signed: SignedData, _ binds: SessionBinds) -> Purpose {
        Purpose(of: signed, binds, KnownHosts(in: agent.folder))
    }

    private func algorithm(_ kind: KeyKind, _ flags: UInt32) -> (name: String, algorithm: SignatureAlgorithm)? {
        let algorithm = SSHSignature.algorithm(kind, flags: flags)
        if algorithm == nil { log("refused a signature with SHA-1, which servers no longer accept") }
        return algorithm
    }

    private func sign(
        _ key: AddedKey, _ data: [UInt8], _ flags: UInt32, _ signed: SignedData, _ binds: SessionBinds
    ) -> [UInt8]? {
        let name = SSHPublicKey.fingerprint(of: key.blob)
        guard let (algorithmName, algorithm) = algorithm(key.key.kind, flags),
            allow(signed, with: key.blob, named: name, key.limits, binds)
        else { return nil }
        // Meanwhile the agent may have been locked, and the key removed.
        guard !key.limits.isConfirmed || (!agent.added.isLocked && added(key.blob) != nil),
            let signature = try? key.key.sign(message: data, using: algorithm)
        else { return nil }
        return SSHSignature.encode(signature, by: algorithmName, key.key.kind)
    }

    /// Whether the limits of a key allow a use. Asks a person where they say so.
    private func allow(
        _ signed: SignedData, with key: [UInt8], named name: String, _ limits: KeyLimits, _ binds: SessionBinds
    ) -> Bool {
        guard limits.destinations.isEmpty || binds.maySign(limits.destinations, signed) else {
            log("refused a signature that the destinations of the key do not allow")
            return false
        }
        return !limits.isConfirmed || confirm(signed, with: key, named: name, binds)
    }

    private func sign(
        _ key: HostedKey, _ data: [UInt8], _ flags: UInt32, _ signed: SignedData, _ binds: SessionBinds,
        _ host: any InProcessHost
    ) -> [UInt8]? {
        let limits = key.module?.limits ?? KeyLimits()
        guard let (name, algorithm) = algorithm(key.kind, flags),
            allow(signed, with: key.blob, named: String(decoding: key.comment, as: UTF8.self), limits, binds)
        else { return nil }
        // A person who has allowed ssh a key for good has not allowed it to each machine that ssh forwards the agent to.
        let decision = binds.isForwarded && !limits.isConfirmed ? decide(signed, with: key, binds, host) : .allowOnce
        guard decision != .deny, stays(key) else { return nil }
        let request = KeyRequest(.sign(data), .messageSignature(algorithm), with: key.reference)
        state.withLock { $0.signed = signed }
        defer { state.withLock { $0.signed = nil } }
        do throws(KeychainError) {
            let signature = try host.perform(
                request, RequestContext(place: key.place))
            // The agent may have been locked while a person was asked.
            guard !agent.added.isLocked, stays(key) else { return nil }
            // The keychain was locked when the person decided.
            if decision == .allowAlways { _ = allowAlways(key, binds, host) }
            return SSHSignature.encode(signature.secret.copied(), by: name, key.kind)
        } catch {
            // The card has another key in its place by now.
            if error.failure == .noKey { agent.hosted.forget() }
            log(error.reason)
            return nil
        }
    }

    /// Whether a key's module, if it is in one, was not removed while a person was asked.
    private func stays(_ key: HostedKey) -> Bool { key.module.map { agent.modules?.has($0.path) == true } ?? true }

    /// Asks a person about one use of a key; false where nobody can be asked, and without an answer in time.
    private func confirm(
        _ signed: SignedData, with key: [UInt8], named name: String, _ binds: SessionBinds
    ) -> Bool {
        ask(with: key, binds) { prompter in
            let question = UseQuestion(purpose: purpose(of: signed, binds), key: name, client: client)
            return (try? prompter.confirm(question.lines.joined(separator: "\n"))) == true
        }
    }

    /// The decision about a use of a key by another machine. A person is asked unless all of its uses are allowed.
    ///
    /// - Returns: ``AccessDecision/allowAlways`` for one that has yet to be noted.
    private func decide(
        _ signed: SignedData, with key: HostedKey, _ binds: SessionBinds, _ host: any InProcessHost
    ) -> AccessDecision {
        func access() -> MachineAccess { self.access(of: binds, to: key, host) }
        guard access() != .allowed else { return .allowOnce }
        var decision = AccessDecision.deny
        let isAgreed = ask(with: key.blob, binds) { prompter in
            // A question before this one may have been the same.
            let access = access()
            guard access != .allowed else {
                decision = .allowOnce
                return true
            }
            let question = UseQuestion(
                purpose: purpose(of: signed, binds), key: String(decoding: key.comment, as: UTF8.self), client: client
            ).ofMachine(offersAlways: access == .undecided)
            decision = (try? prompter.decide(question)) ?? .deny
            if decision == .allowAlways, !question.offersAlways || allowAlways(key, binds, host) {
                decision = .allowOnce
            }
            return decision != .deny
        }
        return isAgreed ? decision : .deny
    }

    private enum MachineAccess {
        case allowed
        case undecided
        /// A machine that is unknown, or a key about which no decision is kept.
        case undecidable
    }

    private func access(of binds: SessionBinds, to key: HostedKey, _ host: any InProcessHost) -> MachineAccess {
        guard let machine = binds.originID else { return .undecidable }
        do throws(KeychainError) {
            let isAllowed = try host.mayAlwaysSign(with: key.reference, in: key.place, from: machine)
            return isAllowed ? .allowed : .undecided
        } catch {
            // A locked keychain takes decisions once it is unlocked for the signature.
            return error.code == .interactionNotAllowed ? .undecided : .undecidable
        }
    }

    /// Notes that all uses of a key by the machine that asks are allowed.
    ///
    /// - Returns: whether the decision holds.
    private func allowAlways(_ key: HostedKey, _ binds: SessionBinds, _ host: any InProcessHost) -> Bool {
        guard let id = binds.originID else { return false }
        let machine = RemoteMachine(id: id, named: Purpose.machine(binds, KnownHosts(in: agent.folder)))
        return (try? host.allowAlwaysSigning(with: key.reference, in: key.place, from: machine)) != nil
    }

    private func ask(with key: [UInt8], _ binds: SessionBinds, _ question: (any Prompter) -> Bool) -> Bool {
        let subject = AgentQuestions.Subject(process: client.process, key: key, isForwarded: binds.isForwarded)
        let isAllowed = agent.questions.ask(about: subject, unless: { [self] in state.withLock(\.hasEnded) }) {
            let end = QuestionEnd(at: .now + AccessQuestion.standardPatience) { [self] in state.withLock(\.hasEnded) }
            let prompter = client.makePrompter().givingUp(at: end)
            return prompter.canConfirm && question(prompter)
        }
        if !isAllowed { log("a person did not allow a signature") }
        return isAllowed
    }

    // MARK: Extensions

    /// Takes the proof of a machine to which the client is connected, or to which the agent is forwarded.
    private func bind(_ content: [UInt8]) -> Bool {
        let (isBound, direct) = state.withLock { state in
            let isBound = state.binds.bind(content)
            return (isBound, isBound ? state.binds.direct : nil)
        }
        if let direct { agent.connectedMachines.note(direct, of: client.process) }
        return isBound
    }

    private static let query = Array("query".utf8)
    private static let sessionBind = Array("session-bind@openssh.com".utf8)

    private func extend(_ name: [UInt8], _ content: [UInt8]) -> AgentAnswer {
        switch name {
        case AgentSession.query:
            guard content.isEmpty else { return .extensionFailure }
            var names: [UInt8] = []
            for name in [AgentSession.query, AgentSession.sessionBind] { names.append(string: name) }
            return .ofExtension(name: AgentSession.query, content: names)
        case AgentSession.sessionBind:
            return bind(content) ? .success : .failure
        default: return .extensionFailure
        }
    }
}
