internal import CLinux
internal import Glibc
internal import KeychainHost
internal import Platform
internal import Synchronization
internal import TokenKit
internal import Wire
internal import WireTransport

/// The host that the programs of a user's session share. Each of them has slots, sessions and logins of its own.
package final class SharedHost: Sendable {
    private let listener: Int32
    private let make: ClientMaker
    private let environment: HostEnvironment
    private let isNeeded: @Sendable () -> Bool
    private let heartbeat = Heartbeat()
    private let clients: ServedClients
    private let agent: AgentListener?
    private let remote: Int32
    private let remoteClients = RemoteClients()

    /// - Parameters:
    ///   - listener: a socket that listens.
    ///   - remote: a socket that listens for modules on other machines, which ssh forwards; negative for none.
    ///   - agent: serves the programs that know an SSH agent; nil for none.
    ///   - environment: the environment in which clients must agree with this process.
    ///   - clients: counts the clients.
    ///   - isNeeded: whether the host keeps something for its next client. It is asked every second.
    package init(
        listener: Int32, environment: HostEnvironment = .ofProcess, counting clients: ServedClients = ServedClients(),
        agent: AgentListener? = nil, remote: Int32 = -1, isNeeded: @escaping @Sendable () -> Bool = { false },
        _ make: ClientMaker
    ) {
        self.listener = listener
        self.agent = agent
        self.remote = remote
        self.environment = environment
        self.isNeeded = isNeeded
        self.clients = clients
        self.make = make
    }

    /// Serves clients until there was none for `patience` and nothing is kept for the next one, `end` is readable, or no client can reach the
    /// host any more. The host then accepts no more clients, and serves the remaining ones until they end.
    ///
    /// - Parameters:
    ///   - patience: how long the host waits for the next client.
    ///   - end: a descriptor that is readable once the host is to end.
    ///   - isReachable: whether the socket is still where clients look for it.
    ///   - isClosed: called once the host accepts no more clients.
    package func serve(
        idleFor patience: Duration = .seconds(60), end: Int32 = -1, isReachable: () -> Bool = { true },
        isClosed: () -> Void = {}
    ) {
        heartbeat.start()
        var pending = PendingGreetings()
        var pace = AcceptPace()
        var idleSince = ContinuousClock.now
        var lastLook = idleSince
        while true {
            let pause = pace.pause()
            var watched = [
                pollfd(fd: end, events: Int16(POLLIN), revents: 0),
                pollfd(fd: pause > 0 ? -1 : listener, events: Int16(POLLIN), revents: 0),
                pollfd(fd: pause > 0 ? -1 : agent?.descriptor ?? -1, events: Int16(POLLIN), revents: 0),
                pollfd(fd: pause > 0 ? -1 : remote, events: Int16(POLLIN), revents: 0),
            ]
            watched += pending.watched
            let count = unsafe poll(&watched, nfds_t(watched.count), pause > 0 ? pause : SharedHost.interval)
            if count > 0, watched[0].revents != 0 { break }
            for (greeting, message) in pending.advance(watched.dropFirst(4)) { admit(greeting, message) }
            for (index, isRemote) in [(1, false), (3, true)] where count > 0 && watched[index].revents != 0 {
                accept(&pending, isRemote: isRemote)
                pace.take()
            }
            if count > 0, watched[2].revents != 0 {
                agent?.accept(counting: clients)
                pace.take()
            }
            if lastLook.duration(to: .now) >= .milliseconds(SharedHost.interval) {
                lastLook = .now
                if isNeeded() { idleSince = .now }
            }
            if clients.total > 0 || !pending.isEmpty { idleSince = .now }
            if count == 0, idleSince.duration(to: .now) >= patience || !isReachable() { break }
        }
        close(listener)
        if remote >= 0 { close(remote) }
        agent?.close()
        isClosed()
        while clients.total > 0 { usleep(100_000) }
        PendingLogouts.wait()
    }

    /// The time between two looks for clients, in milliseconds.
    private static let interval: Int32 = 1_000

    private func accept(_ pending: inout PendingGreetings, isRemote: Bool) {
        let descriptor = Glibc.accept(isRemote ? remote : listener, nil, nil)
        guard descriptor >= 0 else {
            // Without a free descriptor, `poll` would report the same client again at once.
            if errno == EMFILE || errno == ENFILE { usleep(100_000) }
            return
        }
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        let socket = FrameSocket(descriptor)
        guard let peer = Peer(ofAccepted: descriptor) else { return }
        var greeting = PendingGreeting(socket, peer, isRemote: isRemote)
        switch greeting.read() {
        case .complete(let message): admit(greeting, message)
        case .incomplete: pending.append(greeting)
        case .invalid: break
        }
    }

    private func admit(_ greeting: PendingGreeting, _ message: FirstMessage) {
        switch (message, greeting.isRemote) {
        case (.hello(let hello), false): admit(greeting, hello)
        case (.hello(.module(let hello)), true): admit(greeting, hello)
        case (.hello, true): _ = Greeting.send(.busy, to: greeting.socket)
        case (.join(let ticket), true): remoteClients[ticket]?.begin(greeting.socket)
        // Any other connection is closed.
        case (.join, false): break
        }
    }

    /// Serves a module on another machine on a thread of its own. Its environment means other folders, and is not compared.
    private func admit(_ greeting: PendingGreeting, _ hello: Hello) {
        let (socket, peer) = (greeting.socket, greeting.peer)
        guard let version = ClientHello.module(hello).version else {
            _ = Greeting.send(.otherVersion, to: socket)
            return
        }
        guard peer.user == geteuid(), clients.add(peer) else {
            _ = Greeting.send(.busy, to: socket)
            return
        }
        let isStarted = BlockingThread.start { [self] in
            // The person at ssh is asked.
            let language = ClientLanguages.shared.language(of: peer)
            let client = Client(make.responder(for: hello, peer, isRemote: true), in: language, heartbeat)
            let ticket = remoteClients.add(client)
            let ended = { @Sendable [clients, remoteClients] in
                remoteClients.remove(ticket)
                clients.remove(peer)
            }
            guard Greeting.send(.servedRemotely(version: version, ticket: ticket), to: socket) else { return ended() }
            client.serve(socket, process: peer.handle, whenEnded: ended)
        }
        if !isStarted { clients.remove(peer) }
    }

    /// Serves a client on a thread of its own, or tells it why it is not served.
    private func admit(_ greeting: PendingGreeting, _ hello: ClientHello) {
        let (socket, peer) = (greeting.socket, greeting.peer)
        guard let version = hello.version else {
            _ = Greeting.send(.otherVersion, to: socket)
            return
        }
        if let refusal = refusal(of: hello, peer) {
            _ = Greeting.send(refusal, to: socket)
            return
        }
        let isStarted = BlockingThread.start { [self] in
            Greeting.serve(socket, hello, version, peer, heartbeat, make) { [clients] in clients.remove(peer) }
        }
        if !isStarted { clients.remove(peer) }
    }

    /// - Returns: nil for a client that is served, and counted.
    private func refusal(of hello: ClientHello, _ peer: Peer) -> HelloAnswer? {
        guard peer.user == geteuid() else { return .busy }
        guard environment.suits(HostEnvironment(hello.environment)) else { return .otherEnvironment }
        return clients.add(peer) ? nil : .busy
    }
}

