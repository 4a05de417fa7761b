package import HostAPI
internal import KeychainBridge
internal import KeychainHost
package import KeychainModel
package import PKCS11Bridge
internal import SecureBytes
package import Wire
internal import WireTransport

/// Makes a client's state from its hello, and from the facts about its process.
package struct ClientMaker: Sendable {
    /// The reason that a client's host cannot be made.
    package typealias Refusal = KeychainError

    let module: @Sendable (Hello, Peer, _ isRemote: Bool) -> Cryptoki
    let service: @Sendable (ServiceHello, Peer) throws(Refusal) -> any InProcessHost

    /// - Parameters:
    ///   - module: makes the state of a PKCS #11 module, which may run on another machine.
    ///   - service: makes the host of a client that asks its face. If it throws, each request of the client fails with the reason.
    package init(
        module: @escaping @Sendable (Hello, Peer, _ isRemote: Bool) -> Cryptoki,
        service: @escaping @Sendable (ServiceHello, Peer) throws(Refusal) -> any InProcessHost
    ) {
        self.module = module
        self.service = service
    }

    func responder(for hello: ClientHello, _ peer: Peer) -> any Responder {
        switch hello {
        case .module(let hello): responder(for: hello, peer, isRemote: false)
        case .service(let hello): responder(for: hello, peer)
        case .keychain(let hello): responder(for: hello, peer)
        }
    }

    /// - Parameter isRemote: whether the module runs on another machine.
    func responder(for hello: Hello, _ peer: Peer, isRemote: Bool) -> ModuleResponder {
        ModuleResponder(cryptoki: module(hello, peer, isRemote))
    }

    /// Only files have passwords, but a card may open a file; modules are not searched.
    private func responder(for hello: KeychainHello, _ peer: Peer) -> any Responder {
        var options = HostOptions(modules: .none)
        options.hasMoreRights = hello.hasMoreRights
        do throws(Refusal) {
            let host = try service(ServiceHello(environment: hello.environment, options: options), peer)
            return KeychainResponder(KeychainBridge(host, wantsNotes: hello.wantsNotes))
        } catch {
            return RefusingKeychainResponder(reason: error)
        }
    }

    private func responder(for hello: ServiceHello, _ peer: Peer) -> any Responder {
        do throws(Refusal) {
            return ServiceResponder(service: try service(hello, peer), abilities: hello.abilities)
        } catch {
            return RefusingResponder(reason: error)
        }
    }
}

/// The first message of a connection.
enum FirstMessage: Equatable {
    case hello(ClientHello)
    /// The ticket of a client on another machine, to which the connection belongs.
    case join(Ticket)

    static func isFirst(_ header: FrameHeader) -> Bool {
        [.hello, .serviceHello, .keychainHello, .join].contains(header.kind) && header.number == 0
            && header.secretCount == 0
    }

    /// - Returns: nil for any other message.
    init?(_ header: FrameHeader, _ fields: [UInt8]) {
        guard FirstMessage.isFirst(header) else { return nil }
        if header.kind == .join {
            guard let ticket = try? Ticket(parsing: fields) else { return nil }
            self = .join(ticket)
        } else {
            guard let hello = ClientHello(header, fields) else { return nil }
            self = .hello(hello)
        }
    }
}

/// The first message of a client, by which it says what it is going to ask.
enum ClientHello: Equatable {
    case module(Hello)
    case service(ServiceHello)
    case keychain(KeychainHello)

    /// - Returns: nil for any other message.
    init?(_ header: FrameHeader, _ fields: [UInt8]) {
        guard FirstMessage.isFirst(header) else { return nil }
        switch header.kind {
        case .hello:
            guard let hello = try? Hello(parsing: fields), hello.firstHandle <= Hello.maximumFirstHandle else {
                return nil
            }
            self = .module(hello)
        case .keychainHello:
            guard let hello = try? KeychainHello(parsing: fields) else { return nil }
            self = .keychain(hello)
        case .serviceHello:
            guard let hello = try? ServiceHello(parsing: fields) else { return nil }
            self = .service(hello)
        default: return nil
        }
    }

    /// The version in which the client is served; nil where client and host have none in common.
    var version: UInt64? {
        switch self {
        case .module(let hello):
            ClientHello.version(hello.oldestVersion, hello.newestVersion, served: Hello.version...Hello.version)
        case .service(let hello):
            ClientHello.version(hello.oldestVersion, hello.newestVersion, served: ServiceHello.servedVersions)
        case .keychain(let hello):
            ClientHello.version(
                hello.oldestVersion, hello.newestVersion, served: KeychainHello.version...KeychainHello.version)
        }
    }

    /// The newest version that both sides speak.
    private static func version(_ oldest: UInt64, _ newest: UInt64, served: ClosedRange<UInt64>) -> UInt64? {
        let version = min(newest, served.upperBound)
        return version >= max(oldest, served.lowerBound) ? version : nil
    }

    var environment: [[UInt8]] {
        switch self {
        case .module(let hello): hello.environment
        case .service(let hello): hello.environment
        case .keychain(let hello): hello.environment
        }
    }
}

/// The beginning of a client's connection.
enum Greeting {
    /// - Returns: false where the client is gone or does not read.
    static func send(_ answer: HelloAnswer, to socket: FrameSocket) -> Bool {
        socket.send(.hello, number: 0, answer.encoded(), Secret(capacity: 0) { _ in })
    }

    /// Waits for a client's hello, without a time limit, and serves the client.
    ///
    /// - Parameters:
    ///   - trace: the trace for which a client of the face may hand in a file.
    ///   - ended: called once the client has ended, or was not served.
    static func serve(
        _ socket: FrameSocket, _ heartbeat: Heartbeat, _ make: ClientMaker, trace: TraceFile? = nil,
        whenEnded ended: @escaping @Sendable () -> Void = {}
    ) {
        guard let peer = Peer(ofAccepted: socket.descriptor), let frame = socket.receive(),
            let hello = ClientHello(frame.header, frame.fields)
        else { return ended() }
        guard let version = hello.version else {
            _ = send(.otherVersion, to: socket)
            return ended()
        }
        serve(socket, hello, version, peer, heartbeat, make, trace: trace, whenEnded: ended)
    }

    /// Tells a client that it is served, and serves it.
    ///
    /// - Parameter ended: called once the client has ended.
    static func serve(
        _ socket: FrameSocket, _ hello: ClientHello, _ version: UInt64, _ peer: Peer, _ heartbeat: Heartbeat,
        _ make: ClientMaker, trace: TraceFile? = nil, whenEnded ended: @escaping @Sendable () -> Void
    ) {
        guard send(.served(version: version), to: socket) else { return ended() }
        let isOfFace = if case .service = hello { true } else { false }
        let language = ClientLanguages.shared.language(of: hello.environment)
        Client(make.responder(for: hello, peer), in: language, heartbeat, trace: isOfFace ? trace : nil).serve(
            socket, process: peer.handle, whenEnded: ended)
    }
}
