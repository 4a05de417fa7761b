package import HostAPI
internal import SecureBytes

/// An SSH agent over the keychains and cards of a host: RFC 9987.
package final class Agent: Sendable {
    let added = AddedKeys()
    let hosted: HostedKeys
    /// The modules of other makers; nil for a host that runs none.
    let modules: AddedModules?
    let questions = AgentQuestions()
    let connectedMachines = ConnectedMachines()
    /// The user's folder `.ssh`; nil for none.
    let folder: String?
    /// Takes a line about a refusal. No line has a secret.
    let log: @Sendable (String) -> Void

    /// - Parameters:
    ///   - makeHost: makes a host that asks nobody, to find keys.
    ///   - insertion: tells which card is in a reader, without a connection to it; nil for none, or where it is unknown.
    ///   - runner: runs modules of other makers; nil for none.
    ///   - folder: the user's folder `.ssh`; nil for none.
    package init(
        _ makeHost: @escaping @Sendable () -> any InProcessHost, modules runner: (any ModuleRunner)? = nil,
        insertion: @escaping @Sendable (_ reader: String) -> String? = { _ in nil }, folder: String? = nil,
        log: @escaping @Sendable (String) -> Void = { _ in }
    ) {
        hosted = HostedKeys(makeHost, insertion: insertion, certificatesIn: folder)
        modules = runner.map { AddedModules($0, log: log) }
        (self.folder, self.log) = (folder, log)
    }

    /// The keys that sign where they are, each followed by the user's certificates of it: those of cards and keychains, then those of
    /// modules.
    var hostedKeys: [HostedKey] { hosted.certified(hosted.all() + (modules?.keys ?? [])) }

    /// The key of a public half or certificate. Modules are asked only for a key that no card and no keychain has.
    func hostedKey(_ blob: [UInt8]) -> HostedKey? {
        hosted.certified(hosted.all()).first { $0.blob == blob }
            ?? modules.flatMap { modules in hosted.certified(modules.keys).first { $0.blob == blob } }
    }

    /// The machine that a process has proved to be connected to by SSH, as OpenSSH does when it logs in with the agent; nil where it has
    /// not.
    package func machine(connectedTo process: Int32) -> RemoteMachine? {
        connectedMachines.machine(of: process).map {
            RemoteMachine(id: $0.machineID, named: Purpose.name(of: $0.hostKey, KnownHosts(in: folder)))
        }
    }

    /// Whether the agent keeps something that the end of the host would lose.
    package var isInUse: Bool { added.isInUse || modules?.all.isEmpty == false }
}

/// The program at the other end of a connection to an agent.
package struct AgentClient: Sendable {
    let name: String
    /// The path of its file; empty where it cannot be seen.
    let path: String
    let process: Int32
    /// Makes the host that asks the client's person, in the name of its program.
    let makeHost: HostMaker
    /// Reaches the person by the host's own means.
    let makePrompter: @Sendable () -> any Prompter
    /// Notes the use of an added key, which no host has.
    let noteUse: UseNote

    /// Makes a host.
    ///
    /// - Parameters:
    ///   - module: the file of a module whose tokens alone the host has; nil for the cards and keychains.
    ///   - describe: the purpose of the present request for its questions, as ``DescribingPrompter`` takes it.
    package typealias HostMaker =
        @Sendable (_ module: String?, _ describe: @escaping @Sendable () -> String?) -> any InProcessHost

    /// Notes a use of a key.
    ///
    /// - Parameters:
    ///   - key: the key's fingerprint.
    ///   - isDone: whether the key was used, and not refused.
    package typealias UseNote = @Sendable (_ key: String, _ isDone: Bool) -> Void

    package init(
        named name: String, at path: String, process: Int32, _ makeHost: @escaping HostMaker,
        asking makePrompter: @escaping @Sendable () -> any Prompter, noting noteUse: @escaping UseNote = { _, _ in }
    ) {
        self.noteUse = noteUse
        (self.name, self.path, self.process) = (name, path, process)
        (self.makeHost, self.makePrompter) = (makeHost, makePrompter)
    }
}
