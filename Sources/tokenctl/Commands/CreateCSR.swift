internal import KeychainModel
internal import HostAPI
internal import ArgumentParser
internal import SecureBytes
internal import SystemCrypto

struct CreateCSR: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "create-csr", abstract: "Request a certificate for a key on a card or in a local keychain.",
        discussion: "The request is PKCS#10 in PEM, signed by the key itself.")

    @OptionGroup var key: KeyOptions

    @Option(name: .letter("c"), help: ArgumentHelp("The common name of the subject.", valueName: "name"))
    var commonName: String

    @Option(name: .long, help: ArgumentHelp("A host name that it is for as well; for each name.", valueName: "name"))
    var dns: [String] = []

    @Option(
        name: .long, help: ArgumentHelp("An e-mail address that it is for; for each address.", valueName: "address"))
    var email: [String] = []

    @OptionGroup var destination: DestinationOptions
    @OptionGroup var cards: CardOptions
    @OptionGroup var authentication: AuthenticationOptions

    func validate() throws {
        // ub-common-name of RFC 5280, appendix A.1.
        guard (1...64).contains(commonName.unicodeScalars.count) else {
            throw ValidationError("a common name has 1 to 64 characters")
        }
        for name in dns where !HostName.isPattern(name) {
            throw ValidationError(
                "'\(name)' is not a host name: labels of letters, digits and hyphens with dots between, the first of which may be *"
            )
        }
        for address in email where !HostName.isAddress(address) {
            throw ValidationError("'\(address)' is not an e-mail address of ASCII characters")
        }
    }

    func run() throws {
        let session = try key.place.session(cards)
        let key = try key.resolve(in: session)
        var request = CertificationRequest(
            subject: try DistinguishedName(commonName: commonName), publicKey: try PublicKey(spki: key.publicKey))
        request.subjectAlternativeNames = dns.map { .dns($0) } + email.map { .email($0) }
        let algorithm = try CertificateBuilder.signatureAlgorithm(of: request.publicKey, digest: .sha256)
        let keys = try authentication.keys(session, for: [self.key.key, cards.reader], to: "sign a request")
        let signature = try keys.perform(.sign(request.toBeSigned), .messageSignature(algorithm), with: key.item)
        let der = try request.assemble(signature: signature.secret.copied(), algorithm: algorithm)
        try destination.write(
            Array(PEM.encode(der, label: "CERTIFICATE REQUEST").utf8), as: .text("request", orElse: "data"))
    }
}
