internal import CryptokiNames
internal import HostAPI
internal import KeychainModel
internal import ArgumentParser
internal import Glibc
internal import HostAPI
internal import Localization
internal import SecureBytes
internal import SystemCrypto

/// The form of the output.
struct OutputOptions: ParsableArguments {
    @Flag(help: "Print JSON for programs.")
    var json = false

    /// Prints the rows so far for programs, if there are any.
    func report(_ rows: [some Row]) {
        if json, !rows.isEmpty { try? Listing.show(rows, json: true) }
    }
}

/// The destination of bytes that a command makes.
struct DestinationOptions: ParsableArguments {
    @Option(
        name: [.letter("o"), .customLong("output")],
        help: ArgumentHelp("Where the result goes, instead of standard output.", valueName: "file"), completion: .file()
    )
    var path: String?

    @OptionGroup var output: OutputOptions

    /// The member of JSON that has the bytes.
    enum Member {
        case base64(String)
        /// UTF-8 text under the first key; other bytes in Base64 under the second.
        case text(String, orElse: String)
    }

    /// Writes bytes to the file, or to standard output. With `--json` standard output gets JSON, which has the bytes if no file
    /// gets them.
    ///
    /// - Parameter facts: further members of the JSON.
    func write(
        _ bytes: borrowing Secret, mode: mode_t = 0o644, as member: Member, _ facts: [String: String] = [:]
    ) throws {
        guard output.json else { return try Output(path: path).write(bytes, mode: mode) }
        if let path, path != "-" {
            try Output(path: path).write(bytes, mode: mode)
            return try Listing.showJSON(facts.merging(["file": path]) { $1 })
        }
        var secrets = JSONSecrets()
        var members = facts
        switch member {
        case .base64(let name): members[name] = secrets.placeholder(for: Base64.encode(bytes.bytes))
        case .text(let name, let other):
            if let text = SecretText.escaped(bytes) {
                members[name] = secrets.placeholder(for: text)
            } else {
                members[other] = secrets.placeholder(for: Base64.encode(bytes.bytes))
            }
        }
        try Listing.showJSON(members, with: secrets)
    }

    func write(
        _ bytes: [UInt8], mode: mode_t = 0o644, as member: Member, _ facts: [String: String] = [:]
    ) throws {
        try write(Secret(copying: bytes.span), mode: mode, as: member, facts)
    }
}

/// The form of a listing that macOS's `security` has too: scripts expect its form, people a table.
struct ListingOptions: ParsableArguments {
    @Flag(help: "Print JSON for programs.")
    var json = false

    @Flag(help: "Print a table, as on a terminal, instead of what macOS's security prints.")
    var table = false

    @Flag(name: .customLong("uri"), help: "Print the PKCS#11 URIs alone, by which other programs know them.")
    var uris = false

    /// Whether the listing is a table or JSON.
    var isListing: Bool { json || table || Terminal.isInteractive }

    func validate() throws {
        guard [json, table, uris].filter({ $0 }).count < 2 else {
            throw ValidationError(localized: "choose one of --json, --table and --uri")
        }
    }

    /// Runs a search, whose gaps are in `gaps`. A search without a result is an error, and in JSON an empty list as
    /// well.
    func searching(_ gaps: Gaps, _ search: () throws -> Void) throws {
        try gaps.doubting {
            do {
                try search()
            } catch let error as KeychainError where json && error.code == .itemNotFound {
                StandardOutput.json("[]")
                throw error
            }
        }
    }

    /// Prints URIs, a line each, of the items that the PKCS#11 module shows.
    func show(_ uris: [PKCS11URI?]) {
        for uri in uris { if let uri { StandardOutput.line(uri.description) } }
    }
}

/// The cards that are used, and the trace of their traffic.
struct CardOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Use only the reader whose name contains this, or whose card a pkcs11: URI names.", valueName: "name"))
    var reader: String?

    @Option(
        help: ArgumentHelp(
            "Use this PKCS#11 module, by its file or its name in p11-kit, instead of all that p11-kit has; for each.",
            valueName: "module"), completion: .file())
    var module: [String] = []

    @Flag(help: "Read certificates anew, and look for retired keys, where either was remembered.")
    var rescan = false

    @Option(
        help: ArgumentHelp("Append the APDUs to a file, PINs and decrypted data masked.", valueName: "file"),
        completion: .file())
    var trace: String?

    /// - Throws: an error with the reason, if any of these options is given.
    func refuse(_ reason: LocalizedText) throws {
        guard reader == nil, module.isEmpty, !rescan, trace == nil else { throw ValidationError(localized: reason) }
    }
}

