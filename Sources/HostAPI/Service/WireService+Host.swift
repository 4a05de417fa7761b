package import KeychainModel

extension WireService {
    package func hostStatus(_ context: RequestContext) throws(KeychainError) -> HostStatus {
        try send(.hostStatus, HostAnswer.hostStatus, context)
    }
}
