internal import CCryptoki
internal import Glibc
internal import HostAPI
internal import HostServer
internal import KeychainHost
internal import Localization
internal import PKCS11Bridge
internal import Platform
internal import Prompters
internal import SSHAgent
internal import Settings
internal import StandardDrivers
internal import Wire

/// A PKCS #11 module as a client: its hello, and what the kernel tells of its process, or of the one that leads to its machine.
struct ModuleClient {
    private let hello: Hello
    private let variables: [String: String]
    private let peer: Peer
    /// The machine on which the module runs; nil for this one.
    private let machine: AskingMachine?

    /// - Parameter agent: knows the machines that ssh leads to; nil for a module on this machine.
    init(_ hello: Hello, _ peer: Peer, from agent: Agent?) {
        self.hello = hello
        self.peer = peer
        variables = ClientVariables(hello.environment).values
        machine = agent.map { agent in
            AskingMachine(
                { agent.machine(connectedTo: peer.process) },
                otherwiseNamed: String(localized: "the other end of '\(Executable.commandLine(of: peer.process))'"))
        }
    }

    /// The state of the module.
    ///
    /// - Parameters:
    ///   - shared: the state that the host's programs have in common; nil for a host of one program.
    ///   - process: this process.
    func cryptoki(sharing shared: SharedState?, in process: HostProcess) -> Cryptoki {
        let filter = TokenFilter(
            path: String(decoding: hello.libraryPath, as: UTF8.self), variable: variables["TOKENKIT_PKCS11_TOKENS"])
        let promptPolicy = promptPolicy(isShared: shared != nil)
        let log = Log(isWanted: hello.wantsNotes)
        let host = Host(
            forTokensOf: ProcessKeychains(
                sharedCards: shared?.cards, askingEachTime: machine != nil,
                files: shared?.files ?? SharedKeychains(), drivers: StandardDrivers.all,
                tellingNews: process.news(of: peer.client)),
            prompter: promptPolicy.prompter, touchPrompter: promptPolicy.touchPrompter, knownCards: shared?.knownCards,
            in: process, for: peer.client, log: { line in log.write(line) })
        let shown = shared?.host(
            host, for: peer, machine == nil ? variables : peer.variables, from: machine,
            asks: promptPolicy.prompter != nil, isForRequests: false)
        return Cryptoki(
            shown ?? host, filter: filter, promptPolicy: promptPolicy, firstHandle: CK_ULONG(hello.firstHandle),
            log: log)
    }

    private func promptPolicy(isShared: Bool) -> PromptPolicy {
        if let machine {
            // The person at ssh is asked. The module's variables are another machine's.
            return PromptPolicy(
                forProgramsOn: AccessQuestion.shortened(machine.name, to: 120),
                prompter: FirstAvailablePrompter.standard(
                    at: PromptPlace(about: peer.process, variables: peer.variables)))
        }
        return PromptPolicy(
            variable: variables["TOKENKIT_PKCS11_PROMPT"], administrators: variables["TOKENKIT_PKCS11_ADMINISTER"],
            program: peer.program, prompter: prompter(peer, variables), isShared: isShared,
            mayAdminister: mayAdminister)
    }

    /// Whether root has the user of the client's program administer cards. Programs are looked up only where there is such a rule.
    private var mayAdminister: Bool {
        guard let rules = try? AccessRules.read(in: KeychainPreferences().directories), rules.has(.administer) else {
            return false
        }
        let program = AskingProgram(peer.handle)
        return (try? program.identity()).map { rules.gives(.administer, to: $0, of: geteuid()) } ?? false
    }
}
