internal import ArgumentParser
internal import Glibc
internal import KeychainHost
internal import TokenKit

/// The attributes by which `security` names generic passwords.
struct PasswordAttributes: ParsableArguments {
    @Option(name: .customShort("a"), help: "The account name.")
    var account: String?

    @Option(name: .customShort("s"), help: "The service name.")
    var service: String?

    @Option(name: .customShort("l"), help: "The label.")
    var label: String?

    @Option(name: .customShort("D"), help: "The kind of password.")
    var kind: String?

    @Option(name: .customShort("j"), help: "The comment.")
    var comment: String?

    @Option(name: .customShort("G"), help: "The generic attribute.")
    var generic: String?

    var attributes: Attributes {
        let pairs: [(Attribute, String?)] = [
            (.account, account), (.service, service), (.label, label), (.itemDescription, kind), (.comment, comment),
        ]
        var attributes: Attributes = [:]
        for case (let attribute, let text?) in pairs { attributes[attribute] = .string(text) }
        if let generic { attributes[.generic] = .data(Array(generic.utf8)) }
        return attributes
    }

    /// The first password that has these attributes, and where it is.
    func first(in keychains: [String]) throws -> (Item, LocalKeychain) {
        let session = try Session(keychains: keychains, cards: false)
        let query = try Query(.genericPassword, attributes)
        let found = session.reporting(try session.searchList.items(matching: query))
        guard let item = found.first, let keychain = session.locals.first(where: { $0.identifier == item.keychain })
        else {
            throw KeychainError(.itemNotFound, "no generic password matches")
        }
        return (item, keychain)
    }
}

struct AddGenericPassword: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "add-generic-password", abstract: "Store a password in a local keychain.")

    @OptionGroup var item: PasswordAttributes

    @Option(
        name: .customShort("w"),
        help: ArgumentHelp(
            "The password. Without a value, or without -w, it is asked for, or read from standard input, which no other program can see.",
            valueName: "password"))
    var password: String?

    @Flag(name: .customShort("U"), help: "Update the password if there is one already.")
    var update = false

    @Argument(help: "The keychain to store it in.")
    var keychain = "login"

    @OptionGroup var authentication: AuthenticationOptions

    func validate() throws {
        guard item.account != nil || item.service != nil else {
            throw ValidationError("an account (-a) or a service (-s) is needed to find it again")
        }
    }

    func run() throws {
        let opened = try LocalKeychain.open(Directories.own.path(ofKeychain: keychain))
        let context = try authentication.context()
        try opened.unlock(use: "store a password", authentication: context)
        var attributes = item.attributes
        if attributes[.label] == nil { attributes[.label] = attributes[.service] ?? attributes[.account] }
        let secret = try readSecret(context)
        if update, try change(attributes, secret, in: opened) { return }
        try opened.add(.genericPassword(attributes, secret: secret))
    }

    /// - Returns: whether there was one to change.
    private func change(_ attributes: Attributes, _ secret: borrowing Secret, in keychain: LocalKeychain) throws -> Bool
    {
        let same = attributes.filter { [.account, .service].contains($0.key) }
        let query = try Query(.genericPassword, same, limit: .all)
        return try keychain.update(matching: query, to: ItemChanges(attributes, secret: secret.clone())) > 0
    }

    private func readSecret(_ context: AuthenticationContext) throws -> Secret {
        if let password, password != PasswordArgument.ask {
            printError("warning: other programs can see a password on the command line; leave it out to be asked")
            var bytes = Array(password.utf8)
            return Secret(consuming: &bytes)
        }
        let subject = item.service ?? item.account ?? "the item"
        if authentication.pinSource == nil, isatty(STDIN_FILENO) == 0 { return try StandardInput.secretLine() }
        return try context.prompter.ask(PromptRequest(.newPassword, subject: subject))
    }
}

struct FindGenericPassword: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "find-generic-password", abstract: "Find a password.")

    @OptionGroup var item: PasswordAttributes

    @Flag(name: .customShort("g"), help: "Print the password to standard error as well.")
    var showPassword = false

    @Flag(name: .customShort("w"), help: "Print only the password.")
    var passwordOnly = false

    @Argument(help: "The keychains to search instead of all.")
    var keychains: [String] = []

    @OptionGroup var output: OutputOptions
    @OptionGroup var authentication: AuthenticationOptions

    func run() throws {
        let (item, keychain) = try item.first(in: keychains)
        guard passwordOnly || showPassword else { return try ItemText.show(item, in: keychain.path, json: output.json) }
        try keychain.unlock(use: "read a password", authentication: authentication.context())
        let secret = try keychain.secret(of: item.reference) ?? Secret(copying: [UInt8]().span)
        if passwordOnly { return try StandardOutput.write(secret, newline: true) }
        try ItemText.show(item, in: keychain.path, json: output.json)
        StandardError.write("password: \"")
        try Descriptor.write(secret.bytes, to: STDERR_FILENO)
        StandardError.write("\"\n")
    }
}

struct DeleteGenericPassword: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "delete-generic-password", abstract: "Delete a password.")

    @OptionGroup var item: PasswordAttributes

    @Argument(help: "The keychains to search instead of all.")
    var keychains: [String] = []

    func run() throws {
        let (item, keychain) = try item.first(in: keychains)
        _ = try keychain.delete(matching: Query(item.reference))
        print("password has been deleted.")
    }
}
