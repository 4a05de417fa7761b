package import HostAPI
internal import Platform
internal import Synchronization

/// The clients of a shared host, by their processes. A program beyond the limit starts a host of its own.
package final class ServedClients: Sendable {
    /// The interface by which a process is served.
    enum Interface {
        /// The host's own. A process has one client for each copy of the module that it loads.
        case host
        /// The SSH agent's. A program such as `sshd` opens a connection for each login that it forwards, and `git` one for each server.
        case agent

        fileprivate var maximumOfProcess: Int {
            switch self {
            case .host: 16
            case .agent: 128
            }
        }
    }

    private struct Counts {
        var host = 0
        var agent = 0

        var total: Int { host + agent }

        subscript(interface: Interface) -> Int {
            get { interface == .host ? host : agent }
            set { if interface == .host { host = newValue } else { agent = newValue } }
        }
    }

    private let counts = Mutex<[Int32: Counts]>([:])
    private let all = Atomic(0)

    private static let maximum = 1024

    package init() {}

    var total: Int { all.load(ordering: .sequentiallyConsistent) }

    /// The programs that are served now.
    package var programs: [HostStatus.Client] {
        counts.withLock { $0 }.sorted { $0.key < $1.key }.map { process, counts in
            HostStatus.Client(process: process, program: Executable.name(of: process), count: counts.total)
        }
    }

    /// - Returns: whether the client is below the limits.
    func add(_ peer: Peer, to interface: Interface = .host) -> Bool {
        counts.withLock { counts in
            let count = counts[peer.process, default: Counts()][interface]
            guard count < interface.maximumOfProcess, total < ServedClients.maximum else { return false }
            counts[peer.process, default: Counts()][interface] = count + 1
            all.add(1, ordering: .sequentiallyConsistent)
            return true
        }
    }

    func remove(_ peer: Peer, from interface: Interface = .host) {
        counts.withLock { counts in
            guard var ofProcess = counts[peer.process] else { return }
            ofProcess[interface] -= 1
            counts[peer.process] = ofProcess.total > 0 ? ofProcess : nil
            all.subtract(1, ordering: .sequentiallyConsistent)
        }
    }
}
