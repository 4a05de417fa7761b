internal import Synchronization
internal import Wire

/// The clients on other machines, by their tickets. A connection that ssh forwards carries no descriptors, so that the further connections
/// of such a client come to the socket as its first one did.
final class RemoteClients: Sendable {
    private let clients = Mutex<[Ticket: Client]>([:])

    /// - Returns: the client's ticket, which no other machine can guess.
    func add(_ client: Client) -> Ticket {
        var random = SystemRandomNumberGenerator()
        let ticket = Ticket(high: random.next(), low: random.next())
        clients.withLock { $0[ticket] = client }
        return ticket
    }

    func remove(_ ticket: Ticket) { _ = clients.withLock { $0.removeValue(forKey: ticket) } }

    subscript(ticket: Ticket) -> Client? { clients.withLock { $0[ticket] } }
}
