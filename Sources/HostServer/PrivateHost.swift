internal import Glibc
package import KeychainHost
internal import Platform
internal import TokenKit
internal import WireTransport

/// A host for one client alone.
package enum PrivateHost {
    /// Serves the client at the other end of a socket, and returns when the client is gone.
    ///
    /// - Parameter trace: the trace of commands to cards, for which a client of the face may hand in a file.
    package static func serve(_ descriptor: Int32, _ make: ClientMaker, trace: TraceFile) {
        let heartbeat = Heartbeat()
        heartbeat.start()
        let end = CountingSemaphore()
        Greeting.serve(FrameSocket(descriptor), heartbeat, make, trace: trace) { end.signal() }
        end.wait()
        PendingLogouts.wait()
    }
}
