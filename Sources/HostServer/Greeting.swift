internal import Glibc
package import PKCS11Bridge
internal import SecureBytes
package import Wire

/// Makes a client's state from its hello, and from the facts about its process.
package typealias ClientMaker = @Sendable (Hello, Peer) -> Cryptoki

/// The beginning of a client's connection.
enum Greeting {
    static func isHello(_ header: FrameHeader) -> Bool {
        header.kind == .hello && header.number == 0 && header.secretCount == 0
    }

    /// - Returns: nil for any other message.
    static func hello(_ header: FrameHeader, _ fields: [UInt8]) -> Hello? {
        guard isHello(header), let hello = try? Hello(parsing: fields), hello.firstHandle <= Hello.maximumFirstHandle
        else { return nil }
        return hello
    }

    /// - Returns: whether client and host have a version in common.
    static func isSpoken(_ hello: Hello) -> Bool {
        hello.oldestVersion <= Hello.version && Hello.version <= hello.newestVersion
    }

    /// - Returns: false where the client is gone or does not read.
    static func send(_ answer: HelloAnswer, to socket: FrameSocket) -> Bool {
        socket.send(.hello, number: 0, answer.encoded(), Secret(capacity: 0) { _ in })
    }

    /// Waits for a client's hello, without a time limit, and serves the client until it ends.
    static func serve(_ socket: FrameSocket, _ heartbeat: Heartbeat, _ make: ClientMaker) {
        guard let peer = Peer(of: socket.descriptor), let frame = socket.receive(),
            let hello = hello(frame.header, frame.fields)
        else { return }
        if isSpoken(hello) {
            serve(socket, hello, peer, heartbeat, make)
        } else {
            _ = send(.otherVersion, to: socket)
        }
    }

    /// Tells a client that it is served, and serves it until it ends.
    static func serve(
        _ socket: FrameSocket, _ hello: Hello, _ peer: Peer, _ heartbeat: Heartbeat, _ make: ClientMaker
    ) {
        guard send(.served(version: Hello.version), to: socket) else { return }
        let process = peer.watch()
        defer { if process >= 0 { close(process) } }
        Client(make(hello, peer), heartbeat).serve(socket, process: process)
    }
}
