internal import HostAPI
internal import HostServer
internal import KeychainHost
internal import Prompters
internal import Settings
internal import TokenKit

/// The state that the programs of the session's host have in common.
struct SharedState: Sendable {
    let knownCards: KnownCards
    let cards = SharedCards(askingForPermission: true)
    let files = SharedKeychains(forSession: true)
    let modules = SharedModules()
    let agentModules = AgentModules()
    private let decisions: AccessDecisions

    init(knownCards: KnownCards) {
        self.knownCards = knownCards
        let policy = StoredAccess(in: files) { try? KeychainPreferences().loginKeychain() }
        decisions = AccessDecisions(policy: policy) { try? AccessRules.read(in: KeychainPreferences().directories) }
    }

    /// The modules that run, for programs and for the agent.
    var allModules: [any SharedTokenModule] { modules.all + agentModules.all }

    /// Whether something would be lost with the process: what is unlocked, and what a person has allowed for ever.
    var isNeeded: Bool {
        cards.havePIN || files.mayBeUnlocked || modules.havePIN || decisions.hasUnsaved
    }

    /// The host for the program of a client, which a person has to allow the use of keys whose PIN another program has given.
    ///
    /// - Parameters:
    ///   - variables: of the client's environment.
    ///   - machine: the machine for which the program asks, whose uses are asked about each time; nil where it asks for itself.
    ///   - asks: whether a person may be asked.
    ///   - isForRequests: as `Permission` takes it.
    ///   - describe: the purpose of the present request, as `DescribingPrompter` takes it; by default what requests say.
    func host(
        _ host: Host, for peer: Peer, _ variables: [String: String], from machine: AskingMachine? = nil, asks: Bool,
        isForRequests: Bool,
        describing describe: @escaping @Sendable () -> String? = { nil }
    ) -> Host {
        let place = PromptPlace(about: peer.process, variables: variables)
        let prompter: any Prompter =
            asks ? DescribingPrompter(FirstAvailablePrompter.standard(at: place), describe) : NoPrompter()
        return host.asking(
            for: Permission(
                decisions, of: AskingProgram(peer.handle), for: machine, asking: prompter,
                isForRequests: isForRequests))
    }
}
