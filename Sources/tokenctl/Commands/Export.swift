internal import ArgumentParser
internal import KeychainHost
internal import SystemCrypto
internal import TokenKit

/// What is exported, by the names of macOS's `security`.
enum ExportKind: String, CaseIterable, ExpressibleByArgument {
    case certs
    case pubKeys
    case privKeys
    case identities
}

struct Export: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Export certificates, public keys, private keys or identities.",
        discussion: """
            Certificates and public keys come as PEM, private keys as encrypted PKCS#8 in PEM, an identity as PKCS#12; \
            a passphrase for it is asked for. A key on a card never leaves it.
            """)

    @Option(name: .customShort("t"), help: "What to export.")
    var kind = ExportKind.certs

    @Option(
        name: .customShort("c"),
        help: ArgumentHelp("Those whose common name or label contains this.", valueName: "name"))
    var name: String?

    @Option(name: .customShort("k"), help: "The local keychain, instead of all keychains and cards.")
    var keychain: String?

    @Option(name: .customShort("o"), help: ArgumentHelp("Where it goes.", valueName: "file"))
    var output: String?

    @OptionGroup var cards: CardOptions
    @OptionGroup var authentication: AuthenticationOptions

    func run() throws {
        let session = try Session(cards, keychains: keychain.map { [$0] } ?? [], cards: keychain == nil)
        switch kind {
        case .certs: try exportCertificates(session)
        case .pubKeys: try exportPublicKeys(session)
        case .privKeys: try exportPrivateKeys(session)
        case .identities: try exportIdentity(session)
        }
    }

    private func exportCertificates(_ session: Session) throws {
        let query = try Query.all(.certificate, commonName: name)
        let items = session.reporting(try session.searchList.items(matching: query))
        let texts = items.compactMap { $0.der.map { PEM.encode($0, label: "CERTIFICATE") } }
        guard !texts.isEmpty else { throw KeychainError(.itemNotFound, "no certificate matches") }
        try Output(path: output).write(Array(texts.joined().utf8))
    }

    private func exportPublicKeys(_ session: Session) throws {
        let texts = try keys(session).compactMap { $0.der.map { PEM.encode($0, label: "PUBLIC KEY") } }
        try Output(path: output).write(Array(texts.joined().utf8))
    }

    private func exportPrivateKeys(_ session: Session) throws {
        let context = try authentication.context()
        let keys = try keys(session).map { try privateKey($0, session, context) }
        let passphrase = try context.prompter.ask(PromptRequest(.newPassword, subject: "the exported keys"))
        let texts = try keys.map { key in
            PEM.encode(try key.encryptedPKCS8(password: passphrase), label: "ENCRYPTED PRIVATE KEY")
        }
        try Output(path: output).write(Array(texts.joined().utf8), mode: 0o600)
    }

    private func exportIdentity(_ session: Session) throws {
        let query = try Query.all(.identity, commonName: name)
        let identities = session.reporting(try session.searchList.identities(matching: query))
        guard let identity = identities.first, let der = identity.certificate.der else {
            throw KeychainError(.itemNotFound, "no identity matches")
        }
        guard identities.count == 1 else {
            throw CommandError("more than one identity matches", advice: "choose one with -c")
        }
        let context = try authentication.context()
        let key = try privateKey(identity.key, session, context)
        let passphrase = try context.prompter.ask(PromptRequest(.newPassword, subject: "the exported identity"))
        let bag = try PKCS12.create(
            key: key, certificate: Certificate(der: der), friendlyName: identity.certificate.label, password: passphrase
        )
        try Output(path: output).write(bag, mode: 0o600)
    }

    private func keys(_ session: Session) throws -> [Item] {
        let items = session.reporting(try session.searchList.items(matching: Query(.key, limit: .all)))
        let found = items.filter { item in
            item.isPrivateKey && (name.map { item.label?.lowercased().contains($0.lowercased()) ?? false } ?? true)
        }
        guard !found.isEmpty else { throw KeychainError(.itemNotFound, "no key matches") }
        return found
    }

    private func privateKey(
        _ item: Item, _ session: Session, _ context: AuthenticationContext
    ) throws -> PrivateKey {
        guard let keychain = session.locals.first(where: { $0.identifier == item.keychain }) else {
            throw KeychainError(.dataNotAvailable, "the key '\(item.objectName)' is on a card and never leaves it")
        }
        try keychain.unlock(use: "export a key", authentication: context)
        guard let encoded = try keychain.secret(of: item.reference) else {
            throw KeychainError(.dataNotAvailable, "the key '\(item.objectName)' has no private half here")
        }
        return try PrivateKey(encoded: encoded)
    }
}
