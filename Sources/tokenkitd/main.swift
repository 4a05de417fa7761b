internal import Glibc
internal import HostAPI
internal import HostServer
internal import KeychainHost
internal import KeychainModel
internal import LoginSessions
internal import Platform
internal import Prompters
internal import SSHAgent
internal import TokenKit
internal import Wire

// The host of cards and keychains, for PKCS #11 modules and for programs that ask its face.
//
//   tokenkitd            serves the programs of the session, over the socket that the service manager hands in, or else one that
//                        it makes in $XDG_RUNTIME_DIR/tokenkit; also as an SSH agent, over a second socket there, and for modules on
//                        other machines over a third
//   tokenkitd --session  serves the programs of the session, over the socket there that tokenctl has made, as descriptor 3
//   tokenkitd --private  serves the one program that started it, over descriptor 3
//
// A host starts it with other arguments as well, to run the PKCS #11 module of another maker in a process of its own.

/// The first descriptor that is handed in: by the module, and by a service manager (sd_listen_fds(3)).
let handedIn: Int32 = 3

@Sendable func writeError(_ line: String) {
    _ = unsafe "\(line)\n".withCString { unsafe write(STDERR_FILENO, $0, strlen($0)) }
}

func fail(_ message: String) -> Never {
    writeError("tokenkitd: \(message)")
    exit(1)
}

/// - Parameters:
///   - shared: the state that the host's programs have in common; nil for a host of one program.
///   - process: this process.
///   - agent: knows the machines that ssh leads to; nil for a host of one program.
///   - trace: the trace of a host of one program; nil for a shared host.
func makeClients(
    _ shared: SharedState?, in process: HostProcess, _ agent: Agent? = nil, trace: TraceFile? = nil
) -> ClientMaker {
    ClientMaker { hello, peer, isRemote in
        ModuleClient(hello, peer, from: isRemote ? agent : nil).cryptoki(sharing: shared, in: process)
    } service: { hello, peer throws(KeychainError) in
        try ServiceClient(hello, peer).host(sharing: shared, in: process, trace: trace)
    }
}

/// Asks the person in the place where the client runs.
@Sendable func prompter(_ peer: Peer, _ variables: [String: String]) -> FirstAvailablePrompter {
    FirstAvailablePrompter.standard(at: PromptPlace(process: peer.process, variables: variables))
}

/// The sockets that a service manager has made, each under its name in the unit: sd_listen_fds(3).
func socketsOfServiceManager() -> (host: Int32, agent: Int32?, remote: Int32?)? {
    guard let process = Environment.variable("LISTEN_PID"), Int32(process) == getpid(),
        let count = Environment.variable("LISTEN_FDS").flatMap({ Int32($0) }), 1...3 ~= count
    else { return nil }
    let sockets = handedIn..<handedIn + count
    for socket in sockets { _ = fcntl(socket, F_SETFD, FD_CLOEXEC) }
    let names = Environment.variable("LISTEN_FDNAMES")?.split(separator: ":") ?? []
    func socket(_ name: String) -> Int32? { zip(sockets, names).first { $1 == name }?.0 }
    let (agent, remote) = (socket("ssh"), socket("remote"))
    return sockets.first { $0 != agent && $0 != remote }.map { ($0, agent, remote) }
}

/// A further socket, which this process makes and removes. Without it, the host serves all other programs.
///
/// - Parameter use: what is missing without it.
func furtherSocket(_ name: HostSocket.Name, in runtime: String, for use: String) -> Int32? {
    do throws(HostSocket.Failure) { return try HostSocket.listen(in: runtime, name) } catch {
        if case .isServed = error { return nil }
        writeError("tokenkitd: no \(use): \(error.reason)")
        return nil
    }
}

/// Holds the client's connection under the greatest number, which the kernel closes last when the process ends. The client that waits for
/// that finds all files and cards released.
func keepConnectionToTheEnd() {
    var files = rlimit()
    guard unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &files) == 0 else { return }
    _ = fcntl(handedIn, F_DUPFD_CLOEXEC, Int32(clamping: min(files.rlim_cur, 4096)) - 1)
}

func socketOfSession(_ runtime: String) -> Int32 {
    do throws(HostSocket.Failure) {
        return try HostSocket.listen(in: runtime)
    } catch {
        if case .isServed = error { exit(0) }
        fail(error.reason)
    }
}

