internal import KeychainModel
internal import ArgumentParser
internal import HostAPI
internal import Glibc
internal import Localization
internal import SecureBytes
internal import SystemCrypto

struct DumpKeychain: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "dump-keychain", abstract: "Print every item of keychains with its attributes.",
        discussion: "Without a name, of all keychains and cards.")

    @Flag(name: .customShort("a"), help: "Print who may use the items as well.")
    var access = false

    @Flag(name: .customShort("d"), help: "Print the data as well: passwords, certificates and private keys.")
    var data = false

    @Flag(name: .customShort("r"), help: "Print passwords and private keys as they are stored, encrypted.")
    var raw = false

    @Flag(name: .customShort("i"), help: "Edit who may use the items; there are no such lists here.")
    var interactive = false

    @OptionGroup var search: SearchOptions
    @OptionGroup var output: OutputOptions
    @OptionGroup var authentication: AuthenticationOptions

    func validate() throws {
        guard !interactive else {
            throw ValidationError(
                localized: "there are no access lists to edit: you are asked when a program first uses an item")
        }
    }

    func run() throws {
        let session = try search.session()
        let uris = try ObjectURIs(session)
        let found = try items(in: session)
        let items = try uris.items(found.items, namedBy: search.uris)
        try session.require(!items.isEmpty, namedBy: search.uris)
        let host = try authentication.host(
            session.access, for: search.keychains + [search.cards.reader].compactMap { $0 })
        var reader = ContentReader(host, authentication.request(to: "read its secrets"), session)
        if output.json {
            var secrets = JSONSecrets()
            let shown = try items.map { item in
                var shown = ItemText.JSONItem(item, keychain: session.location(of: item), uris.uri(of: item))
                if access { shown.access = DumpKeychain.access(to: item) }
                if raw { shown.raw = Base64.encode(try stored(item, in: session)) }
                if data, case .readable(let secret) = reader.content(of: item) { shown.reveal(secret, &secrets) }
                return shown
            }
            try Listing.showJSON(shown, with: secrets)
        } else {
            for item in items {
                try ItemText.show(item, in: session.location(of: item))
                if access { StandardOutput.line("access: \(DumpKeychain.access(to: item))") }
                if raw { StandardOutput.lines("raw data:\n\(QuotedText.string(try stored(item, in: session)))") }
                if data { try show(reader.content(of: item)) }
            }
        }
        if reader.hasFailed || found.hasDamage { throw ExitCode.failure }
        try session.gaps.end()
    }

    /// All items, by keychain and then by class.
    private func items(in session: CommandKeychains) throws -> (items: [Item], hasDamage: Bool) {
        let classes = ItemClass.allCases.filter { $0 != .identity }
        var items: [Item] = []
        var (hasRead, missing) = (false, [Missing]())
        let (tokens, files) = (try session.foundTokens(), try session.foundFiles())
        // A query for the identifier of one of several blank cards finds all of them.
        var read: Set<KeychainIdentifier> = []
        for member in tokens.found + files.found where read.insert(member.identifier).inserted {
            for itemClass in classes {
                let any: Attributes = [.synchronizable: Query.anySynchronizable]
                let query = try Query(itemClass, any, in: [member.identifier], limit: .all)
                do throws(KeychainError) {
                    let result = try session.items(matching: query)
                    items += result.found
                    missing += result.missing
                    if result.missing.isEmpty { hasRead = true }
                } catch {
                    missing.append(member.missing(error))
                }
            }
        }
        missing += tokens.missing + files.missing + session.missing
        let isReadable = hasRead || !items.isEmpty || missing.allSatisfy { $0.place == .allCards }
        let hasDamage = missing.contains(where: \.isDamage)
        session.gaps.tell(missing, isFailure: !isReadable || hasDamage)
        guard isReadable else {
            try session.gaps.end()
            throw ExitCode.failure
        }
        return (items, hasDamage)
    }

    private static func access(to item: Item) -> LocalizedText {
        guard !item.isOnToken else { return "whoever has the card; its keys want the PIN" }
        let control = item[.accessControl]?.bytes.flatMap { try? AccessControl(parsing: $0) }
        return switch (control?.wantsPasscode == true, control?.wantsApplicationPassword == true) {
        case (false, false): "the programs that the owner allows when they ask, while the keychain is unlocked"
        case (true, false):
            "the programs that the owner allows when they ask, while the keychain is unlocked, after the keychain's password or PIN each time"
        case (false, true):
            "the programs that the owner allows when they ask, while the keychain is unlocked, with the item's own password"
        case (true, true):
            "the programs that the owner allows when they ask, while the keychain is unlocked, after the keychain's password or PIN each time, with the item's own password"
        }
    }

    private func show(_ content: borrowing ContentReader.Content) throws {
        StandardOutput.line("data:")
        switch content {
        case .readable(let secret): try StandardOutput.write(SecretText.quoted(secret), newline: true)
        case .notExtractable: StandardOutput.line("<not extractable>")
        case .unreadable: StandardOutput.line("<not readable>")
        }
    }

    /// The data of an item as the keychain stores them, encrypted where they are secret.
    private func stored(_ item: Item, in session: CommandKeychains) throws -> [UInt8] {
        let stored = try session.file(of: item).flatMap { _ in
            try session.host.storedSecret(of: item.reference, .silent)
        }
        return stored?.secret.copied() ?? item.der ?? []
    }
}

