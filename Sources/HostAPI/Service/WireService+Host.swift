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

    package func accessDecisions(
        in keychains: [KeychainIdentifier]?, _ context: RequestContext
    ) throws(KeychainError) -> Outcome<[AccessEntry]> {
        try send(.accessDecisions(in: keychains), HostAnswer.accessDecisions, context)
    }

    package func changeAccess(_ change: AccessChange, _ context: RequestContext) throws(KeychainError) -> Int {
        try send(.changeAccess(change), HostAnswer.accessChange, context)
    }

    package func access(
        to item: PersistentReference, _ context: RequestContext
    ) throws(KeychainError) -> ItemAccess {
        try send(.access(to: item), HostAnswer.access, context)
    }
}
