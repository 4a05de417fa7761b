internal import ArgumentParser
internal import CryptokiNames
internal import Glibc
internal import HostAPI
internal import KeychainModel
internal import Localization
internal import Platform

/// The keychain that a command is about: a file, a card by its id, or either by its URI.
struct NamedKeychain {
    let details: KeychainDetails
    let access: HostAccess
    private let name: String?

    /// The help of an argument that names a keychain.
    static let help: ArgumentHelp = """
        A name, a path with a slash in it, a card's id or label, or a pkcs11: URI; the default keychain if left out.
        """

    /// - Parameter name: a name or path of a file, a card's id or label, or a URI; the default keychain if nil.
    init(_ name: String?, _ cards: CardOptions) throws {
        try self.init(name, HostAccess(cards)) { access in
            if let name, let card = try NamedKeychain.card(named: name, cards, access) { return .card(card) }
            return .file(try KeychainName.ofFile(name))
        }
    }

    /// The keychain in a file of that name or path, or the default one.
    ///
    /// - Throws: `errSecReadOnly` for a card.
    init(file name: String?) throws {
        try self.init(name, HostAccess()) { _ in .file(try KeychainName.ofFile(name)) }
    }

    private enum Place {
        /// A file's path; nil for the default keychain.
        case file(String?)
        case card(KeychainIdentifier)
    }

    private init(_ name: String?, _ access: HostAccess, _ place: (HostAccess) throws -> Place) throws {
        (self.name, self.access) = (name, access)
        details =
            switch try place(access) {
            case .file(let path): try access.host.openKeychain(at: path, .silent)
            case .card(let card): try access.host.keychain(card, .silent)
            }
    }

    var description: KeychainDescription { details.keychain }
    var identifier: KeychainIdentifier { description.identifier }
    var isFile: Bool { description.kind == .file }

    /// The host that has the keychain.
    ///
    /// - Parameters:
    ///   - authentication: the source of PINs and passwords; nil where none is needed.
    ///   - others: further names that the command was given, whose URIs may say where a PIN is.
    func host(_ authentication: AuthenticationOptions? = nil, for others: String?...) throws -> any KeychainService {
        guard let authentication else { return access.host }
        return try authentication.host(access, for: (others + [name, access.reader]).compactMap { $0 })
    }

    /// The details as they are now.
    func currentDetails() throws -> KeychainDetails { try access.host.keychain(identifier, .silent) }

    /// The card that a name means; nil for the name of a file.
    private static func card(
        named name: String, _ cards: CardOptions, _ access: HostAccess
    ) throws -> KeychainIdentifier? {
        if let uri = try PKCS11URI(keychain: name) {
            let session = try CommandKeychains(cards, keychains: [name], of: access)
            let found = try session.foundTokens().found
            guard try session.foundFiles().found.count + found.count == 1 else { throw CommandError(ambiguous: uri) }
            return found.first?.identifier
        }
        guard mayBeCard(name) else { return nil }
        let session = try CommandKeychains(cards, files: false, of: access)
        let inserted = try session.foundTokens()
        let found = inserted.found.filter { $0.isNamed(name) }
        guard found.count < 2 else {
            throw CommandError(
                "'\(name)' names more than one card", advice: "'tokenctl list-keychains' lists their ids")
        }
        if let card = found.first { return card.identifier }
        let isKnown = try session.knownCards().contains { $0.isNamed(name) }
        guard isKnown || isIDOfCard(name) else { return nil }
        if let unread = inserted.missing.unreadCard { throw unread }
        _ = session.reporting(inserted)
        throw KeychainError.cardNotInserted(name)
    }

    /// Whether a name can be a card's: an id, or a name that no keychain file has.
    static func mayBeCard(_ name: String) -> Bool {
        guard !isIDOfCard(name) else { return true }
        guard !name.isEmpty, !name.contains("/"), !PKCS11URI.isURI(name) else { return false }
        return unsafe Glibc.access(KeychainName.path(name), F_OK) != 0
    }

    /// The noun for what a name means: a card's id, or the label or URI of an inserted card or a module's token that no file
    /// has; nil for any other name.
    static func noun(ofCard name: String) -> LocalizedText? {
        guard !isIDOfCard(name) else { return "a card" }
        let isURI = PKCS11URI.isURI(name)
        let isFile = isURI ? (try? CommandKeychains(keychains: [name], cards: false)) != nil : !mayBeCard(name)
        guard !isFile, let session = try? CommandKeychains(keychains: isURI ? [name] : [], files: false) else {
            return nil
        }
        let meant = try? session.foundTokens().found.first { isURI || $0.isNamed(name) }
        return meant.map { $0.kind == .moduleToken ? "a module's token" : "a card" }
    }

