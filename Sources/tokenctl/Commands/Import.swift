internal import Localization
internal import SecureBytes
internal import KeychainModel
public import ArgumentParser
public import HostAPI

struct Import: ParsableCommand, AttributeCommand {
    static let itemClass = ItemClass.key
    static let attributeCommand = AttributeOption.Command.importing

    static let configuration = CommandConfiguration(
        commandName: "import",
        abstract: "Import certificates and keys into a local keychain.",
        discussion: """
            Takes certificates in PEM, DER or PKCS#7, private keys in PKCS#8, PKCS#1, SEC 1 or OpenSSH's format, public keys, \
            authorized_keys, and PKCS#12; all that is in the file, or nothing. What is in the keychain already is left as it is, and \
            said to be there.
            """)

    @Argument(help: "The file; - for standard input.", completion: .file())
    var file: String

    @Option(
        name: .letter("k"), help: ArgumentHelp("The keychain, instead of the default one.", valueName: "keychain"),
        completion: Completions.keychains)
    var keychain: String?

    @Option(
        name: .letter("t"), help: ArgumentHelp("Import only what is of this type; of PKCS#12 all.", valueName: "type"))
    var kind: ImportRequest.Kind?

    @Option(
        name: .letter("f"), help: ImportRequest.Format.help("What the file must be.", "format"),
        completion: ImportRequest.Format.completion, transform: ImportRequest.Format.init(security:))
    var format: ImportRequest.Format?

    @Flag(name: .customShort("w"), help: "Private keys are encrypted; that is found out in any case.")
    var isWrapped = false

    @Flag(name: .customShort("x"), help: "Never give the imported private keys out again.")
    var nonExtractable = false

    @Option(
        name: .letter("P"), parsing: .unconditional,
        help: ArgumentHelp(
            "The file's passphrase; other programs can see it, so better be asked.", valueName: "passphrase"))
    var passphrase: String?

    @Option(
        name: .letter("a"),
        help: ArgumentHelp(
            "An attribute by its code and its value, two words, for what is imported and can have it; for each attribute.",
            valueName: "code value"))
    var attributes: [String] = []

    @OptionGroup var access: TrustedApplicationOptions

    @OptionGroup var key: AttributeOptions<Import>

    @OptionGroup var output: OutputOptions
    @OptionGroup var authentication: AuthenticationOptions

    func run() throws {
        let attributes = try givenAttributes()
        let input = try Input(file)
        let named = try NamedKeychain(file: keychain)
        let access = try access.decisions(in: named.details, named.access.host)
        let host = try authentication.host(
            named.access, for: [keychain].compactMap { $0 })
        let passphrase = passphrase.map { PassphraseSource.given(SharedSecret(SecretArgument.secret($0))) }
        var bytes = try input.whole(limit: ImportRequest.maximumLength)
        var request = ImportRequest(SharedSecret(Secret(consuming: &bytes)), named: input.name)
        request.kind = kind ?? .agg
        request.format = format
        request.passphrase = passphrase ?? .asked
        request.target = target(named.identifier, attributes)
        let content = try importing { () throws(KeychainError) in
            try host.importFile(request, authentication.request)
        }
        for other in Set(content.others).sorted() {
            Warnings.show("note: \(other) in '\(input.name)' cannot be imported, and is left out")
        }
        let outcome = ImportOutcome(content, to: named.description.location)
        try access.apply(to: outcome.added, host, authentication.request)
        if output.json { try outcome.showJSON() } else { outcome.report() }
        if nonExtractable { outcome.warnOfExtractableKeys() }
    }

    private var label: AttributeValue? { key.attributes[.label] }

    /// The attributes of -a.
    private func givenAttributes() throws -> Attributes {
        let given = try ItemArguments.attributes(attributes)
        guard label == nil || given[.label] == nil else {
            throw CommandError("the label is given twice", advice: "leave -l out, or labl among the attributes")
        }
        return given
    }

    /// - Parameter attributes: those of -a. What certificates do not have is for keys, or for nothing, which the host refuses.
    private func target(_ keychain: KeychainIdentifier, _ attributes: Attributes) -> ImportRequest.Target {
        var target = ImportRequest.Target(keychain)
        target.certificates = attributes.filter { ItemClass.certificate.has($0.key) }
        target.keys = attributes.filter { ItemClass.key.has($0.key) || !ItemClass.certificate.has($0.key) }
        if let label { target.keys[.label] = label }
        if nonExtractable { target.privateKeys = [.isExtractable: false] }
        return target
    }

    /// Has an error about the label of -l name the option.
    private func importing(
        _ body: () throws(KeychainError) -> ImportedContent
    ) throws(KeychainError) -> ImportedContent {
        do throws(KeychainError) { return try body() } catch {
            guard label != nil, error.code == .noSuchAttribute, error.key == Attribute.label.rawValue else {
                throw error
            }
            throw KeychainError(
                .noSuchAttribute, "-l sets the label of keys, and the file has no key",
                remedy: "use '-a labl' for others")
        }
    }
}

extension ImportRequest.Kind: ExpressibleByArgument {}

extension ImportRequest.Format: SecurityValue {
    static let missing = [
        "openssh1": MissingFormat.openssh1, "bsafe": MissingFormat.bsafe, "raw": MissingFormat.raw,
        "netscape": MissingFormat.netscape,
    ]
}
