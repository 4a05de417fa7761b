internal import Glibc
package import PKCS11Bridge
internal import TokenKit
package import Wire

/// Makes what a client has from what it says of itself, and what is known of it.
package typealias ClientMaker = @Sendable (Hello, Peer) -> Cryptoki

/// A host that one client has alone.
package enum PrivateHost {
    /// Serves the client at the other end of a socket, and returns when that is gone.
    package static func serve(_ descriptor: Int32, _ make: ClientMaker) {
        let heartbeat = Heartbeat()
        heartbeat.start()
        Greeting.serve(FrameSocket(descriptor), heartbeat, accepts: { _ in true }, make)
        PendingLogouts.wait()
    }
}

/// The beginning of a client's connection.
enum Greeting {
    /// Reads what a client says of itself, answers, and serves it until it ends.
    static func serve(
        _ socket: FrameSocket, _ heartbeat: Heartbeat, accepts: (Hello) -> Bool, _ make: ClientMaker
    ) {
        guard let peer = Peer(of: socket.descriptor), let frame = socket.receive(), frame.header.kind == .hello,
            frame.header.number == 0, frame.secrets.isEmpty, let hello = try? Hello(parsing: frame.fields)
        else { return }
        let answer: HelloAnswer =
            if !(hello.oldestVersion...max(hello.oldestVersion, hello.newestVersion)).contains(Hello.version) {
                .otherVersion
            } else if accepts(hello) { .served(version: Hello.version) } else { .otherEnvironment }
        let nothing = Secret(capacity: 0) { _ in }
        guard socket.send(.hello, number: 0, answer.encoded(), nothing), case .served = answer else { return }
        let process = peer.watch()
        defer { if process >= 0 { close(process) } }
        Client(make(hello, peer), heartbeat).serve(socket, process: process)
    }
}