extension KeychainDescription {
    /// The gap of a keychain that cannot be read.
    fileprivate func missing(_ error: KeychainError) -> Missing {
        switch kind {
        case .file: Missing(inFile: name, error)
        case .card: Missing(.unreadableKeychain, in: .card, of: location, error)
        case .moduleToken: Missing(.unreadableKeychain, in: .module, of: token?.module ?? name, error)
        }
    }
}

/// Reads the content of items. An unreadable item is reported, and the others are still read.
private struct ContentReader {
    enum Content: ~Copyable {
        case readable(Secret)
        /// A private key that is not given out.
        case notExtractable
        case unreadable
    }

    private let host: any KeychainService
    private let context: RequestContext
    private let session: CommandKeychains
    private var locked: Set<KeychainIdentifier> = []
    private(set) var hasFailed = false

    init(_ host: any KeychainService, _ context: RequestContext, _ session: CommandKeychains) {
        (self.host, self.context, self.session) = (host, context, session)
    }

    /// The item's secret, else its public part.
    mutating func content(of item: Item) -> Content {
        if let keychain = session.file(of: item)?.name, ContentReader.mayHaveSecret(item) {
            guard unlock(item.keychain, named: keychain) else { return .unreadable }
            do throws(KeychainError) {
                let secret = try host.secret(of: item.reference, context)
                if let secret { return .readable(secret.secret.clone()) }
            } catch {
                report("\(keychain): the \(item.itemClass.noun) '\(item.anyName)': \(error)")
                return .unreadable
            }
        }
        guard !item.isPrivateKey else { return .notExtractable }
        let der = item.der ?? []
        return .readable(Secret(copying: der.span))
    }

    private static func mayHaveSecret(_ item: Item) -> Bool {
        guard item.itemClass != .certificate, item[.isExtractable]?.isTrue != false else { return false }
        return item.itemClass != .key || item[.keyClass]?.integer != KeyClass.public.rawValue
    }

    /// Unlocks the keychain, unless that has failed before: a person is asked once at most.
    private mutating func unlock(_ keychain: KeychainIdentifier, named name: String) -> Bool {
        guard !locked.contains(keychain) else { return false }
        do throws(KeychainError) {
            try host.askAhead(of: .reading(of: keychain), context)
            return true
        } catch {
            locked.insert(keychain)
            report("\(name): \(error)")
            return false
        }
    }

    private mutating func report(_ failure: LocalizedText) {
        printError(failure)
        hasFailed = true
    }
}
