internal import ArgumentParser
internal import KeychainHost
internal import TokenKit

/// How the output is to look.
struct OutputOptions: ParsableArguments {
    @Flag(help: "Print JSON for programs.")
    var json = false
}

/// How a listing is to look that macOS's `security` has too: its readers expect its form, people a table.
struct ListingOptions: ParsableArguments {
    @Flag(help: "Print JSON for programs.")
    var json = false

    @Flag(help: "Print a table, as on a terminal, instead of what macOS's security prints.")
    var table = false

    /// Whether it is a table or JSON.
    var isListing: Bool { json || table || Terminal.isInteractive }

    func validate() throws {
        guard !(json && table) else { throw ValidationError("choose either --json or --table") }
    }
}

/// Which cards are used, and how their traffic is seen.
struct CardOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Use only the reader whose name contains this.", valueName: "name"))
    var reader: String?

    @Option(
        help: ArgumentHelp(
            "Use this PKCS#11 module, by its file or its name in p11-kit, instead of all that p11-kit has; for each.",
            valueName: "module"))
    var module: [String] = []

    @Flag(help: "Read certificates anew, and look for retired keys, where either was remembered.")
    var rescan = false

    @Option(help: ArgumentHelp("Append the APDUs to a file, PINs and decrypted data masked.", valueName: "file"))
    var trace: String?
}

/// Who is asked for PINs and passwords.
struct AuthenticationOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Take PINs and passwords from fd:N, file:PATH or env:NAME, a line each, instead of asking.",
            valueName: "source"))
    var pinSource: String?

    @Flag(help: "Ask nobody; fail where a PIN or password is needed.")
    var noPrompt = false

    @Flag(help: "Allow the last try of a PIN to be spent.")
    var lastTry = false

    /// - Parameter process: whose cards may open a keychain that is bound to one of them; nil for one of its own.
    func context(_ process: ProcessKeychains? = nil) throws -> AuthenticationContext {
        try (process ?? ProcessKeychains()).authentication(prompter(), lastTry: lastTry ? .spend : .keep)
    }

    private func prompter() throws(KeychainError) -> any Prompter {
        if let pinSource { return try SecretSource(pinSource) }
        return noPrompt ? NoPrompter() : FirstAvailablePrompter.standard()
    }
}

/// Where a search looks.
struct SearchOptions: ParsableArguments {
    @Argument(help: "The keychains to search, and cards by their ids, instead of all.")
    var keychains: [String] = []

    @OptionGroup var cards: CardOptions

    func session() throws -> Session {
        let ids = keychains.compactMap(NamedKeychain.tokenID)
        let files = keychains.filter { NamedKeychain.tokenID($0) == nil }
        let session = try Session(
            cards, keychains: files, cards: files.isEmpty || !ids.isEmpty, locals: ids.isEmpty || !files.isEmpty)
        return ids.isEmpty ? session : session.limited(to: ids)
    }
}

extension Query {
    /// All of a class, or those whose certificate has a common name that contains a text, be it upper or lower case.
    static func all(_ itemClass: ItemClass, commonName: String?) throws(KeychainError) -> Query {
        try Query(
            itemClass, filters: commonName.map { [.subject(.contains, $0)] } ?? [],
            folding: commonName == nil ? [] : .case, limit: .all)
    }
}
