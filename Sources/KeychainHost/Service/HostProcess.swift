internal import Glibc
package import HostAPI

/// The process of a host, which the hosts of all its clients share.
package final class HostProcess: Sendable {
    private let clients: @Sendable () -> [HostStatus.Client]
    private let start = Int64(time(nil))

    /// - Parameter clients: tells the programs that the process serves now.
    package init(serving clients: @escaping @Sendable () -> [HostStatus.Client] = { [] }) {
        self.clients = clients
    }

    var status: HostStatus {
        HostStatus(process: getpid(), version: HostStatus.currentVersion, start: start, clients: clients())
    }
}