/// The source of PINs and passwords.
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

    /// Hides the source from modules, which may be started before anything is asked for.
    func validate() {
        if let pinSource { SecretSource.withhold(pinSource) }
    }

    /// - Parameter option: the name of the option that has the only password.
    /// - Throws: where the password has a source as well.
    func refuseSource(beside option: String, _ password: String?) throws {
        guard password == nil || pinSource == nil else {
            throw ValidationError(localized: "give the password either with \(option) or with --pin-source")
        }
    }

    /// The host that asks for PINs and passwords.
    ///
    /// - Parameter names: the keychains, cards and keys that the command was told to use; a URI among them may say where the PIN is.
    func host(_ access: HostAccess, for names: [String]) throws -> any KeychainService {
        access.host(asking: try prompter(for: names, access))
    }

    /// The use of keys that were found in keychains.
    ///
    /// - Parameters:
    ///   - names: the keys and cards that the command was told to use; a URI among them may say where the PIN is.
    ///   - use: the purpose, in words that complete "PIN to …".
    func keys(_ session: CommandKeychains, for names: [String?], to use: LocalizedText) throws -> KeyUse {
        KeyUse(try host(session.access, for: names.compactMap { $0 }), request(to: use))
    }

    /// The circumstances of a request.
    var request: RequestContext { RequestContext(mayUseLastTry: lastTry) }

    /// The circumstances of requests that share an authentication context.
    ///
    /// - Parameter use: their purpose, in words that complete "PIN to …".
    func request(to use: LocalizedText) -> RequestContext {
        RequestContext(purpose: String(localized: use), authentication: .next(), mayUseLastTry: lastTry)
    }

    /// The source of PINs and passwords: one for each command, since it counts the lines of `--pin-source`.
    func prompter(for names: [String], _ access: HostAccess) throws -> any Prompter {
        let alternative = String(localized: "give it with --pin-source, or run where a prompt can be shown")
        if let pinSource {
            return try SecretSource(pinSource, alternative: alternative, isOpen: InheritedDescriptors.contains)
        }
        let standard: any Prompter = noPrompt ? HostAccess.silentPrompter(alternative) : asking(alternative)
        for name in names {
            guard let uri = try PKCS11URI(argument: name) else { continue }
            if let path = try uri.pinFile() { return try SecretSource("file:\(path)", alternative: alternative) }
            if let pin = try PKCS11URI.pinValue(of: name) {
                SecretArgument.warn()
                return GivenPIN(pin, for: try GivenPIN.purposes(of: uri, access), others: standard)
            }
        }
        return standard
    }
}

extension RequestContext {
    /// The circumstances of a request that asks nobody.
    static let silent = RequestContext(questions: .never)
}

extension AuthenticationOptions {
    /// The prompter that asks a person. Warns if the pinentry that was chosen cannot be used.
    private func asking(_ alternative: String) -> any Prompter {
        if let defect = HostAccess.defectOfPinentry {
            Warnings.show("warning: \(defect): questions come to the terminal")
        }
        return HostAccess.prompter(alternative)
    }
}

/// The keychains and cards that are searched.
struct SearchOptions: ParsableArguments {
    @Argument(
        help: """
            The keychains to search, and cards by their ids or labels, instead of all; or pkcs11: URIs of keychains, cards, and what \
            is in them.
            """, completion: Completions.keychains)
    var keychains: [String] = []

    @OptionGroup var cards: CardOptions

    func session() throws -> CommandKeychains { try CommandKeychains(cards, keychains: keychains) }

    /// The URIs among the keychains. On the tokens that they name, only the items that they name are found.
    var uris: [PKCS11URI] {
        get throws { try PKCS11URI.all(in: keychains) }
    }
}

extension Query {
    /// All items of a class, or those whose certificate has a common name that contains a text, in upper or lower case.
    static func all(_ itemClass: ItemClass, commonName: String?) throws(KeychainError) -> Query {
        try Query(
            itemClass, filters: commonName.map { [.subject(.contains, $0)] } ?? [],
            folding: commonName == nil ? [] : .case, limit: .all)
    }
}
