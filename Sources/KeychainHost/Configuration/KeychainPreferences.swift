internal import KeychainStore
package import KeychainModel
internal import Localization
public import Platform
internal import Settings
internal import TokenKit

/// The settings of local keychains: the search list, the default keychain, and the one that is unlocked at login.
///
/// The settings are in `keychains.conf` of ``Directories/configuration``, and for the whole system of ``Directories/system``;
/// both are for people to read and edit. Without them every keychain in the folder for keychains is visited, `login` first,
/// and `login` gets new items. Keychain semantics 2.1.
public struct KeychainPreferences: Sendable {
    public let directories: Directories
    private let known = KnownSettings()

    public init(directories: Directories = .ofUser) {
        self.directories = directories
    }

    // MARK: Search list

    /// The files that a search visits: the user's, then the system's. Cards come before them all.
    ///
    /// Where the system's list is fixed, it is the only one. Where it is preset, the user's settings replace it.
    func searchList() throws(KeychainError) -> [String] {
        searchList(system: try text(of: .system), user: try text(of: .user))
    }

    func searchList(system: PreferencesText?, user: PreferencesText?) -> [String] {
        let shared = searchList(system, in: .system)
        let choice = system?.choice(for: .keychain)
        guard choice != .fixed else { return shared }
        let own = searchList(user, in: .user)
        guard choice == nil || user?[.keychain] == nil else { return own }
        return own + shared.filter { !own.contains(sameAs: $0) }
    }

    /// The search list of one domain.
    ///
    /// - Throws: `errSecInvalidPrefsDomain` for ``PreferencesDomain/dynamic``.
    func searchList(in domain: PreferencesDomain) throws(KeychainError) -> [String] {
        searchList(try text(of: domain), in: domain)
    }

    /// Replaces a search list. Keychains of the system's list are dropped from the user's: they are visited anyway.
    ///
    /// - Parameter paths: names as ``Directories/path(ofKeychain:)`` takes them; they need not exist.
    /// - Throws: `errSecInvalidPrefsDomain` for ``PreferencesDomain/dynamic``; `errSecParam` for a path that the file cannot hold;
    ///   `errSecWrPerm` where the system's list is fixed.
    func setSearchList(_ paths: [String], in domain: PreferencesDomain = .user) throws(KeychainError) {
        try checkChoice(.keychain, in: domain)
        let system = domain == .user ? try text(of: .system) : nil
        let others = system?.choice(for: .keychain) == nil ? searchList(system, in: .system) : []
        var kept: [String] = []
        for path in paths.map(absolutePath) where !(kept + others).contains(sameAs: path) { kept.append(path) }
        try file(of: domain).change { text throws(KeychainError) in try text.set(.keychain, to: kept) }
    }

    // MARK: Default and login keychain

    /// The keychain that gets new items: the user's setting, else the login keychain where there is one, else the
    /// system's setting; the system's alone where it is fixed.
    ///
    /// - Throws: `errSecNoDefaultKeychain` if there is none.
    func defaultKeychain() throws(KeychainError) -> String {
        // Settings of the system that cannot be read keep a user from no keychain.
        let isFixed = (try? text(of: .system))?.choice(for: .defaultKeychain) == .fixed
        if !isFixed, let path = defaultKeychain(try text(of: .user), in: .user) { return path }
        return try defaultKeychain(in: .system)
    }

    /// The default of one domain.
    ///
    /// - Throws: `errSecNoDefaultKeychain` if there is none, `errSecInvalidPrefsDomain` for ``PreferencesDomain/dynamic``.
    func defaultKeychain(in domain: PreferencesDomain) throws(KeychainError) -> String {
        guard let path = defaultKeychain(try text(of: domain), in: domain) else {
            throw .noDefaultKeychain
        }
        return path
    }

