package import HostAPI
internal import Platform
internal import Synchronization

/// The clients of a shared host, by their processes. A program beyond the limit starts a host of its own.
package final class ServedClients: Sendable {
    private let counts = Mutex<[Int32: Int]>([:])
    private let all = Atomic(0)

    private static let maximum = 1024
    /// A process has one client for each copy of the module that it loads.
    private static let maximumOfProcess = 16

    package init() {}

    var total: Int { all.load(ordering: .sequentiallyConsistent) }

    /// The programs that are served now.
    package var programs: [HostStatus.Client] {
        counts.withLock { $0 }.sorted { $0.key < $1.key }.map { process, count in
            HostStatus.Client(process: process, program: Executable.name(of: process), count: count)
        }
    }

    /// - Returns: whether the client is below the limits.
    func add(_ peer: Peer) -> Bool {
        counts.withLock { counts in
            let count = counts[peer.process, default: 0]
            guard count < ServedClients.maximumOfProcess, total < ServedClients.maximum else { return false }
            counts[peer.process] = count + 1
            all.add(1, ordering: .sequentiallyConsistent)
            return true
        }
    }

    func remove(_ peer: Peer) {
        counts.withLock { counts in
            let count = counts[peer.process, default: 0]
            counts[peer.process] = count > 1 ? count - 1 : nil
            all.subtract(1, ordering: .sequentiallyConsistent)
        }
    }
}
