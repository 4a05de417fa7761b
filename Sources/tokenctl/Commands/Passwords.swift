internal import CryptokiNames
internal import HostAPI
internal import KeychainModel
internal import ArgumentParser
internal import Glibc
internal import Localization
internal import SecureBytes

typealias AddGenericPassword = AddPassword<GenericPasswords>
typealias AddInternetPassword = AddPassword<InternetPasswords>
typealias FindGenericPassword = FindPassword<GenericPasswords>
typealias FindInternetPassword = FindPassword<InternetPasswords>
typealias DeleteGenericPassword = DeletePassword<GenericPasswords>
typealias DeleteInternetPassword = DeletePassword<InternetPasswords>

struct AddPassword<Kind: PasswordCommandKind>: ParsableCommand {
    static var configuration: CommandConfiguration {
        Kind.configuration("add", "Store a password for a \(Kind.subjectNoun) in a keychain.")
    }

    @OptionGroup var item: AttributeOptions<Kind>

    @Option(
        name: Kind.passwordLetters, parsing: .unconditional,
        help: ArgumentHelp(
            "The password. Without a value, or without -w, it is asked for, or read from standard input, which no other program can see.",
            valueName: "password"))
    var password: String?

    @Option(name: .letter("X"), help: ArgumentHelp("The password in hexadecimal digits.", valueName: "digits"))
    var hexPassword: String?

    @Flag(help: "Make a random password, which 'tokenctl passwords' shows or copies.")
    var generate = false

    @Flag(
        name: .customShort("U"),
        help: "Update the password if there is one already: the same, or the only one that has what is given.")
    var update = false

    @OptionGroup var access: TrustedApplicationOptions

    @Argument(help: "The keychain to store it in, instead of the default one.", completion: Completions.keychains)
    var keychain: String?

    @OptionGroup var output: OutputOptions
    @OptionGroup var authentication: AuthenticationOptions

    func validate() throws {
        guard item.attributes[.account] != nil || item.attributes[Kind.subject] != nil else {
            throw ValidationError(localized: "an account (-a) or a \(Kind.subjectNoun) (-s) is needed to find it again")
        }
        guard [password != nil, hexPassword != nil, generate].count(where: \.self) < 2 else {
            throw ValidationError(
                localized: "give the password either as text (-w) or in digits (-X), or have it made (--generate)")
        }
    }

    func run() throws {
        let named = try NamedKeychain(file: keychain)
        let access = try access.decisions(in: named.details, named.access.host)
        let prompter = try authentication.prompter(for: [keychain].compactMap { $0 }, named.access)
        let change = try KeychainChange(of: named, authentication, prompter, to: "store a password")
        let stored = try store(SharedSecret(readSecret(prompter)), by: change)
        try change.decide(access, [stored])
        if output.json { try Listing.showJSON(ItemText.JSONItem(stored, keychain: named.description.location)) }
    }

    private func store(_ secret: SharedSecret, by change: KeychainChange) throws -> Item {
        guard update else { return try add(secret, by: change) }
        if let old = try existing(change) { return try change.update(old, to: item.attributes, secret) }
        do {
            return try add(secret, by: change)
        } catch let error as KeychainError where error.code == .duplicateItem {
            // Another program has added the password in between.
            guard let old = try twin(change) else { throw error }
            return try change.update(old, to: item.attributes, secret)
        }
    }

    private func add(_ secret: SharedSecret, by change: KeychainChange) throws -> Item {
        var attributes = item.attributes
        if attributes[.label] == nil { attributes[.label] = attributes[Kind.subject] ?? attributes[.account] }
        let added = try change.add([Kind.newItem(attributes, secret: secret.secret.clone())])
        return added[0]
    }

    /// The password to be updated: the one with the same unique attributes, else the only one with the given ones.
    ///
    /// - Throws: where several match.
    private func existing(_ change: KeychainChange) throws -> Item? {
        if let twin = try twin(change) { return twin }
        let unique = Set(Kind.itemClass.uniqueAttributes)
        let given = item.attributes.filter { unique.contains($0.key) }
        let found = try change.items(matching: Query(Kind.itemClass, given, limit: .all))
        guard found.count < 2 else {
            throw CommandError(
                "\(found.count) \(Kind.itemClass.noun)s match, and -U updates one",
                advice: "give more of what sets it apart; 'tokenctl item class=\(Kind.itemClass.rawValue),…' lists them"
            )
        }
        return found.first
    }

    /// The password with the same unique attributes, beside which this one cannot be added.
    private func twin(_ change: KeychainChange) throws -> Item? {
        let new = try Kind.newItem(item.attributes, secret: Secret(capacity: 0) { _ in })
        let same = Kind.itemClass.uniqueValues(of: new.attributes)
        return try change.items(matching: Query(Kind.itemClass, same)).first
    }

    private func readSecret(_ prompter: any Prompter) throws -> Secret {
        if generate { return try GeneratedPassword.make() }
        if let hexPassword {
            guard var bytes = Hex.decode(hexPassword) else {
                throw CommandError("the password of -X is not in hexadecimal digits")
            }
            SecretArgument.warn()
            return Secret(consuming: &bytes)
        }
        if let password, password != ArgumentForms.ask { return SecretArgument.secret(password) }
        let subject =
            (item.attributes[Kind.subject] ?? item.attributes[.account])?.string ?? String(localized: "the item")
        if authentication.pinSource == nil, isatty(STDIN_FILENO) == 0 { return try StandardInput.secretLine() }
        return try prompter.askForAnother(PromptRequest(.newPassword, subject: subject))
    }
}

