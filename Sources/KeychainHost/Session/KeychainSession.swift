internal import KeychainModel
internal import TokenKit

/// The keychains of one request: those to search, the one to add to, the client's access groups, and its authentication
/// context.
struct KeychainSession: Sendable {
    let searchList: SearchList
    /// The keychain of new items that name none.
    var defaultKeychain: (any Keychain)?
    var accessGroups = AccessGroups.all
    var authentication = AuthenticationContext()
    /// The roots of chains for searches of trusted certificates.
    var trustAnchors = TrustAnchors.system
    /// The cards that were read before, whether or not they are inserted now.
    var knownTokens: @Sendable () -> [KnownToken] = { [] }
    /// The keychains that the process has opened, whether or not they are in the search list.
    var openedKeychains: @Sendable () -> [any Keychain] = { [] }
    /// The files that the client has named by their paths.
    var namedKeychains: @Sendable () -> [LocalKeychain] = { [] }
}

extension KeychainSession {
    /// The client of its searches.
    var client: SearchClient { SearchClient(accessGroups: accessGroups, trustAnchors: trustAnchors) }

    /// - Throws: `errSecMissingEntitlement` for a client without any group.
    func checkEntitled() throws(KeychainError) {
        if accessGroups.names.isEmpty {
            throw KeychainError(.missingEntitlement, "this program has no access group")
        }
    }

    /// - Throws: `errSecMissingEntitlement` for a group that is not open to the client.
    func checkEntitled(_ attributes: Attributes) throws(KeychainError) {
        guard let group = attributes[.accessGroup]?.bytes else { return }
        let name = String(decoding: group, as: UTF8.self)
        guard accessGroups.allow(name), name != AccessGroup.token else {
            throw KeychainError(
                .missingEntitlement, "the access group \(name) is not open to this program",
                key: Attribute.accessGroup.rawValue)
        }
    }
}
