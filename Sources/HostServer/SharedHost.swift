internal import CLinux
internal import Glibc
internal import KeychainHost
internal import Synchronization
internal import TokenKit
internal import Wire

/// The host that the programs of a user's session share. Each of them has slots, sessions and logins of its own.
package final class SharedHost: Sendable {
    private let listener: Int32
    private let make: ClientMaker
    private let environment: HostEnvironment
    private let heartbeat = Heartbeat()
    private let clients = Atomic(0)

    /// Clients at a time; a program that is one too many starts a host of its own.
    private static let maximumClients = 1024

    /// - Parameters:
    ///   - listener: a socket that listens.
    ///   - environment: what programs have to have in common with this process.
    package init(listener: Int32, environment: HostEnvironment = .ofProcess, _ make: @escaping ClientMaker) {
        self.listener = listener
        self.environment = environment
        self.make = make
    }

    /// Serves clients until there has been none for a while, or the host is to end: it takes no new ones then, and serves those it
    /// has until they end.
    ///
    /// - Parameters:
    ///   - patience: how long it waits for the next client.
    ///   - end: a descriptor that can be read once the host is to end.
    ///   - isClosed: called when no new clients are taken any more.
    package func serve(idleFor patience: Duration = .seconds(60), end: Int32 = -1, isClosed: () -> Void = {}) {
        heartbeat.start()
        var watched = [
            pollfd(fd: listener, events: Int16(POLLIN), revents: 0), pollfd(fd: end, events: Int16(POLLIN), revents: 0),
        ]
        var idleSince = ContinuousClock.now
        while true {
            let count = unsafe poll(&watched, 2, SharedHost.interval)
            if count > 0, watched[1].revents != 0 { break }
            if count > 0 { accept() }
            if clients.load(ordering: .sequentiallyConsistent) > 0 { idleSince = .now }
            if count == 0, idleSince.duration(to: .now) >= patience { break }
        }
        close(listener)
        isClosed()
        while clients.load(ordering: .sequentiallyConsistent) > 0 { usleep(100_000) }
        PendingLogouts.wait()
    }

    /// Milliseconds between two looks at whether anybody is there.
    private static let interval: Int32 = 1_000

    private func accept() {
        let descriptor = Glibc.accept(listener, nil, nil)
        guard descriptor >= 0 else {
            // Without a descriptor left the client would be there at once again.
            if errno == EMFILE || errno == ENFILE { usleep(100_000) }
            return
        }
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        let socket = FrameSocket(descriptor)
        let number = clients.add(1, ordering: .sequentiallyConsistent).newValue
        let isStarted = BlockingThread.start { [self] in
            defer { clients.subtract(1, ordering: .sequentiallyConsistent) }
            Greeting.serve(socket, heartbeat, make) { [environment] hello, peer in
                if peer.user != geteuid() || number > SharedHost.maximumClients { return .busy }
                return environment.suits(HostEnvironment(hello.environment)) ? nil : .otherEnvironment
            }
        }
        if !isStarted { clients.subtract(1, ordering: .sequentiallyConsistent) }
    }
}

/// The part of an environment in which a client must agree with the host: the user's folders, the card service and the settings of this
/// package. A client that differs has a host of its own.
package struct HostEnvironment: Sendable, Equatable {
    private let directories: Directories
    private let service: String?
    private let settings: [String: String]

    /// Variables that each client may have as it likes.
    private static let ofClients: Set = ["TOKENKIT_PKCS11_TOKENS", "TOKENKIT_PKCS11_PROMPT", "TOKENKIT_DEBUG"]

    private init(_ variables: [String: String]) {
        directories = Directories { variables[$0] }
        service = variables["PCSCLITE_CSOCK_NAME"]
        settings = variables.filter { $0.key.hasPrefix("TOKENKIT_") && !HostEnvironment.ofClients.contains($0.key) }
    }

    /// - Parameter variables: each as `NAME=value`.
    init(_ variables: [[UInt8]]) {
        self.init(ClientVariables(variables).values)
    }

    /// Those of this process.
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

/// The variables that a client has told.
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
