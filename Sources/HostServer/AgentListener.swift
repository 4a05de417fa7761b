internal import Glibc
package import SSHAgent

/// The socket at which programs connect that know an SSH agent.
package struct AgentListener: Sendable {
    let descriptor: Int32
    private let makeSession: @Sendable (Peer) -> AgentSession

    /// - Parameters:
    ///   - descriptor: a socket that listens, which is closed with the host's own.
    ///   - makeSession: makes the agent's side of a connection.
    package init(_ descriptor: Int32, _ makeSession: @escaping @Sendable (Peer) -> AgentSession) {
        (self.descriptor, self.makeSession) = (descriptor, makeSession)
    }

    /// Serves the next program that connects. A program of another user, or beyond the limits, is let go.
    func accept(counting clients: ServedClients) {
        let accepted = Glibc.accept(descriptor, nil, nil)
        guard accepted >= 0 else {
            // Without a free descriptor, `poll` would report the same program again at once.
            if errno == EMFILE || errno == ENFILE { usleep(100_000) }
            return
        }
        _ = fcntl(accepted, F_SETFD, FD_CLOEXEC)
        guard let peer = Peer(ofAccepted: accepted), peer.user == geteuid(), clients.add(peer, to: .agent) else {
            Glibc.close(accepted)
            return
        }
        AgentConnection(accepted, makeSession(peer), in: { ClientLanguages.shared.language(of: peer) }) {
            clients.remove(peer, from: .agent)
        }.start()
    }

    func close() { Glibc.close(descriptor) }
}
