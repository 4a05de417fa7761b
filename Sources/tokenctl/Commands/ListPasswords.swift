internal import ArgumentParser
internal import HostAPI
internal import KeychainModel
internal import Localization
internal import SecureBytes

struct ListPasswords: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "passwords", abstract: "List passwords, or show or copy one of them.",
        discussion: """
            A password is listed where its name, account, service, server or comment contains each of the words. Where several are \
            left to show or copy, one is chosen on the terminal: with fzf if it is installed, which filters as you type, or else by number.
            """)

    @Argument(help: "Words that the password's attributes contain.")
    var words: [String] = []

    @Flag(help: "Print the password.")
    var show = false

    @Flag(help: "Copy the password to the desktop's clipboard, for a time.")
    var copy = false

    @Option(
        help: ArgumentHelp("Seconds for which the clipboard has the password.", valueName: "seconds"))
    var time = 45

    @Option(
        name: .letter("k"),
        help: ArgumentHelp("The keychain, instead of all; for each.", valueName: "keychain"),
        completion: Completions.keychains)
    var keychains: [String] = []

    @OptionGroup var output: OutputOptions
    @OptionGroup var authentication: AuthenticationOptions

    private struct PasswordRow: Row {
        static let columns: [LocalizedKey] = ["NAME", "ACCOUNT", "FOR", "KEYCHAIN"]
        let name: String
        let account: String?
        let service: String?
        let server: String?
        let comment: String?
        let keychain: String
        let location: String
        let reference: String

        var cells: [String] { [name, account ?? "", server ?? service ?? "", keychain] }

        init(_ item: Item, _ session: CommandKeychains) {
            func text(_ attribute: Attribute) -> String? { item.attributes[attribute]?.string }
            (account, service, server, comment) = (text(.account), text(.service), text(.server), text(.comment))
            name = text(.label) ?? server ?? service ?? account ?? ""
            (keychain, location) = (session.keychainName(of: item), session.location(of: item))
            reference = item.reference.hexText
        }

        func contains(_ word: String) -> Bool {
            [name, account, service, server, comment].contains { $0?.lowercased().contains(word) == true }
        }
    }

    func validate() throws {
        guard !show || !copy else { throw ValidationError(localized: "choose one of --show and --copy") }
        guard !copy || !output.json else {
            throw ValidationError(localized: "--copy prints nothing that --json could be about")
        }
        guard (1...86_400).contains(time) else { throw ValidationError(localized: "--time takes 1 to 86400 seconds") }
    }

    func run() throws {
        let session = try CommandKeychains(keychains: keychains, cards: false)
        let found = try passwords(session)
        guard !found.isEmpty else {
            if output.json { StandardOutput.json("[]") }
            throw KeychainError(
                .itemNotFound, words.isEmpty ? "there is no password" : "no password matches",
                remedy: words.isEmpty ? "add-generic-password keeps one" : nil)
        }
        guard show || copy else { return try Listing.show(found.map(\.row), json: output.json) }
        let (item, row) = found[try choice(among: found.map(\.row))]
        let host = try authentication.host(session.access, for: keychains)
        var request = authentication.request
        request.purpose = String(localized: "read a password")
        let secret = try host.password(of: item, request)
        guard copy else { return try show(secret.secret, of: item, row) }
        try Clipboard.hold(secret.secret, for: time)
        StandardError.line(
            localized: .plural(
                time, one: "The password of '\(row.name)' is on the clipboard for 1 second.",
                other: "The password of '\(row.name)' is on the clipboard for \(time) seconds."))
    }

    private func passwords(_ session: CommandKeychains) throws -> [(item: Item, row: PasswordRow)] {
        let words = words.map { $0.lowercased() }
        return try [ItemClass.genericPassword, .internetPassword].flatMap { itemClass in
            try session.reporting(session.items(matching: Query(itemClass, limit: .all))).map { item in
                (item: item, row: PasswordRow(item, session))
            }
        }.filter { found in words.allSatisfy(found.row.contains) }.sorted { left, right in
            (left.row.name.lowercased(), left.row.cells.joined()) < (
                right.row.name.lowercased(), right.row.cells.joined()
            )
        }
    }

    private func choice(among rows: [PasswordRow]) throws -> Int {
        guard rows.count > 1 else { return 0 }
        guard Choice.isPossible else {
            throw CommandError("\(rows.count) passwords match", advice: "give more words")
        }
        return try Choice.among(
            rows.map { $0.cells.filter { !$0.isEmpty }.joined(separator: "  ") },
            copy ? "password to copy" : "password to show")
    }

    private func show(_ secret: borrowing Secret, of item: Item, _ row: PasswordRow) throws {
        guard output.json else { return try StandardOutput.write(SecretText.plain(secret), newline: true) }
        try ItemText.showJSON(item, in: row.location, with: secret)
    }
}
