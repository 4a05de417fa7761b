internal import CryptokiNames
internal import HostAPI
internal import KeychainModel
internal import ArgumentParser
internal import Localization
internal import SecureBytes
internal import SystemCrypto

struct AddCertificates: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "add-certificates", abstract: "Store certificates in a keychain.")

    @Option(
        name: .letter("k"), help: ArgumentHelp("The keychain, instead of the default one.", valueName: "keychain"),
        completion: Completions.keychains)
    var keychain: String?

    @Argument(help: "Files with certificates in DER or PEM, or pkcs11: URIs of certificates.", completion: .file())
    var files: [String]

    @OptionGroup var output: OutputOptions

    func run() throws {
        let gaps = Gaps()
        let certificates = try files.map { file in (file, try CertificateFile.read(file, gaps: gaps)) }
        let named = try NamedKeychain(file: keychain)
        let (opened, host) = (named.description, CommandKeychains(named.access).host)
        var added: [Item] = []
        var (hasFailed, hasOtherFailure) = (false, false)
        for (file, certificates) in certificates {
            for certificate in certificates {
                do throws(KeychainError) {
                    added.append(try host.add(.certificate(certificate), to: opened.identifier, .silent))
                } catch {
                    let name: LocalizedText =
                        "\(CertificateFile.name(of: file)): the certificate '\(certificate.title)'"
                    switch error.code {
                    case .duplicateItem: printError("\(name) is in '\(opened.name)' already")
                    case .decode:
                        printError("\(name) is in '\(opened.name)' already, but: \(error)")
                        hasOtherFailure = true
                    default: throw error
                    }
                    hasFailed = true
                }
            }
        }
        if output.json { try Listing.showJSON(added.map { ItemText.JSONItem($0, keychain: opened.location) }) }
        let isDuplicate = added.isEmpty && !hasOtherFailure
        if hasFailed { throw ExitCode(isDuplicate ? CommandLineInterpreter.status(of: .duplicateItem) : 1) }
    }
}

/// The selection of a certificate by the options of `security`.
struct CertificateSelection: ParsableArguments {
    @Option(
        name: .letter("c"),
        help: ArgumentHelp(
            "The one with this common name, or else the only one whose common name contains this.", valueName: "name"))
    var name: String?

    @Option(
        name: .letter("Z"), help: ArgumentHelp("The one with this SHA-256 or SHA-1.", valueName: "hash"))
    var hash: String?

    @Flag(name: .customShort("t"), help: "Delete its trust settings as well; there are none here.")
    var trustSettings = false

    @Argument(
        help: "The keychains to search instead of all, or the certificate's pkcs11: URI.",
        completion: Completions.keychains)
    var keychains: [String] = []

    func validate() throws {
        guard name != nil || hash != nil || keychains.contains(where: PKCS11URI.isURI) else {
            throw ValidationError(localized: "give the certificate's common name (-c), hash (-Z) or pkcs11: URI")
        }
    }

    /// The local keychains to be searched.
    ///
    /// - Throws: `errSecReadOnly` for a card or a module's token.
    func session() throws -> CommandKeychains {
        for name in keychains {
            guard let noun = NamedKeychain.noun(ofCard: name) else { continue }
            throw KeychainError(
                .readOnly,
                "'\(CertificateSelection.label(ofCard: name) ?? name)' is \(noun), which cannot be written to",
                remedy: "name a keychain file")
        }
        return try CommandKeychains(keychains: keychains, cards: false)
    }

    /// The label of the card that a name, an id or a URI means; nil where it is not inserted.
    private static func label(ofCard name: String) -> String? {
        guard let session = try? CommandKeychains(keychains: [name], files: false) else { return nil }
        let identifier = try? session.identifiers().found.first
        return identifier.flatMap { try? session.host.keychain($0, .silent).keychain.name }
    }

    /// The only matching certificate in a local keychain. An exact name is preferred to one that contains it.
    func resolve(in session: CommandKeychains) throws -> Item {
        let uris = try PKCS11URI.all(in: keychains).map(\.forCertificates)
        guard name != nil || hash != nil || uris.contains(where: \.tellsObjectsApart) else {
            throw CommandError("the URI names a whole keychain", advice: "give one of a certificate, or -c or -Z too")
        }
        let items = session.reporting(
            try session.itemsToDelete(matching: Query.all(.certificate, commonName: name)))
        let found = try ObjectURIs(session).items(items.filter(matcher()), namedBy: uris)
        let meant = best(of: found)
        guard let first = meant.first else {
            return try session.gaps.doubting {
                try session.require(false, namedBy: uris, as: "certificate")
                throw KeychainError(
                    .itemNotFound,
                    "no certificate in a local keychain matches '\([name, hash].compactMap { $0 }.joined(separator: "' and '"))'",
                    remedy: "certificates on a card cannot be deleted here")
            }
        }
        guard meant.count == 1 || meant.allSatisfy({ $0.der == first.der && $0.keychain == first.keychain }) else {
            throw CommandError(
                "'\(hash ?? name ?? String(localized: "the URI"))' matches \(meant.count) certificates",
                "\(meant.map { CertificateSelection.listed($0, in: session) }.joined(separator: ", "))",
                advice: "give the hash (-Z) of the one that is meant, and its keychain")
        }
        return first
    }