    /// Sets or clears the default of a domain.
    ///
    /// - Throws: `errSecWrPerm` for a keychain that cannot be written to, and where the system's is fixed; `errSecInvalidPrefsDomain` for
    ///   ``PreferencesDomain/dynamic``, and the errors of ``LocalKeychain/open(_:)``.
    func setDefaultKeychain(_ path: String?, in domain: PreferencesDomain = .user) throws(KeychainError) {
        try checkChoice(.defaultKeychain, in: domain)
        let file = try file(of: domain)
        let path = path.map(absolutePath)
        if let path, try LocalKeychain.open(path).isReadOnly {
            throw KeychainError(.writePermission, "\(path) is read-only and cannot take new items")
        }
        try file.change { text throws(KeychainError) in try text.set(.defaultKeychain, to: path.map { [$0] }) }
    }

    /// The keychain that is unlocked with the password of the login; it may not exist.
    package func loginKeychain() throws(KeychainError) -> String {
        try loginKeychain(try text(of: .user))
    }

    /// Sets or clears the login keychain.
    func setLoginKeychain(_ path: String?) throws(KeychainError) {
        let path = path.map(absolutePath)
        try file(of: .user).change { text throws(KeychainError) in
            try text.set(.loginKeychain, to: path.map { [$0] })
        }
    }

    /// The absolute path of a keychain's file, without symbolic links if it exists.
    func absolutePath(_ name: String) -> String {
        let path = directories.path(ofKeychain: name)
        return resolvedPath(path) ?? Platform.absolutePath(path)
    }
}

// MARK: What the files say

extension KeychainPreferences {
    func file(of domain: PreferencesDomain) throws(KeychainError) -> PreferencesFile<PreferencesText> {
        try file("keychains.conf", of: domain, as: PreferencesText.self)
    }

    /// A file of the domain. The system's is root's alone to write.
    func file<Text>(
        _ name: String, of domain: PreferencesDomain, as text: Text.Type
    ) throws(KeychainError) -> PreferencesFile<Text> {
        switch domain {
        case .user: PreferencesFile(path: "\(directories.configuration)/\(name)")
        case .system, .common: .ofSystem(name, in: directories)
        case .dynamic:
            throw KeychainError(
                .invalidPreferencesDomain, "settings cannot choose cards, which are used whenever they are inserted")
        }
    }

    /// - Throws: `errSecWrPerm` where the system's value of a setting is fixed, and so the user's does not count; `errSecDecode` where the
    ///   system's settings cannot be read, which may fix it.
    func checkChoice(_ setting: PreferencesText.Setting, in domain: PreferencesDomain) throws(KeychainError) {
        guard domain == .user, let system = try text(of: .system), system.choice(for: setting) == .fixed else {
            return
        }
        throw KeychainError(
            .writePermission, "the administrator has fixed \(setting.rawValue) in \(directories.system)/keychains.conf")
    }

    func searchList(_ text: PreferencesText?, in domain: PreferencesDomain) -> [String] {
        text?[.keychain]?.map(directories.path(ofKeychain:))
            ?? (domain == .user ? directories.keychainFiles(known.names(in:)) : [])
    }

    func defaultKeychain(_ text: PreferencesText?, in domain: PreferencesDomain) -> String? {
        if let path = text?[.defaultKeychain]?.first { return directories.path(ofKeychain: path) }
        let login = domain == .user ? try? loginKeychain(text) : nil
        return login.flatMap { resolvedPath($0) == nil ? nil : $0 }
    }

    private func loginKeychain(_ text: PreferencesText?) throws(KeychainError) -> String {
        text?[.loginKeychain]?.first.map(directories.path(ofKeychain:)) ?? directories.loginKeychain
    }

    func text(of domain: PreferencesDomain) throws(KeychainError) -> PreferencesText? {
        try known.text(of: file(of: domain))
    }
}

extension [String] {
    /// Whether one of the paths leads to the same file.
    func contains(sameAs path: String) -> Bool {
        let target = resolvedPath(path) ?? path
        return contains { $0 == path || resolvedPath($0) ?? $0 == target }
    }
}
