internal import CryptokiNames
internal import KeychainModel
internal import ArgumentParser
internal import Localization
internal import SecureBytes
internal import SystemCrypto

/// The purpose that a certificate must be fit for, by the names of macOS's `security`.
enum Policy: String, SecurityValue {
    case basic
    case sslClient = "ssl-client"
    case sslServer = "ssl-server"
    case smime
    case eap
    case ipsec
    case codesigning
    case kerberos = "sys-kerberos-kdc"

    static let missing: [String: MissingValue] = [
        "ichat": (why: "there is no iChat to use an identity for", instead: "use smime or ssl-client"),
        "sys-default": (
            why: "no identity is the default of a system on Linux",
            instead: "use ssl-server, and -s with the host's name"
        ),
    ]

    var title: String {
        switch self {
        case .basic: "X.509 Basic"
        case .sslClient: "SSL (client)"
        case .sslServer: "SSL (server)"
        case .smime: "S/MIME"
        case .eap: "EAP"
        case .ipsec: "IPsec"
        case .codesigning: "Code Signing"
        case .kerberos: "Kerberos KDC"
        }
    }

    /// Whether the certificate's extended key usage names the policy's, or the certificate does not limit its use.
    func accepts(_ certificate: Certificate) -> Bool {
        guard let needed, let usages = certificate.extendedKeyUsage else { return true }
        return usages.contains(needed) || usages.contains(.anyExtendedKeyUsage)
    }

    /// Whether the certificate has a name, which the policy takes for a host, an e-mail address, or part of the common name.
    func isName(_ name: String, of certificate: Certificate) -> Bool {
        switch self {
        case .sslServer: certificate.isFor(host: name)
        case .smime: certificate.isFor(email: name)
        default: certificate.commonName?.lowercased().contains(name.lowercased()) ?? false
        }
    }

    private var needed: OID? {
        switch self {
        case .basic: nil
        case .sslClient: .clientAuthentication
        case .sslServer: .serverAuthentication
        case .smime: .emailProtection
        case .eap: .clientAuthentication
        // id-kp-ipsecIKE, RFC 4945 §5.1.3.12
        case .ipsec: "1.3.6.1.5.5.7.3.17"
        case .codesigning: .codeSigning
        // id-pkinit-KPKdc, RFC 4556 §3.2.4
        case .kerberos: "1.3.6.1.5.2.3.5"
        }
    }
}