    /// The certificates that have exactly the name, else those that have it in upper or lower case, else all.
    private func best(of found: [Item]) -> [Item] {
        guard let name else { return found }
        let exact = found.filter { $0.commonName == name }
        let equal = exact.isEmpty ? found.filter { $0.commonName?.lowercased() == name.lowercased() } : exact
        return equal.isEmpty ? found : equal
    }

    /// A certificate in a list of several: its title, SHA-1 and keychain.
    private static func listed(_ item: Item, in session: CommandKeychains) -> String {
        let (title, keychain) = (item.titleAsCertificate, session.keychainName(of: item))
        guard let der = item.der, let hash = try? Digest.hash(der, using: .sha1) else {
            return String(localized: "\(title) in '\(keychain)'")
        }
        return String(localized: "\(title) with the SHA-1 \(Hex.encode(hash)) in '\(keychain)'")
    }

    /// The message about a deleted certificate.
    static func deletion(of item: Item, in session: CommandKeychains) -> LocalizedText {
        "the certificate \(item.titleAsCertificate) in '\(session.keychainName(of: item))'"
    }

    private func matcher() throws -> (Item) throws -> Bool {
        guard let hash else { return { _ in true } }
        guard let digest = Hex.decode(hash), let algorithm = CertificateSelection.algorithm(of: digest) else {
            throw CommandError("'\(hash)' is not a hash", advice: "give 64 or 40 hexadecimal digits")
        }
        return { item in try item.der.map { try Digest.hash($0, using: algorithm) == digest } ?? false }
    }

    private static func algorithm(of digest: [UInt8]) -> DigestAlgorithm? {
        [.sha256, .sha1].first { $0.byteCount == digest.count }
    }
}

struct DeleteCertificate: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "delete-certificate", abstract: "Delete a certificate from a keychain.")

    @OptionGroup var selection: CertificateSelection
    @OptionGroup var output: OutputOptions

    func run() throws {
        let session = try selection.session()
        let item = try selection.resolve(in: session)
        try session.delete([item])
        guard !output.json else {
            return try Listing.showJSON(ItemText.JSONItem(item, keychain: session.location(of: item)))
        }
        StandardError.line(localized: "\(CertificateSelection.deletion(of: item, in: session)) has been deleted.")
    }
}

struct DeleteIdentity: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "delete-identity", abstract: "Delete a certificate and its private key from a keychain.",
        discussion: "A key that another certificate belongs to as well stays.")

    @OptionGroup var selection: CertificateSelection
    @OptionGroup var output: OutputOptions

    func run() throws {
        let session = try selection.session()
        let certificate = try selection.resolve(in: session)
        let keys = try unsharedKeys(of: certificate, in: session)
        try session.delete([certificate] + keys)
        guard output.json else {
            let certificate = CertificateSelection.deletion(of: certificate, in: session)
            return StandardError.line(
                localized: keys.isEmpty
                    ? "\(certificate) has been deleted."
                    : .plural(
                        keys.count, one: "\(certificate) and its key have been deleted.",
                        other: "\(certificate) and its keys have been deleted."))
        }
        try Listing.showJSON(
            ([certificate] + keys).map { ItemText.JSONItem($0, keychain: session.location(of: $0)) })
    }

    /// - Returns: the certificate's keys; none if another certificate in any keychain has the same public key.
    /// - Throws: where damage hides whether there is one. Nothing has been deleted by then.
    private func unsharedKeys(of certificate: Item, in session: CommandKeychains) throws -> [Item] {
        guard let hash = certificate.publicKeyHash else { return [] }
        let anyOther: Attributes = [.publicKeyHash: .data(hash), .synchronizable: Query.anySynchronizable]
        let query = try Query(.certificate, anyOther, limit: .all)
        for searched in [session, try CommandKeychains(cards: false)] {
            let users = try searched.items(matching: query).complete(besides: searched.foundFiles().missing)
            guard users.allSatisfy({ $0.reference == certificate.reference }) else { return [] }
        }
        let attributes: Attributes = [.applicationLabel: .data(hash), .synchronizable: Query.anySynchronizable]
        let keys = try session.items(matching: Query(.key, attributes, limit: .all))
        return try keys.complete(besides: session.foundFiles().missing)
    }
}

/// A file with certificates, in PEM or DER.
enum CertificateFile {
    /// The name in messages: a URI without its PIN.
    static func name(of path: String) -> String { (try? PKCS11URI(argument: path))?.description ?? path }

    /// - Parameters:
    ///   - path: the file, or a URI of certificates on a card or in a keychain.
    ///   - cards: the cards that a URI may name.
    ///   - gaps: the command's gaps.
    /// - Throws: an error that names the file, for a file without certificates.
    static func read(
        _ path: String, _ cards: CardOptions? = nil, gaps: Gaps = Gaps()
    ) throws -> [Certificate] {
        if let uri = try PKCS11URI(argument: path) {
            return try CommandKeychains(cards, gaps).certificates(namedBy: uri)
        }
        let input = try Input(path)
        let bytes = try input.whole(limit: ImportRequest.maximumLength)
        do throws(CryptoError) {
            return try Certificate.all(in: bytes)
        } catch {
            throw CommandError("'\(input.name)' holds no certificate that can be read", "\(error)")
        }
    }
}

extension Item {
    /// The title of a certificate, in quotation marks.
    fileprivate var titleAsCertificate: String {
        "'\(certificate?.title ?? anyName)'"
    }
}

extension Certificate {
    /// The title for people.
    var title: String { commonName ?? subject.description }
}
