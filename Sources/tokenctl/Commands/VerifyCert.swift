internal import HostAPI
internal import KeychainModel
internal import ArgumentParser
internal import FoundationEssentials
internal import Localization
internal import SecureBytes
internal import SystemCrypto

struct VerifyCert: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify-cert", abstract: "Check whether a certificate is trusted.",
        discussion: """
            Nothing is fetched from the network. Trusted are the roots of the system (SSL_CERT_FILE, else \
            /etc/ssl/certs/ca-certificates.crt), or those of -r. Revocation is looked up in the lists of --crl.
            """)

    /// The purpose that the certificate must be fit for.
    enum Purpose: String, CaseIterable, ExpressibleByArgument {
        case basic, ssl, smime, codeSign, eap, timestamping
        case ipsec = "IPSec"

        func usage(isClient: Bool) -> OID? {
            switch self {
            case .basic: nil
            case .ssl, .eap: isClient ? .clientAuthentication : .serverAuthentication
            case .smime: .emailProtection
            case .codeSign: .codeSigning
            case .timestamping: .timeStamping
            case .ipsec: .ipsecIKE
            }
        }
    }

    @Option(
        name: .letter("c"),
        help: ArgumentHelp(
            "Files with the certificate and then others of its chain, or their pkcs11: URIs; for each file.",
            valueName: "file"), completion: .file())
    var certificates: [String] = []

    @Option(
        name: .letter("r"),
        help: ArgumentHelp("Files with the roots that are trusted.", valueName: "file"), completion: .file())
    var roots: [String] = []

    @Option(name: .letter("p"), help: "What it must be fit for.")
    var policy = Purpose.basic

    @Flag(
        name: .customShort("C"), help: "With ssl and eap, the certificate of a client, not of a server."
    )
    var isClient = false

    @Option(
        name: .letter("d"),
        help: ArgumentHelp("When it must be valid, as 2026-10-21.", valueName: "date"))
    var date: DateArgument?

    @Option(
        name: .letter("k"),
        help: ArgumentHelp("Keychains with certificates that may help.", valueName: "keychain"),
        completion: Completions.keychains)
    var keychains: [String] = []

    @Option(
        name: [.letter("n"), .letter("s"), .letter("e")],
        help: ArgumentHelp("The host name or e-mail address that it must be for; of several, all.", valueName: "name"))
    var names: [String] = []

    @Flag(name: .customShort("N"), help: "Search no keychains.")
    var noKeychains = false

    @Flag(name: .customShort("L"), help: "Fetch nothing from the network; that is so in any case.")
    var localOnly = false

    @Flag(name: .customShort("l"), help: "Accept the certificate of an authority.")
    var acceptsAuthority = false

    @Flag(name: .customShort("q"), help: "Print nothing.")
    var quiet = false

    @Flag(name: .customShort("P"), help: "Print the chain as PEM.")
    var pem = false

    @Flag(name: .customShort("t"), help: "Print the chain as text.")
    var text = false

    @Flag(name: .customShort("v"), help: "Say of what the chain is.")
    var verbose = false

    @Option(
        name: .letter("R"),
        help: ArgumentHelp(
            "With lists, whether each issuer needs one (require) or not.", valueName: "check"))
    var checks: [RevocationCheck] = []

    @Option(
        name: .customLong("crl"),
        help: ArgumentHelp("Files with revocation lists, PEM or DER.", valueName: "file"), completion: .file())
    var revocationLists: [String] = []

    @Argument(help: "The address of a server, from which nothing is fetched here.")
    var url: String?

    @OptionGroup var output: OutputOptions

    /// The ways to check revocation, by the names of macOS's `security`.
    enum RevocationCheck: String, CaseIterable, ExpressibleByArgument {
        case ocsp, crl, require, offline
    }

    private struct Verdict: Encodable {
        let isTrusted: Bool
        var reason: LocalizedText?
        var chain: [Certificate] = []

        private enum CodingKeys: String, CodingKey {
            case isTrusted, reason, chain
        }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(isTrusted, forKey: .isTrusted)
            try container.encodeIfPresent(reason, forKey: .reason)
            try container.encode(chain.map(\.pem), forKey: .chain)
        }
    }

    func validate() throws {
        if let url {
            throw ValidationError(
                localized:
                    "'\(url)' would be a server, and none is asked: give a file with -c, as 'openssl s_client -showcerts' prints one"
            )
        }
        guard !checks.contains(.ocsp) else {
            throw ValidationError(
                localized:
                    "no server is asked about revocation: leave out -R ocsp, and give revocation lists with --crl")
        }
        guard !revocationLists.isEmpty || checks.allSatisfy({ $0 == .offline }) else {
            throw ValidationError(localized: "-R needs revocation lists, and none is fetched: give them with --crl")
        }
        guard !output.json || !(text || verbose) else {
            throw ValidationError(localized: "in JSON the chain is PEM: leave out -t and -v")
        }
        guard !certificates.isEmpty || !roots.isEmpty else {
            throw ValidationError(localized: "give the certificate's file (-c)")
        }
    }

    func run() throws {
        let verdict = try verdict()
        if output.json, !quiet { try Listing.showJSON(verdict) }
        guard verdict.isTrusted else {
            if quiet || output.json { throw ExitCode(1) }
            throw KeychainError(.notTrusted, verdict.reason)
        }
        guard !quiet, !output.json else { return }
        for (number, certificate) in verdict.chain.enumerated() {
            if verbose { StandardOutput.line("\(number): \(certificate.subject)") }
            if text { StandardOutput.lines(try certificate.text()) }
            if pem { StandardOutput.lines(certificate.pem) }
        }
        StandardOutput.line("...certificate verification successful.")
    }

    private func verdict() throws -> Verdict {
        let gaps = Gaps()
        let trusted = try roots.flatMap { try CertificateFile.read($0, gaps: gaps) }
        var chain = try certificates.flatMap { try CertificateFile.read($0, gaps: gaps) }
        // With roots alone, the first is checked against itself.
        if chain.isEmpty { chain = Array(trusted.prefix(1)) }
        guard let leaf = chain.first else { throw CommandError("there is no certificate to check") }
        if let reason = unfitness(of: leaf) { return Verdict(isTrusted: false, reason: reason) }
        let named = noKeychains ? [] : keychains
        let session = try CommandKeychains(keychains: named, cards: false, files: !noKeychains, gaps)
        var request = ChainRequest(leaf, helpers: Array(chain.dropFirst()))
        if noKeychains || !named.isEmpty { request.keychains = try session.identifiers(cards: false).found }
        (request.anchors, request.trustsSystem) = (trusted, roots.isEmpty)
        request.time = date?.seconds
        request.revocation = try revocation()
        switch session.reporting(try session.host.judge(request, .silent)) {
        case .trusted(let chain): return Verdict(isTrusted: true, chain: chain)
        case .untrusted(let reason, let depth):
            return Verdict(
                isTrusted: false,
                reason: depth == 0
                    ? "the certificate is not trusted: \(reason)"
                    : "the certificate is not trusted: \(reason), of number \(depth) above it")
        }
    }

    private func revocation() throws -> ChainRequest.Revocation? {
        guard !revocationLists.isEmpty else { return nil }
        let files = try revocationLists.map { file in
            let input = try Input(file)
            var bytes = try input.whole(limit: 16 << 20)
            // The host's error would not name the file.
            do throws(CryptoError) { _ = try CertificateRevocationList.all(in: bytes) } catch {
                throw CommandError("'\(input.name)' holds no revocation list that can be read", "\(error)")
            }
            return SharedSecret(Secret(consuming: &bytes))
        }
        return ChainRequest.Revocation(files: files, isRequired: checks.contains(.require))
    }

    /// The reason why the certificate is not for this use or name; nil where it is.
    private func unfitness(of leaf: Certificate) -> LocalizedText? {
        if leaf.isCA, !acceptsAuthority, !certificates.isEmpty {
            return "the certificate is that of an authority (pass -l to accept it)"
        }
        if let usage = policy.usage(isClient: isClient), let allowed = leaf.extendedKeyUsage,
            !allowed.contains(usage), !allowed.contains(.anyExtendedKeyUsage)
        {
            return "the certificate is not for \(policy.rawValue)"
        }
        guard let name = names.first(where: { !isNamed(leaf, $0) }) else { return nil }
        return "the certificate is not for '\(name)'"
    }

    private func isNamed(_ leaf: Certificate, _ name: String) -> Bool {
        policy == .smime || name.contains("@") ? leaf.isFor(email: name) : leaf.isFor(host: name)
    }
}