/// The part of an environment in which a client must agree with the host: the user's folders, the card service, and whether PINs are typed on
/// readers. A client that differs has a host of its own.
package struct HostEnvironment: Sendable, Equatable {
    private let directories: Directories
    private let service: String?
    private let usesPINPads: String?

    private init(_ variables: [String: String]) {
        directories = Directories { variables[$0] }
        service = variables["PCSCLITE_CSOCK_NAME"]
        usesPINPads = variables["TOKENKIT_PINPAD"]
    }

    /// - Parameter variables: each as `NAME=value`.
    init(_ variables: [[UInt8]]) {
        self.init(ClientVariables(variables).values)
    }

    /// The environment of this process.
    package static var ofProcess: HostEnvironment {
        var variables: [String: String] = [:]
        var next = unsafe environ
        while let variable = unsafe next.pointee {
            unsafe next += 1
            let parts = unsafe String(cString: variable).split(
                separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            if parts.count == 2 { variables[String(parts[0])] = String(parts[1]) }
        }
        return HostEnvironment(variables)
    }

    func suits(_ other: HostEnvironment) -> Bool { self == other }
}

/// The environment variables of a client's hello.
package struct ClientVariables: Sendable {
    package let values: [String: String]

    /// - Parameter variables: each as `NAME=value`.
    package init(_ variables: [[UInt8]]) {
        var values: [String: String] = [:]
        for variable in variables {
            let text = String(decoding: variable, as: UTF8.self)
            let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            if parts.count == 2 { values[String(parts[0])] = String(parts[1]) }
        }
        self.values = values
    }
}