/// Serves the programs of the session until none uses the host.
///
/// - Parameter socket: makes the socket for a host that has none of a service manager, in the session's folder.
func serveSession(_ socket: (_ runtime: String) -> Int32) {
    let (watch, clients) = (InsertionWatch(), ServedClients())
    let shared = SharedState(knownCards: KnownCards(watch.insertion))
    defer {
        shared.cards.forgetPINs()
        shared.files.lock()
        PendingLogouts.wait()
    }
    let managed = socketsOfServiceManager()
    // A service manager keeps what its services write; elsewhere the journal is in memory alone.
    let journal = managed == nil ? Journal() : Journal { line in writeError(line) }
    let process = HostProcess(
        serving: { clients.programs }, sharing: shared.cards, shared.files, modules: { shared.allModules },
        journal: journal,
        notices: DesktopNotices.ofSession)
    let agents = AgentClients(sharing: shared, in: process, insertion: watch.insertion) { line in
        if managed != nil { writeError(line) }
    }
    let runtime = Environment.variable("XDG_RUNTIME_DIR").flatMap { $0.hasPrefix("/") ? $0 : nil }
    let isAgentWanted =
        runtime.map { Environment.variable("SSH_AUTH_SOCK") == HostSocket.path(in: $0, .agent) } ?? false
    let listener: Int32
    if let managed {
        listener = managed.host
    } else {
        guard let runtime else { fail("the session has no folder for sockets (set XDG_RUNTIME_DIR)") }
        listener = socket(runtime)
    }
    let ownAgentSocket =
        managed?.agent == nil ? runtime.flatMap { furtherSocket(.agent, in: $0, for: "SSH agent") } : nil
    let ownRemoteSocket =
        managed?.remote == nil
        ? runtime.flatMap { furtherSocket(.remote, in: $0, for: "modules on other machines") } : nil
    let host = SharedHost(
        listener: listener, counting: clients,
        agent: (managed?.agent ?? ownAgentSocket).map { AgentListener($0, agents.session) },
        remote: managed?.remote ?? ownRemoteSocket ?? -1,
        isNeeded: { shared.isNeeded || agents.agent.isInUse || (isAgentWanted && ownAgentSocket != nil) },
        makeClients(shared, in: process, agents.agent))
    LoginWatch.start { lockEverything(shared, after: $0) }
    let file = runtime.flatMap { HostSocket.file(in: $0) }
    func isReachable() -> Bool {
        managed != nil || (file != nil && runtime.flatMap { HostSocket.file(in: $0) } == file)
    }
    host.serve(end: EndSignal.catch(), isReachable: isReachable) {
        guard let runtime else { return }
        if ownAgentSocket != nil { HostSocket.remove(in: runtime, .agent) }
        if ownRemoteSocket != nil { HostSocket.remove(in: runtime, .remote) }
        if managed == nil { HostSocket.remove(in: runtime) }
    }
}

/// Raises the limit of open files, of which each client has some.
///
/// - Returns: the former limit.
func raiseFileLimit() -> rlim_t {
    var files = rlimit()
    guard unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &files) == 0 else { return 1024 }
    let former = files.rlim_cur
    files.rlim_cur = files.rlim_max
    unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &files)
    return former
}

signal(SIGPIPE, SIG_IGN)
// The folder of the program that started the host may be on a disk that is to be unmounted.
_ = unsafe chdir("/")
if Worker.serve(CommandLine.arguments) { _exit(0) }
Hardening.begin()
PCSCBlocking.forbid()

switch CommandLine.arguments.dropFirst() {
case ["--private"]:
    TerminalSignals.leaveToClient()
    keepConnectionToTheEnd()
    let trace = TraceFile()
    PrivateHost.serve(handedIn, makeClients(nil, in: HostProcess(), trace: trace), trace: trace)
case ["--session"]:
    _ = raiseFileLimit()
    serveSession { _ in
        _ = fcntl(handedIn, F_SETFD, FD_CLOEXEC)
        HostSocket.takeOver(handedIn)
        return handedIn
    }
case []:
    let descriptors = raiseFileLimit()
    serveSession { runtime in
        // Descriptors that the shell left open are closed.
        for descriptor in handedIn..<Int32(clamping: min(descriptors, 4096)) { close(descriptor) }
        return socketOfSession(runtime)
    }
default: fail("an argument is unknown (give --session or --private, or none)")
}
// Threads may still be inside calls. `_exit` destroys nothing that they use.
_exit(0)
