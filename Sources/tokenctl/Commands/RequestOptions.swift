internal import ArgumentParser
internal import HostAPI
internal import KeychainModel
internal import Localization
internal import SecureBytes
internal import SystemCrypto

/// The content of a request for a certificate.
struct RequestOptions: ParsableArguments {
    @Option(name: .letter("c"), help: ArgumentHelp("The common name of the subject.", valueName: "name"))
    var commonName: String?

    @Option(
        help: ArgumentHelp("The whole subject instead, as 'CN=Jo Doe,O=Example,C=CH' (RFC 4514).", valueName: "name"))
    var subject: String?

    @Option(name: .long, help: ArgumentHelp("A host name that it is for as well; for each name.", valueName: "name"))
    var dns: [String] = []

    @Option(
        name: .long, help: ArgumentHelp("An e-mail address that it is for; for each address.", valueName: "address"))
    var email: [String] = []

    @Option(
        name: .long,
        help: ArgumentHelp(
            "A user principal name that it is for, by which Windows and Kerberos know a person; for each name.",
            valueName: "name"))
    var upn: [String] = []

    @Option(name: .long, help: ArgumentHelp("A URI that it is for; for each URI.", valueName: "uri"))
    var uri: [String] = []

    @Option(
        name: .customLong("eku"),
        help: ArgumentHelp(
            String(
                localized: "A use of the certificate: \(PurposeArgument.names), or an object identifier; for each use."),
            valueName: "use"), completion: .list(PurposeArgument.all.map(\.name)))
    var purposes: [PurposeArgument] = []

    @Option(
        name: .customLong("extensions"),
        help: ArgumentHelp(
            "A file with further extensions, PEM or DER of X.509's Extensions or of one Extension (RFC 5280), not of a request or certificate; for each file.",
            valueName: "file"),
        completion: .file())
    var extensionFiles: [String] = []

    func validate() throws {
        guard (commonName == nil) != (subject == nil) else {
            throw ValidationError(localized: "give the subject either with -c or with --subject")
        }
        // ub-common-name of RFC 5280, appendix A.1.
        if let commonName, !(1...64).contains(commonName.unicodeScalars.count) {
            throw ValidationError(localized: "a common name has 1 to 64 characters")
        }
        if let subject, (try? DistinguishedName(text: subject)) == nil {
            throw ValidationError(localized: "'\(subject)' is not a name such as 'CN=Jo Doe,O=Example,C=CH'")
        }
        for name in dns where !HostName.isPattern(name) {
            throw ValidationError(
                localized:
                    "'\(name)' is not a host name: labels of letters, digits and hyphens with dots between, the first of which may be *"
            )
        }
        for address in email where !HostName.isAddress(address) {
            throw ValidationError(localized: "'\(address)' is not an e-mail address of ASCII characters")
        }
        for name in upn
        where name.split(separator: "@", omittingEmptySubsequences: false).map(\.isEmpty) != [false, false] {
            throw ValidationError(localized: "'\(name)' is not a user principal name, as 'jo@EXAMPLE.COM'")
        }
        for text in uri where !HostName.isURI(text) {
            throw ValidationError(localized: "'\(text)' is not a URI with a scheme")
        }
    }

    /// The request for a key.
    private func request(for key: PublicKey) throws -> CertificationRequest {
        let subject =
            if let subject { try DistinguishedName(text: subject) } else {
                try DistinguishedName(commonName: commonName ?? "")
            }
        var request = CertificationRequest(subject: subject, publicKey: key)
        let addresses = dns.map { GeneralName.dns($0) } + email.map { .email($0) }
        request.subjectAlternativeNames = addresses + upn.map { .userPrincipalName($0) } + uri.map { .uri($0) }
        request.extendedKeyUsage = purposes.map(\.identifier)
        request.extensions = try extensionFiles.flatMap { try ExtensionFile.read($0) }
        var known: Set<OID> = []
        for identifier in request.allExtensions.map(\.identifier) where !known.insert(identifier).inserted {
            throw CommandError("the extension \(identifier) is given twice")
        }
        return request
    }

    /// Writes the request for a key in PEM.
    ///
    /// - Parameter sign: signs a message with the key.
    func write(
        for key: KeyDescription, to destination: DestinationOptions,
        signedBy sign: ([UInt8], SignatureAlgorithm) throws -> [UInt8]
    ) throws {
        let request = try request(for: PublicKey(spki: key.publicKey))
        try destination.write(Array(request.pem(signedBy: sign).utf8), as: .text("request", orElse: "data"))
    }
}

extension CertificationRequest {
    /// The request in PEM.
    ///
    /// - Parameter sign: signs a message with the key.
    func pem(signedBy sign: ([UInt8], SignatureAlgorithm) throws -> [UInt8]) throws -> String {
        let algorithm = try CertificateBuilder.signatureAlgorithm(of: publicKey, digest: .sha256)
        let der = try assemble(signature: sign(toBeSigned, algorithm), algorithm: algorithm)
        return PEM.encode(der, label: "CERTIFICATE REQUEST")
    }
}

/// A use of a certificate, by OpenSSL's name for it or its object identifier.
struct PurposeArgument: ExpressibleByArgument {
    static let all: [(name: String, identifier: OID)] = [
        ("serverAuth", .serverAuthentication), ("clientAuth", .clientAuthentication), ("codeSigning", .codeSigning),
        ("emailProtection", .emailProtection), ("timeStamping", .timeStamping), ("OCSPSigning", .ocspSigning),
        ("ipsecIKE", .ipsecIKE), ("msSmartcardLogin", .smartCardLogon), ("pivCardAuth", .pivCardAuthentication),
    ]

    static var names: String { all.map(\.name).joined(separator: ", ") }

    let identifier: OID

    init?(argument: String) {
        let known = PurposeArgument.all.first { $0.name.lowercased() == argument.lowercased() }
        guard let identifier = known?.identifier ?? OID(argument) else { return nil }
        self.identifier = identifier
    }
}

/// A file with extensions of certificates.
private enum ExtensionFile {
    private static let limit = 1 << 16

    static func read(_ path: String) throws -> [CertificateExtension] {
        let input = try Input(path)
        let bytes = try input.whole(limit: limit)
        do throws(CryptoError) { return try CertificateExtension.all(in: bytes) } catch {
            guard !isSigned(bytes) else {
                throw CommandError(
                    "'\(input.name)' is a request or a certificate, and no file of extensions",
                    advice: "give PEM or DER of X.509's Extensions or of one Extension")
            }
            throw CommandError(
                "'\(input.name)' holds no extensions that can be read", "\(error)",
                advice: "give PEM or DER of X.509's Extensions or of one Extension")
        }
    }

    /// Whether a file is a certificate or a request for one.
    private static func isSigned(_ bytes: [UInt8]) -> Bool {
        var der = bytes
        if PEM.isPEM(bytes.span) {
            guard let block = try? PEMReader(bytes.span).next() else { return false }
            der = block.der.copied()
        }
        return (try? Certificate(der: der)) != nil || (try? CertificationRequest.provenKey(of: der)) != nil
    }
}
