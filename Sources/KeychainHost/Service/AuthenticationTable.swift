internal import HostAPI
internal import KeychainModel
internal import Localization
internal import SecureBytes
internal import Synchronization

/// The authentication contexts that the host keeps for a client.
final class AuthenticationTable: Sendable {
    private struct Entry {
        let context: AuthenticationContext
        /// The credentials of the last request.
        var given: [CredentialKind: SharedSecret] = [:]

        /// Takes over the credentials of a request. One that is the same as in the last request is not set again: it
        /// may have been refused since.
        mutating func take(_ credentials: [RequestContext.Credential]) {
            for kind in CredentialKind.allCases {
                let credential = credentials.first { $0.kind == kind }?.secret
                guard credential != given[kind] else { continue }
                given[kind] = credential
                if let credential {
                    context.setCredential(credential.secret.clone(), kind)
                } else {
                    context.removeCredential(kind)
                }
            }
        }
    }

    /// The most contexts that a client may have at one time.
    static let maximumCount = 4096

    private let entries = Mutex<[AuthenticationNumber: Entry]>([:])

    /// The context of a request, with its credentials: that of its number, or a new one.
    ///
    /// - Throws: `errSecAllocate` where there are too many.
    func context(
        of request: RequestContext, _ makeContext: () -> AuthenticationContext
    ) throws(KeychainError) -> AuthenticationContext {
        guard let number = request.authentication else {
            var entry = Entry(context: makeContext())
            entry.take(request.credentials)
            return entry.context
        }
        return try entries.withLock { entries throws(KeychainError) in
            if entries[number] == nil {
                guard entries.count < AuthenticationTable.maximumCount else {
                    throw KeychainError(
                        .allocate, "there are too many authentication contexts", remedy: "end those that are not used")
                }
                entries[number] = Entry(context: makeContext())
            }
            entries[number]?.take(request.credentials)
            return entries[number]?.context ?? makeContext()
        }
    }

    var count: Int { entries.withLock(\.count) }

    func endAll() { entries.withLock { $0 = [:] } }

    func end(_ number: AuthenticationNumber) { entries.withLock { $0[number] = nil } }
}
