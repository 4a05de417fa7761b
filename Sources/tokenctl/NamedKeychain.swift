internal import KeychainHost
internal import PKCS11Driver
internal import TokenKit

/// The keychain that a command is about: a file, or a card by its id.
enum NamedKeychain {
    case local(LocalKeychain)
    case card(TokenKeychain)

    /// - Parameter name: a name or path of a file, or a card's id; the default keychain if nil.
    init(_ name: String?, _ cards: CardOptions) throws {
        guard let name, let id = NamedKeychain.tokenID(name) else {
            self = .local(try LocalKeychain.named(name))
            return
        }
        let session = try Session(cards, locals: false)
        let matches = session.reporting(session.eachToken { token, identity in (token, identity.id) })
        guard let match = matches.first(where: { $0.1 == id }) else {
            throw KeychainError(.noSuchKeychain, "the card \(name) is not inserted", remedy: "insert it")
        }
        self = .card(match.0)
    }

    /// The card that an argument names, if it does not name a file.
    static func tokenID(_ name: String) -> TokenID? {
        guard let id = TokenID(name), (CardDrivers.names + [PKCS11Module.driver]).contains(id.driver) else {
            return nil
        }
        return id
    }
}

extension LocalKeychain {
    /// The keychain of that name or path, or the default one.
    static func named(_ name: String?) throws(KeychainError) -> LocalKeychain {
        guard let name else { return try KeychainPreferences.own.openDefault() }
        guard NamedKeychain.tokenID(name) == nil else {
            throw KeychainError(.readOnly, "\(name) is a card, and only read", remedy: "name the file of a keychain")
        }
        return try open(Directories.own.path(ofKeychain: KeychainName.normalized(name)))
    }
}

/// Names of keychains as scripts for macOS have them.
enum KeychainName {
    /// The name without what macOS adds to the files of newer keychains, as in `login.keychain-db`.
    static func normalized(_ name: String) -> String {
        name.hasSuffix(Directories.keychainSuffix + "-db") ? String(name.dropLast(3)) : name
    }
}
