internal import Glibc
internal import TokenKit
internal import WireTransport

/// A host for one client alone.
package enum PrivateHost {
    /// Serves the client at the other end of a socket, and returns when the client is gone.
    package static func serve(_ descriptor: Int32, _ make: ClientMaker) {
        let heartbeat = Heartbeat()
        heartbeat.start()
        Greeting.serve(FrameSocket(descriptor), heartbeat, make)
        PendingLogouts.wait()
    }
}
