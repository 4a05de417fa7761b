public import HostAPI
public import KeychainModel

// Requests about the host's own process.
extension Host {
    public func hostStatus(_ context: RequestContext) throws(KeychainError) -> HostStatus {
        try run(context) { _ throws(KeychainError) in process.status }
    }

    public func journal(
        after position: UInt64?, waiting patience: Duration, _ context: RequestContext
    ) throws(KeychainError) -> JournalPage {
        try run(context) { ticket throws(KeychainError) in
            try process.journal.page(after: position, waiting: patience, ticket)
        }
    }
}
