internal import CryptokiNames
internal import HostAPI
internal import KeychainModel
internal import ArgumentParser
internal import Glibc
internal import Localization
internal import SecureBytes
internal import SystemCrypto

struct Export: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export",
        abstract: "Export certificates, public keys, private keys or identities.",
        discussion: """
            Certificates and public keys come as PEM, private keys as encrypted PKCS#8 in PEM, identities as PKCS#12; \
            a passphrase for them is asked for. The format openssh2 is that of ssh-keygen. A key on a card never leaves it.
            """)

    /// The kinds of items to be exported, by the names of macOS's `security`.
    enum Kind: String, CaseIterable, ExpressibleByArgument {
        case certs, allKeys, pubKeys, privKeys, identities, all
    }

    /// The format of the export, by the same names.
    enum Format: String, SecurityValue {
        case pemseq, x509, openssl, pkcs7, pkcs8, pkcs12, openssh2

        static let missing = ["openssh1": MissingFormat.openssh1, "bsafe": MissingFormat.bsafe]
    }

    @Option(
        name: .letter("t"),
        help: ArgumentHelp("What to export; all unless the format is for less.", valueName: "type"))
    var kind: Kind?

    @Option(
        name: .letter("f"),
        help: Format.help("The format; x509 and pkcs7 of certificates, pkcs12 of identities.", "format"),
        completion: Format.completion, transform: Format.init(security:))
    var format: Format?

    @Flag(name: .customShort("w"), help: "Encrypt private keys; that is so in any case.")
    var isWrapped = false

    @Flag(name: .customShort("p"), help: "Print x509, pkcs7 and pkcs12 as PEM.")
    var armored = false

    @Option(
        name: .letter("P"), parsing: .unconditional,
        help: ArgumentHelp(
            "The passphrase for private keys; other programs can see it, so better be asked.", valueName: "passphrase"))
    var passphrase: String?

    @Option(
        name: .letter("c"),
        help: ArgumentHelp("Those whose common name or label contains this.", valueName: "name"))
    var name: String?

    @Option(
        name: .letter("k"),
        help: ArgumentHelp(
            "The keychain, or what a pkcs11: URI names, instead of all keychains and cards.", valueName: "keychain"),
        completion: Completions.keychains)
    var keychain: String?

    @OptionGroup var destination: DestinationOptions
    @OptionGroup var cards: CardOptions
    @OptionGroup var authentication: AuthenticationOptions

    func validate() throws {
        let kinds: [Kind]? =
            switch format {
            case nil, .pemseq: nil
            case .x509, .pkcs7: [.certs]
            case .openssl, .pkcs8, .openssh2: [.allKeys, .pubKeys, .privKeys]
            case .pkcs12: [.identities]
            }
        guard let kinds, let format, let kind, !kinds.contains(kind) else { return }
        let fitting = kinds.map(\.rawValue).joined(separator: ", ")
        throw ValidationError(
            localized: "\(kind.rawValue) cannot be exported as \(format.rawValue), which is for \(fitting)")
    }

    func run() throws {
        let session = try CommandKeychains(cards, keychains: keychain.map { [$0] } ?? [])
        switch kind ?? standardKind {
        case .certs: try write(exported(required(certificates(session), "certificate", session)))
        case .pubKeys: try write(publicKeys(required(keys(session), "key", session)))
        case .privKeys:
            let keys = try required(keys(session).filter(\.isPrivateKey), "key", session)
            try writePrivate(privateKeys(canLeaveSome(keys) ? leaving(keys) : keys, session))
        case .allKeys:
            let keys = try required(keys(session), "key", session)
            let own = keys.filter(\.isPrivateKey)
            try writePrivate(publicKeys(keys) + privateKeys(isNamed ? own : leaving(own), session))
        case .identities: try writePrivate(identities(session))
        case .all:
            let (certificates, keys) = try (certificates(session), keys(session))
            if keys.isEmpty { _ = try required(certificates, "certificate or key", session) }
            let text = Array(certificates.map(\.pem).joined().utf8)
            try writePrivate(
                text + publicKeys(keys) + privateKeys(leaving(keys.filter(\.isPrivateKey)), session))
        }
        try session.gaps.end()
    }

    private var standardKind: Kind {
        switch format {
        case nil, .pemseq: .all
        case .x509, .pkcs7: .certs
        case .openssl, .pkcs8, .openssh2: .privKeys
        case .pkcs12: .identities
        }
    }

    /// The URIs among the keychains of -k.
    private var uris: [PKCS11URI] {
        get throws { try PKCS11URI.all(in: [keychain].compactMap { $0 }) }
    }

    /// Whether the exported items were asked for by a name or a URI.
    private var isNamed: Bool {
        get throws { try name != nil || !uris.isEmpty }
    }

    private func write(_ bytes: [UInt8], mode: mode_t = 0o644) throws {
        try destination.write(
            bytes, mode: mode, as: .text("text", orElse: "data"), ["kind": (kind ?? standardKind).rawValue])
    }

    private func writePrivate(_ bytes: [UInt8]) throws { try write(bytes, mode: 0o600) }

    // MARK: Certificates and public keys

    private func exported(_ found: [Certificate]) throws -> [UInt8] {
        switch format {
        case .pkcs7: return armor(CertificateSet.encode(found), "PKCS7")
        case .x509 where !armored:
            guard found.count == 1 else {
                throw CommandError("a DER file holds one certificate", advice: "choose it with -c, or pass -p")
            }
            return found[0].der
        default: return Array(found.map(\.pem).joined().utf8)
        }
    }

    private func certificates(_ session: CommandKeychains) throws -> [Certificate] {
        let items = session.reporting(
            try session.items(matching: Query.all(.certificate, commonName: name)))
        let named = try ObjectURIs(session).items(items, namedBy: uris.map(\.forCertificates))
        return named.compactMap(\.certificate)
    }

    /// - Throws: `errSecItemNotFound` where there is nothing.
    private func required<Found>(_ found: [Found], _ noun: LocalizedText, _ session: CommandKeychains) throws -> [Found]
    {
        guard found.isEmpty else { return found }
        return try session.gaps.doubting {
            try session.require(false, namedBy: uris, as: noun)
            throw KeychainError(.itemNotFound, "no \(noun) matches")
        }
    }

    private func publicKeys(_ items: [Item]) throws -> [UInt8] {
        let texts = try items.map { item in
            guard let der = item.der else { return "" }
            return try format == .openssh2
                ? OpenSSHPublicKeys.line(PublicKey(spki: der), comment: item.label ?? "")
                : PEM.encode(der, label: "PUBLIC KEY")
        }
        return Array(texts.joined().utf8)
    }

    // MARK: Private keys and identities

    private func privateKeys(_ items: [Item], _ session: CommandKeychains) throws -> [UInt8] {
        guard !items.isEmpty else { return [] }
        let keys = try items.map { ExportRequest.Object.privateKey(try Export.key($0), name: $0.label) }
        return try file(of: keys, as: format == .openssh2 ? .openssh : .pemSequence, "the exported keys", session)
    }

    private func identities(_ session: CommandKeychains) throws -> [UInt8] {
        let all = session.reporting(
            try session.identities(matching: Query.all(.identity, commonName: name)))
        let named = try required(ObjectURIs(session).identities(all, namedBy: uris), "identity", session)
        let exported = try canLeaveSome(named.map(\.key)) ? leaving(named) : named
        guard format != .pemseq else {
            let certificates = try exported.map { try $0.parsedCertificate().pem }
            return try Array(certificates.joined().utf8) + privateKeys(exported.map(\.key), session)
        }
        let objects = try exported.flatMap { identity -> [ExportRequest.Object] in
            let certificate = try identity.parsedCertificate()
            return [
                .certificate(certificate, name: identity.certificate.label), .privateKey(try Export.key(identity.key)),
            ]
        }
        let subject: LocalizedText = .plural(
            exported.count, one: "the exported identity", other: "the \(exported.count) exported identities")
        return try file(of: objects, as: .pkcs12, subject, session)
    }

    /// - Parameter subject: the name of the objects in the question for a passphrase.
    private func file(
        of objects: [ExportRequest.Object], as format: ExportRequest.Format, _ subject: LocalizedText,
        _ session: CommandKeychains
    ) throws -> [UInt8] {
        var request = ExportRequest(objects, as: format)
        request.isArmored = armored
        request.passphrase = passphrase.map { .given(SharedSecret(SecretArgument.secret($0))) } ?? .asked
        request.subject = String(localized: subject)
        let host = try authentication.host(
            session.access, for: [keychain, cards.reader].compactMap { $0 })
        return try host.exportFile(request, authentication.request).secret.copied()
    }

    /// Whether keys that cannot be exported may be left out: they were not asked for by name, and there are others.
    private func canLeaveSome(_ keys: [Item]) throws -> Bool {
        try !isNamed && keys.contains { Export.reasonToStay($0) == nil }
    }

    private func leaving(_ identities: [Identity]) -> [Identity] {
        identities.filter { identity in
            guard let reason = Export.reasonToStay(identity.key) else { return true }
            Warnings.show("note: the identity '\(identity.certificate.label ?? "")' is left out: its key \(reason)")
            return false
        }
    }

    private func leaving(_ keys: [Item]) -> [Item] {
        keys.filter { key in
            guard let reason = Export.reasonToStay(key) else { return true }
            Warnings.show("note: the key '\(key.objectName)' is left out: it \(reason)")
            return false
        }
    }

    private func armor(_ der: [UInt8], _ label: String) -> [UInt8] {
        armored ? Array(PEM.encode(der, label: label).utf8) : der
    }

    /// The private keys, and the public ones whose private halves are not among them.
    private func keys(_ session: CommandKeychains) throws -> [Item] {
        let all = session.reporting(try session.items(matching: Query(.key, limit: .all)))
        let items = try ObjectURIs(session).items(all, namedBy: uris)
        let found = asymmetric(
            items.filter { item in name.map { item.label?.lowercased().contains($0.lowercased()) ?? false } ?? true })
        let halves = Set(found.filter(\.isPrivateKey).map(\.publicKeyHash))
        let keys = found.filter { $0.isPrivateKey || !halves.contains($0.publicKeyHash) }
        return try isNamed ? keys : usable(keys)
    }

    /// The keys without the symmetric ones, which no format can hold.
    private func asymmetric(_ keys: [Item]) -> [Item] {
        keys.filter { key in
            guard key[.keyClass]?.integer == KeyClass.symmetric.rawValue else { return true }
            Warnings.show("note: the key '\(key.objectName)' is left out: it is symmetric")
            return false
        }
    }

    /// The keys without those that OpenSSH does not use; all of them if it uses none.
    private func usable(_ keys: [Item]) -> [Item] {
        guard format == .openssh2 else { return keys }
        let usable = keys.filter { item in item.der.flatMap { try? PublicKey(spki: $0).openSSH() } != nil }
        guard !usable.isEmpty else { return keys }
        for item in keys where !usable.contains(item) {
            Warnings.show("note: the key '\(item.objectName)' is left out: SSH does not use keys of its kind")
        }
        return usable
    }
}

extension Export {
    /// - Throws: `errSecDataNotAvailable` for a private key that cannot be exported.
    static func key(_ item: Item) throws(KeychainError) -> KeyRequest.Key {
        guard let reason = reasonToStay(item) else { return .item(item.reference) }
        throw KeychainError(.dataNotAvailable, "the key '\(item.objectName)' \(reason)")
    }

    /// The reason why a private key cannot be exported, to complete "the key …"; nil for a key that can be.
    private static func reasonToStay(_ key: Item) -> LocalizedText? {
        if key.isOnToken { return "is on a card and never leaves it" }
        return key[.isExtractable]?.isTrue == false ? "was stored never to be given out" : nil
    }
}

extension Identity {
    /// - Throws: why its certificate cannot be read.
    func parsedCertificate() throws -> Certificate {
        try certificate.certificate ?? Certificate(der: certificate.der ?? [])
    }
}
