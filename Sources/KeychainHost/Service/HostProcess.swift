internal import Glibc
package import HostAPI

/// The process of a host, which the hosts of all its clients share.
package final class HostProcess: Sendable {
    package let journal: Journal
    private let clients: @Sendable () -> [HostStatus.Client]
    private let start = Int64(time(nil))

    /// - Parameters:
    ///   - clients: tells the programs that the process serves now.
    ///   - journal: the uses of keys by all clients.
    package init(
        serving clients: @escaping @Sendable () -> [HostStatus.Client] = { [] }, journal: Journal = Journal()
    ) {
        self.clients = clients
        self.journal = journal
    }

    var status: HostStatus {
        HostStatus(process: getpid(), version: HostStatus.currentVersion, start: start, clients: clients())
    }
}
