internal import Glibc
internal import HostAPI
internal import HostServer
internal import KeychainHost
internal import Platform
internal import Prompters
internal import SSHAgent
internal import StandardDrivers
internal import TokenKit

/// Makes the SSH agent of the session's host, and its side of each connection.
struct AgentClients: Sendable {
    let agent: Agent
    private let modules: AgentModuleRunner
    private let shared: SharedState
    private let process: HostProcess

    /// - Parameters:
    ///   - insertion: tells which card is in a reader, without a connection to it.
    ///   - log: takes a line about a refusal.
    init(
        sharing shared: SharedState, in process: HostProcess,
        insertion: @escaping @Sendable (_ reader: String) -> CardInsertion?, log: @escaping @Sendable (String) -> Void
    ) {
        (self.shared, self.process) = (shared, process)
        modules = AgentModuleRunner(shared: shared, process: process)
        agent = Agent(
            {
                Host(
                    forTokensOf: ProcessKeychains(
                        sharedCards: shared.cards, files: shared.files, drivers: StandardDrivers.all),
                    prompter: nil, touchPrompter: nil, knownCards: shared.knownCards, in: process)
            }, modules: modules,
            insertion: { reader in insertion(reader).map { "\($0)" } }, folder: "\(Directories().home)/.ssh", log: log)
    }

    /// The agent's side of a connection. The program's variables are looked up when a person is to be asked.
    func session(_ peer: Peer) -> AgentSession {
        let client = AgentClient(
            named: peer.program, at: Executable.path(of: peer.process), process: peer.process
        ) { [self] module, describe in
            let variables = peer.variables
            let program = Executable.path(of: peer.process)
            let prompter = DescribingPrompter(
                prompter(peer, variables), for: program.isEmpty ? nil : AccessQuestion.shortened(program, to: 120),
                describe)
            let host = host(of: peer, module, asking: prompter)
            return shared.host(
                host, for: peer, variables, asks: true, isForRequests: true, describing: describe)
        } asking: {
            FirstAvailablePrompter.standard(
                at: PromptPlace(about: peer.process, variables: peer.variables))
        } noting: { [process] key, isDone in
            process.noteSignature(by: key, of: "the SSH agent", for: peer.client, isDone: isDone)
        }
        return AgentSession(agent, for: client)
    }

    private func host(of peer: Peer, _ module: String?, asking prompter: DescribingPrompter) -> Host {
        let news = process.news(of: peer.client)
        if let module {
            return Host(
                forModulesOf: modules.keychains(of: module, tellingNews: news), prompter: prompter, in: process,
                for: peer.client)
        }
        return Host(
            forTokensOf: ProcessKeychains(
                sharedCards: shared.cards, files: shared.files, drivers: StandardDrivers.all, tellingNews: news),
            prompter: prompter, touchPrompter: prompter, knownCards: shared.knownCards, in: process, for: peer.client)
    }
}
