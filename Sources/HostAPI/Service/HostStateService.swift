public import KeychainModel

/// The part of the host's face that concerns its own process.
public protocol HostStateService: Sendable {
    /// The host's process, and the programs that it serves.
    func hostStatus(_ context: RequestContext) throws(KeychainError) -> HostStatus
}
