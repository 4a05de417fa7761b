public import KeychainModel

/// The part of the host's face that concerns its own process.
public protocol HostStateService: Sendable {
    /// The host's process, and the programs that it serves.
    func hostStatus(_ context: RequestContext) throws(KeychainError) -> HostStatus

    /// The last uses of keys, passwords and logins by all clients of the host.
    ///
    /// - Parameters:
    ///   - position: the position of a former page; nil for all events that the journal has.
    ///   - patience: how long to wait for an event where there is none.
    func journal(
        after position: UInt64?, waiting patience: Duration, _ context: RequestContext
    ) throws(KeychainError) -> JournalPage
}
