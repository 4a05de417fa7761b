internal import CLinux
internal import Glibc
internal import Platform

/// The process at the other end of a client's connection, as the kernel reports it. The client has no influence on it.
package struct Peer: Sendable {
    package let process: Int32
    package let user: UInt32
}

extension Peer {
    /// - Returns: nil where the kernel does not tell.
    init?(of descriptor: Int32) {
        var process: Int32 = 0
        var user: UInt32 = 0
        guard unsafe clinux_peer(descriptor, &process, &user) == 0 else { return nil }
        (self.process, self.user) = (process, user)
    }

    /// The name of the program that the process runs; empty where it cannot be seen.
    package var program: String { Executable.name(of: process) }

    /// A descriptor that is readable once the process has ended; negative where none can be made. The connection alone does not
    /// show the end, since a child of the process may hold it open.
    func watch() -> Int32 { process > 0 ? clinux_process(process) : -1 }
}