    /// Whether an argument is a card's id: a driver's name, a colon, and what tells the card from others.
    static func isIDOfCard(_ name: String) -> Bool {
        let parts = name.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, !parts[1].isEmpty, !PKCS11URI.isURI(name) else { return false }
        return CardDrivers.isName(parts[0])
    }
}

extension CommandError {
    fileprivate init(ambiguous uri: PKCS11URI) {
        self.init("'\(uri)' names more than one keychain", advice: "'tokenctl list-keychains --uri' lists them")
    }
}

extension PKCS11URI {
    /// The argument as a keychain's URI; nil for an argument that is not a URI.
    ///
    /// - Throws: for the URI of an item, since more than the item would be changed, and for one that does not tell keychains
    ///   apart, even if there is only one at the moment.
    fileprivate init?(keychain name: String) throws {
        try self.init(argument: name)
        guard !namesObject else {
            throw CommandError(
                "'\(self)' names an item, not a keychain", advice: "leave id, object and type out")
        }
        try requireName()
    }

    /// Checks that the URI tells one keychain from others, before a command changes it.
    func requireName() throws {
        guard tellsTokensApart else {
            throw CommandError(
                "'\(self)' does not say which keychain",
                advice: "give one with token or serial: 'tokenctl list-keychains --uri' lists them")
        }
    }
}

/// Names of keychains as scripts for macOS have them.
enum KeychainName {
    /// The name without the `-db` that macOS adds to the files of newer keychains, as in `login.keychain-db`.
    static func normalized(_ name: String) -> String {
        name.hasSuffix(Directories.keychainSuffix + "-db") ? String(name.dropLast(3)) : name
    }

    /// The name for a keychain that is to be made.
    static func new(_ name: String) throws -> String {
        guard !PKCS11URI.isURI(name) else {
            throw CommandError("a keychain cannot be called '\(name)'", "all commands would read it as a URI")
        }
        return normalized(name)
    }

    /// The path of an existing keychain's file, by its name, path or URI; nil for nil.
    ///
    /// - Throws: `errSecReadOnly` for a card.
    static func ofFile(_ name: String?) throws -> String? {
        guard let name else { return nil }
        let uri = try PKCS11URI(keychain: name)
        if let noun = NamedKeychain.noun(ofCard: name) {
            throw KeychainError(
                .readOnly, "\(name) is \(noun), which cannot be written to", remedy: "name a keychain file")
        }
        guard let uri else { return path(name) }
        let found = try CommandKeychains(keychains: [name], cards: false).foundFiles().found
        guard let keychain = found.first, found.count == 1 else { throw CommandError(ambiguous: uri) }
        return keychain.location
    }

    /// The path of a keychain's file, whether or not it exists.
    static func file(_ name: String) throws -> String {
        PKCS11URI.isURI(name) ? try ofFile(name) ?? name : path(name)
    }

    /// The file of a keychain to be deleted. A name means only the keychain in the folder, since a script may delete
    /// the remains of its last run.
    static func fileToDelete(_ name: String) throws -> String {
        PKCS11URI.isURI(name) ? try ofFile(name) ?? name : normalized(name)
    }

    /// The file of an existing keychain. A name that no keychain in the folder has means the one in the search list
    /// that listings show under it.
    static func path(_ name: String) -> String {
        let path = Directories.own.path(ofKeychain: normalized(name))
        guard !name.contains("/"), isAbsent(path) else { return path }
        let ending = Directories.keychainSuffix
        let plain = normalized(name).hasSuffix(ending) ? String(normalized(name).dropLast(ending.count)) : name
        let others = ((try? listed()) ?? []).filter { file in
            Directories.keychainName(ofFile: file) == plain && !isAbsent(file)
        }
        return others.count == 1 ? others[0] : path
    }

    /// The files of the search list.
    static func listed() throws -> [String] {
        try HostAccess().host.keychainChoice(in: nil, .silent).searchList
    }

    /// Whether the file is known to be absent.
    static func isAbsent(_ path: String) -> Bool {
        unsafe Glibc.access(path, F_OK) != 0 && [ENOENT, ENOTDIR].contains(errno)
    }
}
