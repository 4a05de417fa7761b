internal import SecureBytes
internal import KeychainModel
public import ArgumentParser
public import HostAPI
internal import KeychainHost
internal import SystemCrypto
internal import TokenKit

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
        access.explain()
        let given = try GivenAttributes(attributes, label: label)
        let context = try authentication.context(for: keychain)
        let input = try Input(file)
        let opened = try LocalKeychain.named(keychain)
        try opened.checkWritable()
        let source = passphrase.map { FilePassphrase.Source.given(SharedSecret(SecretArgument.secret($0))) }
        var bytes = try input.whole(limit: ImportedFile.maximumLength)
        let content = try ImportedFile(
            &bytes, named: input.name, kind: kind ?? .agg, format: format,
            passphrase: FilePassphrase(source ?? .asking(context), of: input.name))
        for other in Set(content.others).sorted() {
            Warnings.show("note: \(other) in '\(input.name)' cannot be imported, and is left out")
        }
        try given.check(content)
        if !content.keys.isEmpty { try opened.unlock(use: "import a key", authentication: context) }
        var outcome = ImportOutcome(opened)
        do {
            try add(content, given, to: opened, &outcome)
        } catch {
            if output.json { try outcome.showJSON(failure: error) } else { outcome.report() }
            throw error
        }
        if output.json { try outcome.showJSON() } else { outcome.report() }
        if nonExtractable { outcome.warnOfExtractableKeys() }
    }

    private var label: String? { key.attributes[.label]?.string }

    private func add(
        _ content: ImportedFile, _ given: GivenAttributes, to keychain: LocalKeychain, _ outcome: inout ImportOutcome
    ) throws {
        let total = content.certificates.count + content.publicKeys.count + content.keys.count
        var progress = Progress { "importing: \($0) of \(total) items" }
        var done: Int64 = 0
        let privateKeys: Attributes = nonExtractable ? [.isExtractable: false] : [:]
        try content.forEachItem(given.attributes(of:), privateKeys: privateKeys) { item throws(KeychainError) in
            try outcome.add(item)
            done += 1
            progress.advance(to: done)
        }
    }

    /// The attributes that the user gives the items, beside those that follow from the file.
    private struct GivenAttributes {
        private let attributes: Attributes
        /// The label for keys alone.
        private let label: String?

        /// - Parameter pairs: each as `code=value`.
        init(_ pairs: [String], label: String?) throws {
            attributes = try ItemArguments.attributes(pairs)
            self.label = label
            guard label == nil || attributes[.label] == nil else {
                throw CommandError("the label is given twice", advice: "leave -l out, or labl among the attributes")
            }
        }

        /// - Throws: `errSecNoSuchAttr` for an attribute that nothing in the file can have.
        func check(_ content: ImportedFile) throws(KeychainError) {
            let hasKey = !content.keys.isEmpty || !content.publicKeys.isEmpty
            guard hasKey || label == nil else {
                throw KeychainError(
                    .noSuchAttribute, "-l sets the label of keys, and the file has no key",
                    remedy: "use '-a labl' for others")
            }
            for attribute in attributes.keys where !(hasKey && ItemClass.key.has(attribute)) {
                guard content.certificates.isEmpty || !ItemClass.certificate.has(attribute) else { continue }
                throw KeychainError(
                    .noSuchAttribute, "nothing in the file can have the attribute '\(attribute.rawValue)'")
            }
        }

        func attributes(of itemClass: ItemClass) -> Attributes {
            var attributes = attributes.filter { itemClass.has($0.key) }
            if itemClass == .key, let label { attributes[.label] = .string(label) }
            return attributes
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
