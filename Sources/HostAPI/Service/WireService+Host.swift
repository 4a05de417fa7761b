package import KeychainModel

extension WireService {
    package func hostStatus(_ context: RequestContext) throws(KeychainError) -> HostStatus {
        try send(.hostStatus, HostAnswer.hostStatus, context)
    }

    package func journal(
        after position: UInt64?, waiting patience: Duration, _ context: RequestContext
    ) throws(KeychainError) -> JournalPage {
        try send(.journal(after: position, waiting: patience), HostAnswer.journal, context)
    }
}