struct FindPassword<Kind: PasswordCommandKind>: ParsableCommand {
    static var configuration: CommandConfiguration {
        Kind.configuration(
            "find", "Find a password for a \(Kind.subjectNoun).",
            discussion: """
                A password that is not printable text is printed in hexadecimal digits, as macOS's security does. In JSON, \
                where -g and -w are the same, it is 'password', or 'data' in Base64 where it is not text.
                """)
    }

    @OptionGroup var item: AttributeOptions<Kind>

    @Flag(name: .customShort("g"), help: "Print the password to standard error as well.")
    var showPassword = false

    @Flag(name: .customShort("w"), help: "Print only the password.")
    var passwordOnly = false

    @Argument(
        help: "The keychains to search instead of all, or pkcs11: URIs of them or of passwords.",
        completion: Completions.keychains)
    var keychains: [String] = []

    @OptionGroup var output: OutputOptions
    @OptionGroup var authentication: AuthenticationOptions

    func run() throws {
        let search = try PasswordSearch<Kind>(for: item.attributes, in: keychains)
        let first = try search.first()
        guard passwordOnly || showPassword else {
            return try ItemText.show(first.item, in: first.location, json: output.json)
        }
        let host = try authentication.host(search.session.access, for: keychains)
        var request = authentication.request
        request.purpose = String(localized: "read a password")
        var damage: KeychainError?
        // If the first match is damaged, another one is looked for that is not.
        for isFirst in [true, false] {
            for (item, location) in isFirst ? [first] : try search.matches(.all) {
                let secret: SharedSecret
                do throws(KeychainError) {
                    secret = try host.password(of: item, request)
                } catch {
                    guard error.code == .decode else { throw error }
                    damage = damage ?? error
                    continue
                }
                if let damage { Warnings.show("note: one that matches as well was left out: \(damage)") }
                return try show(item, in: location, secret.secret)
            }
        }
        throw damage ?? search.notFound
    }

    private func show(_ item: Item, in location: String, _ secret: borrowing Secret) throws {
        guard !output.json else {
            return try ItemText.showJSON(item, in: location, with: secret)
        }
        if passwordOnly { return try StandardOutput.write(SecretText.plain(secret), newline: true) }
        try ItemText.show(item, in: location)
        try StandardError.line("password: ", SecretText.quoted(secret))
    }
}

struct DeletePassword<Kind: PasswordCommandKind>: ParsableCommand {
    static var configuration: CommandConfiguration {
        Kind.configuration("delete", "Delete a password for a \(Kind.subjectNoun).")
    }

    @OptionGroup var item: AttributeOptions<Kind>

    @Argument(
        help: "The keychains to search instead of all, or pkcs11: URIs of them or of passwords.",
        completion: Completions.keychains)
    var keychains: [String] = []

    @OptionGroup var output: OutputOptions

    func validate() throws {
        guard item.attributes.isEmpty, let uris = try? PKCS11URI.all(in: keychains) else { return }
        guard uris.contains(where: { $0.object.label != nil }) else {
            throw ValidationError(
                localized: "say which password is to be deleted: by -a, -s or another option, or by its URI")
        }
    }

    func run() throws {
        var search = try PasswordSearch<Kind>(for: item.attributes, in: keychains)
        // The item to be deleted may be a damaged one.
        search.isDeletion = true
        let (item, location) = try search.first()
        try search.session.delete([item])
        try ItemText.show(item, in: location, json: output.json)
        if !output.json { StandardError.line(localized: "password has been deleted.") }
    }
}

extension KeychainService {
    /// The content of an item; empty where it has none.
    func password(of item: Item, _ request: RequestContext) throws(KeychainError) -> SharedSecret {
        try secret(of: item.reference, request) ?? SharedSecret(Secret(copying: [UInt8]().span))
    }
}

/// The passwords that match a command's options.
private struct PasswordSearch<Kind: PasswordCommandKind> {
    typealias Match = (item: Item, location: String)

    let session: CommandKeychains
    private let attributes: Attributes
    private let uris: [PKCS11URI]
    /// Whether a damaged item is an error even if others match.
    var isDeletion = false

    /// - Parameter keychains: those to search instead of all, or URIs of them or of passwords.
    init(for attributes: Attributes, in keychains: [String]) throws {
        self.attributes = attributes
        session = try CommandKeychains(keychains: keychains, cards: false)
        uris = try PKCS11URI.all(in: keychains)
    }

    func first() throws -> Match {
        try session.gaps.doubting {
            guard let match = try matches(.one).first else { throw notFound }
            return match
        }
    }

    /// Passwords with the files that they are in; with URIs, all of them whatever the limit is.
    ///
    /// - Throws: `errSecDecode` where an item that may match is damaged, and no other matches.
    func matches(_ limit: Query.Limit) throws -> [Match] {
        let query = try Query(Kind.itemClass, attributes, limit: uris.isEmpty ? limit : .all)
        let result =
            try isDeletion ? session.itemsToDelete(matching: query) : session.items(matching: query)
        if isDeletion || result.found.isEmpty, let damage = result.damage { throw damage }
        var found = session.reporting(result)
        if !uris.isEmpty { found = try ObjectURIs(session).items(found, namedBy: uris) }
        return found.map { ($0, session.location(of: $0)) }
    }

    var notFound: KeychainError { KeychainError(.itemNotFound, "no \(Kind.itemClass.noun) matches") }
}
