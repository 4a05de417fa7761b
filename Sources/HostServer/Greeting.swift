internal import Glibc
package import PKCS11Bridge
internal import TokenKit
package import Wire

/// Makes what a client has from what it says of itself, and what is known of it.
package typealias ClientMaker = @Sendable (Hello, Peer) -> Cryptoki

/// The beginning of a client's connection.
enum Greeting {
    /// Reads what a client says of itself, answers, and serves it until it ends.
    ///
    /// - Parameter refusal: why the client is not served; nil where it is.
    static func serve(
        _ socket: FrameSocket, _ heartbeat: Heartbeat, _ make: ClientMaker,
        unless refusal: (Hello, Peer) -> HelloAnswer?
    ) {
        guard let peer = Peer(of: socket.descriptor), let frame = socket.receive(), frame.header.kind == .hello,
            frame.header.number == 0, frame.secrets.isEmpty, let hello = try? Hello(parsing: frame.fields),
            hello.firstHandle <= Hello.maximumFirstHandle
        else { return }
        let isSpoken = hello.oldestVersion <= Hello.version && Hello.version <= hello.newestVersion
        let answer = isSpoken ? refusal(hello, peer) ?? .served(version: Hello.version) : .otherVersion
        let nothing = Secret(capacity: 0) { _ in }
        guard socket.send(.hello, number: 0, answer.encoded(), nothing), case .served = answer else { return }
        let process = peer.watch()
        defer { if process >= 0 { close(process) } }
        Client(make(hello, peer), heartbeat).serve(socket, process: process)
    }
}
