internal import CLinux
internal import Glibc
package import HostAPI
package import Platform

/// The process at the other end of a client's connection, as the kernel reports it. The client has no influence on it.
package struct Peer: Sendable {
    package let process: Int32
    package let user: UInt32
    /// The process, held from when the connection was accepted; nil where it has ended since or has no number here, and for a further
    /// connection of a client. `AskingProgram` looks up its program.
    package let handle: ProcessHandle?

    init(process: Int32, user: UInt32, handle: ProcessHandle? = nil) {
        (self.process, self.user, self.handle) = (process, user, handle)
    }
}

extension Peer {
    /// The peer of a further connection of a client.
    ///
    /// - Returns: nil where the kernel does not tell.
    init?(of descriptor: Int32) {
        self.init(of: descriptor, handle: nil)
    }

    /// The peer of a client's first connection, as soon as it is there.
    ///
    /// - Returns: nil where the kernel does not tell.
    init?(ofAccepted descriptor: Int32) {
        self.init(of: descriptor, handle: ProcessHandle(peerOf: descriptor))
    }

    private init?(of descriptor: Int32, handle: ProcessHandle?) {
        var process: Int32 = 0
        var user: UInt32 = 0
        guard unsafe clinux_peer(descriptor, &process, &user) == 0 else { return nil }
        self.init(process: process, user: user, handle: handle)
    }

    /// The name of the program that the process runs; empty where it cannot be seen.
    package var program: String { Executable.name(of: process) }

    /// The variables that the program was started with; none where they cannot be seen.
    package var variables: [String: String] { handle.map { ProcessEnvironment.variables(of: $0) } ?? [:] }

    /// The process as a client of the host.
    package var client: HostStatus.Client { HostStatus.Client(process: process, program: program) }
}