struct FindIdentity: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "find-identity",
        abstract: "Find certificates whose private key is at hand, wherever each of the two is.",
        discussion: """
            Valid means within its dates and fit for the policy; no chain is checked. With --table, and on a terminal that is \
            wide enough, each line says where the key is.
            """)

    @Option(
        name: .letter("p"), help: Policy.help("What it is to be used for; for each use. (default: basic)", "policy"),
        completion: Policy.completion, transform: Policy.init(security:))
    var policies: [Policy] = []

    @Option(
        name: .letter("s"), parsing: .unconditional,
        help: ArgumentHelp(
            "Those for this host with ssl-server, for this e-mail address with smime, else whose common name contains this.",
            valueName: "string"))
    var name: String?

    @Flag(name: .customShort("v"), help: "Valid identities only.")
    var validOnly = false

    @OptionGroup var search: SearchOptions
    @OptionGroup var output: ListingOptions

    private struct Found: Encodable {
        let sha1: String
        let commonName: String?
        let subject: String
        let certificateKeychain: String
        let keyKeychain: String
        let key: String
        let notAfter: String
        let isValid: Bool
        let reference: String
        let uri: String?
        let fault: Fault?

        enum Fault {
            case expired, notValidYet

            /// The name in CDSA, which scripts look for.
            var code: String {
                switch self {
                case .expired: "CSSMERR_TP_CERT_EXPIRED"
                case .notValidYet: "CSSMERR_TP_CERT_NOT_VALID_YET"
                }
            }

            var text: String {
                switch self {
                case .expired: String(localized: "expired")
                case .notValidYet: String(localized: "not valid yet")
                }
            }
        }

        /// - Parameter wherever: whether the line says where the key is, which `security` does not, if the terminal is wide enough.
        func line(_ number: Int, wherever: Bool) -> String {
            let start = "  \(number)) \(sha1) \""
            let name = DisplayText.line(commonName ?? subject)
            let fault = fault.map { " (\(Terminal.width == nil ? $0.code : $0.text))" } ?? ""
            let place = wherever ? DisplayText.line(" [\(String(localized: "\(key) on \(keyKeychain)"))]") : ""
            // The fault is not cut.
            let room = Terminal.width.map { $0 - TextWidth.columns(of: start + "\"" + fault) }
            let whole = Found.fitting([name, place], into: room)
            let isTold = whole[1] == place || whole[1].count >= Found.leastPlace
            let parts = isTold ? whole : Found.fitting([name, ""], into: room)
            return "\(start)\(parts[0])\"\(fault)\(parts[1])"
        }

        /// The minimum width of a place, below which it says nothing.
        private static let leastPlace = 12

        private static func fitting(_ texts: [String], into room: Int?) -> [String] {
            guard let room else { return texts }
            let widths = texts.map { TextWidth.columns(of: $0) }
            let fitting = TextWidth.fitting(widths, into: room, headings: texts.map { _ in 0 })
            return zip(texts, fitting).map { TextWidth.cut($0, to: $1) }
        }

        private enum CodingKeys: String, CodingKey {
            case sha1, commonName, subject, certificateKeychain, keyKeychain, key, notAfter, isValid, reference, uri
        }
    }

    func run() throws {
        let session = try search.session()
        try session.gaps.doubting { try list(in: session) }
        try session.gaps.end()
    }

    private func list(in session: CommandKeychains) throws {
        let query = try Query.all(.identity, commonName: nil)
        let all = session.reporting(try session.identities(matching: query))
        let uris = try ObjectURIs(session)
        let identities = try uris.identities(all, namedBy: search.uris)
        try session.require(!identities.isEmpty, namedBy: search.uris, as: "identity")
        let policies = policies.isEmpty ? [.basic] : policies
        if validOnly { tellOfLeftOut(identities, policies) }
        if output.json || output.uris {
            var found = identities.compactMap { identity in
                policies.lazy.compactMap { self.found(identity, session, uris, fitFor: $0) }.first
            }
            if validOnly { found = found.filter(\.isValid) }
            return output.json
                ? try Listing.showJSON(found) : found.compactMap(\.uri).forEach { StandardOutput.line($0) }
        }
        for policy in policies {
            show(identities.compactMap { found($0, session, uris, fitFor: policy) }, of: policy)
        }
    }

    /// Warns how many identities are left out, and why, since the list does not tell.
    private func tellOfLeftOut(_ identities: [Identity], _ policies: [Policy]) {
        let now = Clock.now
        for policy in policies {
            let certificates = identities.compactMap(\.certificate.certificate)
                .filter { certificate in name.map { policy.isName($0, of: certificate) } ?? true }
            let unfit = certificates.filter { !policy.accepts($0) }.count
            let fit = certificates.filter(policy.accepts)
            let early = fit.filter { now < $0.notBefore }.count
            let late = fit.filter { now >= $0.notBefore && !$0.isValid(at: now) }.count
            let counts: [(Int, LocalizedText)] = [
                (late, "expired"), (early, "not valid yet"), (unfit, "not for \(policy.title)"),
            ]
            let reasons = counts.filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }
            guard !reasons.isEmpty else { continue }
            Warnings.show("note: \(unfit + early + late) left out: \(reasons.joined(separator: ", "))")
        }
    }

    private func show(_ matching: [Found], of policy: Policy) {
        let valid = matching.filter(\.isValid)
        if !validOnly {
            StandardOutput.lines("Policy: \(policy.title)\n  Matching identities")
            list(matching, "identities")
            StandardOutput.lines("\n  Valid identities only")
        }
        list(valid, "valid identities")
        if matching.isEmpty, Terminal.isInteractive {
            Warnings.show("note: 'tokenctl status' says what there is, and what to do next")
        }
    }

    private func list(_ found: [Found], _ noun: String) {
        for (number, one) in found.enumerated() {
            StandardOutput.line(one.line(number + 1, wherever: output.isListing))
        }
        StandardOutput.line("     \(found.count) \(noun) found")
    }

    private func found(
        _ identity: Identity, _ session: CommandKeychains, _ uris: ObjectURIs, fitFor policy: Policy
    ) -> Found? {
        guard let certificate = identity.certificate.certificate, policy.accepts(certificate),
            name.map({ policy.isName($0, of: certificate) }) ?? true
        else { return nil }
        let now = Clock.now
        let fault: Found.Fault = now < certificate.notBefore ? .notValidYet : .expired
        let isValid = certificate.isValid(at: now)
        return Found(
            sha1: (try? Hex.encode(certificate.fingerprint(.sha1))) ?? "", commonName: certificate.commonName,
            subject: certificate.subject.description,
            certificateKeychain: session.keychainName(of: identity.certificate),
            keyKeychain: session.keychainName(of: identity.key), key: identity.key.objectName,
            notAfter: certificate.notAfterText, isValid: isValid,
            reference: identity.reference.hexText, uri: uris.uri(of: identity)?.description,
            fault: isValid ? nil : fault)
    }
}
