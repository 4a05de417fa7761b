public import HostAPI
public import KeychainModel

// Requests about the host's own process.
extension Host {
    public func hostStatus(_ context: RequestContext) throws(KeychainError) -> HostStatus {
        try run(context) { _ throws(KeychainError) in process.status }
    }
}
