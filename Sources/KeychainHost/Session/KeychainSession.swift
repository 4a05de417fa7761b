internal import KeychainModel
internal import Localization
internal import TokenKit

/// The keychains of one request: those to search, the one to add to, the client's access groups, and its authentication
/// context.
struct KeychainSession: Sendable {
    let searchList: SearchList
    private let lookForDefaultKeychain: @Sendable () -> (any Keychain)?
    let accessGroups: AccessGroups
    let authentication: AuthenticationContext
    /// The roots of chains for searches of trusted certificates.
    let trustAnchors: TrustAnchors
    /// The cards that were read before, whether or not they are inserted now.
    let knownTokens: @Sendable () -> [KnownToken]
    /// The keychains that the process has opened, whether or not they are in the search list.
    let openedKeychains: @Sendable () -> [any Keychain]
    /// The files that the client has named by their paths.
    let namedKeychains: @Sendable () -> [LocalKeychain]

    /// - Parameters:
    ///   - defaultKeychain: the keychain of new items that name none.
    ///   - look: looks for it instead, once it is wanted: most requests are searches, and need no settings for it.
    init(
        searchList: SearchList, defaultKeychain: (any Keychain)? = nil,
        lookingForDefaultKeychain look: (@Sendable () -> (any Keychain)?)? = nil,
        accessGroups: AccessGroups = .all, authentication: AuthenticationContext = AuthenticationContext(),
        trustAnchors: TrustAnchors = .system, knownTokens: @escaping @Sendable () -> [KnownToken] = { [] },
        openedKeychains: @escaping @Sendable () -> [any Keychain] = { [] },
        namedKeychains: @escaping @Sendable () -> [LocalKeychain] = { [] }
    ) {
        self.searchList = searchList
        lookForDefaultKeychain = look ?? { defaultKeychain }
        self.accessGroups = accessGroups
        self.authentication = authentication
        self.trustAnchors = trustAnchors
        self.knownTokens = knownTokens
        self.openedKeychains = openedKeychains
        self.namedKeychains = namedKeychains
    }

    /// The keychain of new items that name none, as the settings have it now.
    var defaultKeychain: (any Keychain)? { lookForDefaultKeychain() }
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
