internal import HostAPI
internal import KeychainModel
internal import ArgumentParser
internal import Localization
internal import Platform

/// The domain whose settings are shown or set, by the names of macOS's `security`.
struct DomainOptions: ParsableArguments {
    enum Name: String, CaseIterable, ExpressibleByArgument {
        case user, system, common, dynamic
    }

    @Option(name: .letter("d"), help: ArgumentHelp("Whose settings.", valueName: "domain"))
    var name: Name?

    var domain: PreferencesDomain? { name.flatMap { PreferencesDomain(rawValue: $0.rawValue) } }
}

struct ListKeychains: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list-keychains", abstract: "List the keychains a search visits, in its order, or set the list.",
        discussion: """
            With -s the keychains named are the new list of a domain; cards come and go by themselves and are passed \
            over.
            """)

    @OptionGroup var domain: DomainOptions

    @Flag(name: .customShort("s"), help: "Set the list to these keychains.")
    var set = false

    @Argument(help: "With -s: names, or paths with a slash in them.", completion: Completions.keychains)
    var keychains: [String] = []

    @OptionGroup var cards: CardOptions
    @OptionGroup var output: ListingOptions

    func validate() throws {
        guard set || keychains.isEmpty else {
            throw ValidationError(localized: "unexpected argument '\(keychains[0])'; -s sets the list")
        }
        guard set || [.user, .system, .common].contains(domain.name) else { return }
        try cards.refuse("the lists of keychains (-d, -s) have no cards in them: leave out the options for cards")
    }

    func run() throws {
        if set {
            // Cards are left out, so that the output of list-keychains can be the input.
            let files = try keychains.filter { NamedKeychain.noun(ofCard: $0) == nil }.map(KeychainName.file)
            guard keychains.isEmpty || !files.isEmpty else {
                throw CommandError(
                    "only cards are named, so that no keychain in a file would be visited any more",
                    advice: "name the files as well, or none of either for an empty list")
            }
            let (host, request) = (try HostAccess().host, RequestContext.silent)
            try host.choose(.searchList(files), in: domain.domain ?? .user, request)
            warnOfAbsent(try files.map { try host.path(ofKeychain: $0, request) })
            guard output.json || output.table || output.uris else { return }
        }
        let gaps = Gaps()
        let rows = try rows(gaps)
        if output.uris {
            rows.compactMap(\.uri).forEach { StandardOutput.line($0) }
        } else if output.isListing {
            try Listing.show(rows, json: output.json)
        } else {
            for row in rows { StandardOutput.line("    \"\(row.location)\"") }
        }
        try gaps.end()
    }

    /// Warns of listed files that are not there. As on macOS they may be listed, but a misspelt name takes a keychain
    /// out of all searches.
    private func warnOfAbsent(_ paths: [String]) {
        for path in paths where KeychainName.isAbsent(path) {
            Warnings.show("warning: there is no keychain at \(path), which is in the list now")
        }
    }

    /// The configured files, including those that are not searched.
    private func rows(of found: [KeychainDescription], _ host: any KeychainService) throws -> [KeychainRow] {
        // The session's gaps include system settings that cannot be read.
        let paths = try (try? KeychainName.listed()) ?? host.keychainChoice(in: .user, .silent).searchList
        return paths.map { path in
            let target = resolvedPath(path) ?? path
            if let keychain = found.first(where: { $0.location == target }) { return KeychainRow(keychain) }
            var row = KeychainRow(at: path, host)
            guard row.reason == nil else { return row }
            (row.state, row.isReadOnly) = ("copy", nil)
            row.reason = "another keychain of the list has the same items"
            return row
        }
    }

    private func rows(_ gaps: Gaps) throws -> [KeychainRow] {
        switch domain.domain {
        case nil:
            let session = try CommandKeychains(cards, gaps)
            var all = try session.foundTokens()
            let files = try session.foundFiles()
            all.add(missing: files.missing)
            all.add(missing: files.found.compactMap { file in file.damage.map { Missing(inFile: file.name, $0) } })
            return try session.reporting(all).map { KeychainRow($0) }
                + rows(of: files.found, session.access.host)
        case .dynamic:
            let session = try CommandKeychains(cards, files: false, gaps)
            return session.reporting(try session.foundTokens()).map { KeychainRow($0) }
        case let domain?:
            let host = try HostAccess().host
            return try host.keychainChoice(in: domain, .silent).searchList.map { KeychainRow(at: $0, host) }
        }
    }
}

/// The options of a setting that names one keychain.
struct KeychainSettingOptions: ParsableArguments {
    @OptionGroup var domain: DomainOptions

    @Flag(
        name: .customShort("s"), help: "Set it to this keychain; if none is named, unset it, so that login is it again."
    )
    var set = false

    @Argument(help: "With -s: a name, or a path with a slash in it.", completion: Completions.keychains)
    var keychain: String?

    @OptionGroup var output: OutputOptions

    func validate() throws {
        guard set || keychain == nil else {
            throw ValidationError(localized: "unexpected argument '\(keychain ?? "")'; -s sets the keychain")
        }
    }

    /// The path of the named keychain; nil without one.
    var path: String? {
        get throws {
            if let keychain, let noun = NamedKeychain.noun(ofCard: keychain) {
                throw KeychainError(
                    .invalidPreferencesDomain, "'\(keychain)' is \(noun), which takes no new items",
                    remedy: "name a keychain file")
            }
            return try keychain.map(KeychainName.file)
        }
    }

    func show(_ path: String?) throws {
        guard !output.json else { return try Listing.showJSON(["keychain": path]) }
        if let path, !set { StandardOutput.line("    \"\(path)\"") }
    }
}

struct DefaultKeychain: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "default-keychain", abstract: "Show or set the keychain that gets new items.")

    @OptionGroup var setting: KeychainSettingOptions

    func run() throws {
        let (host, request) = (try HostAccess().host, RequestContext.silent)
        let domain = setting.domain.domain
        guard !setting.set else {
            let path = try setting.path
            try host.choose(.defaultKeychain(path), in: domain ?? .user, request)
            return try setting.show(path.map { try host.path(ofKeychain: $0, request) })
        }
        guard let path = try host.keychainChoice(in: domain, request).defaultKeychain else {
            throw KeychainError.noDefaultKeychain
        }
        try setting.show(path)
    }
}

struct LoginKeychain: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "login-keychain", abstract: "Show or set the keychain that is the default where no other is set.",
        discussion: "Logging in unlocks no keychain; \"unlock-keychain\" does, for the rest of the session.")

    @OptionGroup var setting: KeychainSettingOptions

    func run() throws {
        guard setting.domain.domain ?? .user == .user else {
            throw KeychainError(.invalidPreferencesDomain, "only a user has a login keychain", remedy: "leave -d out")
        }
        let (host, request) = (try HostAccess().host, RequestContext.silent)
        if setting.set {
            // The keychain must exist: new items go there where no other default is set.
            let path = try setting.path
            if let path { _ = try host.openKeychain(at: path, request) }
            try host.choose(.loginKeychain(path), in: .user, request)
        }
        try setting.show(host.keychainChoice(in: nil, request).loginKeychain)
    }
}
