internal import CryptokiNames
internal import KeychainModel
internal import ArgumentParser
internal import Localization
internal import SecureBytes
internal import SystemCrypto

struct FindCertificate: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "find-certificate", abstract: "Find certificates on cards and in local keychains.")

    @Flag(name: .customShort("a"), help: "All that match, not only the first.")
    var all = false

    @Option(
        name: .letter("c"), parsing: .unconditional,
        help: ArgumentHelp("Those whose common name contains this.", valueName: "name"))
    var name: String?

    @Option(name: .letter("e"), help: ArgumentHelp("Those with this e-mail address.", valueName: "address"))
    var email: String?

    @Flag(name: .customShort("m"), help: "Print the e-mail addresses of the certificates.")
    var showEmail = false

    @Flag(name: .customShort("p"), help: "Print the certificates as PEM.")
    var pem = false

    @Flag(name: .customShort("Z"), help: "Print SHA-256 and SHA-1 hashes of the certificates.")
    var hashes = false

    @OptionGroup var search: SearchOptions
    @OptionGroup var output: ListingOptions

    private var isText: Bool { hashes || pem || showEmail }

    func validate() throws {
        guard !isText || !(output.json || output.table || output.uris) else {
            throw ValidationError(localized: "-m, -p and -Z have no place in what --json, --table and --uri print")
        }
    }

    func run() throws {
        let session = try search.session()
        try output.searching(session.gaps) { try find(in: session) }
        if all { try session.gaps.end() }
    }

    private func find(in session: CommandKeychains) throws {
        let query = try Query.all(.certificate, commonName: name)
        let items = session.reporting(try session.items(matching: query))
        let uris = try ObjectURIs(session)
        let named = try uris.items(items, namedBy: search.uris)
        try session.require(!named.isEmpty, namedBy: search.uris, as: "certificate")
        var found = named.compactMap { FoundCertificate($0, in: session.keychainName(of: $0), uris.uri(of: $0)) }
        if let email { found = found.filter { $0.certificate.isFor(email: email) } }
        guard !found.isEmpty else { throw KeychainError(.itemNotFound, "no certificate matches") }
        if !all { found = Array(found.prefix(1)) }
        if output.uris { return output.show(found.map { uris.uri(of: $0.item) }) }
        if output.json || (output.isListing && !isText) { return try Listing.show(found.map(\.row), json: output.json) }
        for one in found { try show(one, in: session) }
    }

    private func show(_ one: FoundCertificate, in session: CommandKeychains) throws {
        if hashes { StandardOutput.lines("SHA-256 hash: \(one.row.sha256)\nSHA-1 hash: \(one.row.sha1)") }
        if showEmail {
            StandardOutput.line("email addresses: \(one.certificate.emailAddresses.joined(separator: ", "))")
        }
        guard !pem else { return StandardOutput.lines(one.certificate.pem) }
        try ItemText.show(one.item, in: session.location(of: one.item))
    }
}

extension Certificate {
    /// The last day of validity, with a remark if the certificate has expired; the first day, if it is not valid yet.
    func validity(at now: Int64) -> String {
        if now < notBefore { return String(localized: "not before \(notBeforeText.prefix(10))") }
        let end = String(notAfterText.prefix(10))
        return isValid(at: now) ? end : String(localized: "\(end), expired")
    }
}

/// A certificate of a listing.
struct FoundCertificate {
    let item: Item
    let certificate: Certificate
    let row: CertificateRow

    init?(_ item: Item, in keychain: String, _ uri: PKCS11URI?) {
        guard let certificate = item.certificate else { return nil }
        self.item = item
        self.certificate = certificate
        row = CertificateRow(certificate, item: item, keychain: keychain, uri)
    }
}

struct CertificateRow: Row {
    static let columns: [LocalizedKey] = ["KEYCHAIN", "OBJECT", "SUBJECT", "KEY", "EXPIRES", "SHA-1"]
    static let wholeColumns: Set = ["EXPIRES"]
    let keychain: String
    let object: String
    let subject: String
    let issuer: String
    let serialNumber: String
    let commonName: String?
    let key: String
    let notBefore: String
    let notAfter: String
    let isValid: Bool
    let sha1: String
    let sha256: String
    let token: String?
    let reference: String
    let uri: String?
    private let validity: String

    private enum CodingKeys: CodingKey {
        case keychain, object, subject, issuer, serialNumber, commonName, key, notBefore, notAfter, isValid, sha1,
            sha256
        case token, reference, uri
    }

    init(_ certificate: Certificate, item: Item, keychain: String, _ uri: PKCS11URI?) {
        self.keychain = keychain
        object = item.objectName
        subject = certificate.subject.description
        issuer = certificate.issuer.description
        serialNumber = Hex.encode(certificate.serialNumber)
        commonName = certificate.commonName
        key = certificate.publicKey?.kind.description ?? "unknown"
        notBefore = certificate.notBeforeText
        notAfter = certificate.notAfterText
        isValid = certificate.isValid(at: Clock.now)
        validity = certificate.validity(at: Clock.now)
        sha1 = (try? Hex.encode(certificate.fingerprint(.sha1))) ?? ""
        sha256 = (try? Hex.encode(certificate.fingerprint(.sha256))) ?? ""
        token = item.reference.tokenID
        reference = item.reference.hexText
        self.uri = uri?.description
    }

    var cells: [String] {
        [keychain, object, commonName ?? subject, Word.shown(key), validity, String(sha1.prefix(16))]
    }
}
