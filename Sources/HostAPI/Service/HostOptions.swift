package import KeychainModel

/// The choices of a client of the host's face, which hold for all its requests.
package struct HostOptions: Sendable, Hashable {
    /// The modules of other makers in which tokens are searched for.
    package enum Modules: Sendable, Hashable {
        case none
        /// The modules that `TOKENKIT_MODULES` names in the client's environment, else those that p11-kit has configured for the client's
        /// program. A client without `PATH` has none: a program with more rights than its user starts nothing that its user's files name.
        case configured
        /// Names in p11-kit, or absolute paths of files, since the host is in another folder than its client. With an unknown name, each
        /// request fails.
        case named([String])
    }

    package var modules: Modules
    /// The readers and the tokens that are used: a part of their names, or a PKCS #11 URI, of which the parts that name a module are not
    /// looked at; nil for all. If such a reader is there, only named modules are searched.
    package var reader: String?
    /// Whether facts that were read of cards before are used.
    package var recalls = true
    /// Whether a card that was waited for in vain is not waited for again.
    package var waitsOnce = false
    /// The groups that are open to the client; nil for those that `TOKENKIT_ACCESS_GROUPS` names in its environment.
    package var accessGroups: AccessGroups?
    /// Whether the client has more rights than its user, who is not asked then: he would choose the program that asks.
    package var hasMoreRights = false

    package init(
        modules: Modules = .configured, reader: String? = nil, recalls: Bool = true, waitsOnce: Bool = false,
        accessGroups: AccessGroups? = nil, hasMoreRights: Bool = false
    ) {
        self.modules = modules
        self.reader = reader
        self.recalls = recalls
        self.waitsOnce = waitsOnce
        self.accessGroups = accessGroups
        self.hasMoreRights = hasMoreRights
    }

    /// The options of a client that chooses nothing, and of one whose hello is of a version without options.
    package static let standard = HostOptions()

    // MARK: Bounds

    /// The names that an option may have.
    private static let maximumCount = 256
    /// UTF-8 bytes of a name, or of the path of a module: `PATH_MAX`.
    private static let maximumLength = 4096

    /// Whether a host takes the options: there are not too many names, and none is too long or has a NUL, at which C would end it.
    package var isWithinBounds: Bool {
        var modules: [String] = []
        if case .named(let names) = self.modules { modules = names }
        return [modules, reader.map { [$0] } ?? [], accessGroups?.names ?? []].allSatisfy { names in
            names.count <= HostOptions.maximumCount
                && names.allSatisfy { $0.utf8.count <= HostOptions.maximumLength && !$0.utf8.contains(0) }
        }
    }
}
