internal import HostAPI
internal import CryptokiNames
internal import KeychainModel
internal import ArgumentParser
internal import Localization
internal import SystemCrypto

struct ExportSmartcard: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export-smartcard", abstract: "Print what is on cards, or write it to files.",
        discussion: "With -e certificates and public keys go to files in PEM, 9A.crt and 9A.pub for the key 9A.")

    /// The kinds of items to be printed, by the names of macOS's `security`.
    enum Kind: String, CaseIterable, ExpressibleByArgument {
        case certs, privKeys, identities, all
    }

    @Option(
        name: .letter("i"),
        help: ArgumentHelp(
            "The card by its id, as list-smartcards prints it, by its label or pkcs11: URI, instead of all.",
            valueName: "id"),
        completion: Completions.cards)
    var token: String?

    @Option(name: .letter("t"), help: "What to print.")
    var kind: Kind?

    @Option(
        name: .letter("e"), help: ArgumentHelp("The folder for the files.", valueName: "folder"), completion: .directory
    )
    var folder: String?

    @OptionGroup var cards: CardOptions
    @OptionGroup var output: OutputOptions

    /// Items of one kind, as `security` calls it.
    private struct Section: Encodable {
        let name: String
        let items: [ItemText.JSONItem]
    }

    func validate() throws {
        guard kind == nil || folder == nil else {
            throw ValidationError(localized: "-e writes everything: leave out -t")
        }
    }

    mutating func run() throws {
        let session = try CommandKeychains(
            cards, keychains: uris.isEmpty ? [] : [token].compactMap { $0 }, files: false)
        if let token, try uris.isEmpty {
            let cards = try session.foundTokens()
            let named = Set(cards.found.filter { $0.isNamed(token) }.map(\.identifier))
            guard let id = named.first else {
                if let unread = cards.missing.unreadCard { throw unread }
                throw KeychainError(
                    .itemNotFound, "there is no card '\(token)'",
                    remedy: "'tokenctl list-smartcards' lists those there are")
            }
            guard named.count == 1 else {
                throw CommandError("more than one card is called '\(token)'", advice: "give the id of one")
            }
            self.token = id.rawValue
        }
        let tokens = try session.foundTokens()
        if tokens.found.isEmpty, let service = tokens.missing.first(where: { $0.place == .allCards }) {
            throw service.error
        }
        try session.gaps.doubting {
            if let folder { try write(session, to: folder) } else { try show(session) }
        }
        try session.gaps.end()
    }

    // MARK: Printing

    private func show(_ session: CommandKeychains) throws {
        let names = try ObjectURIs(session)
        var sections: [Section] = []
        func add(_ name: String, _ wanted: Kind, _ items: () throws -> [Item]) throws {
            guard kind ?? .all == .all || kind == wanted else { return }
            let found = try items().map {
                ItemText.JSONItem($0, keychain: session.location(of: $0), names.uri(of: $0))
            }
            sections.append(Section(name: name, items: found))
        }
        try add("certificate", .certs) { try items(.certificate, session) }
        try add("private key", .privKeys) { try items(.key, session) }
        try add("identity", .identities) {
            let query = try Query(.identity, attributes, limit: .all)
            let identities = session.reporting(try session.identities(matching: query))
            return try names.identities(identities, namedBy: uris).map(\.certificate)
        }
        guard !output.json else {
            let pairs = sections.map { ($0.name, $0.items) }
            return try Listing.showJSON(Dictionary(pairs) { first, _ in first })
        }
        for section in sections {
            for (number, item) in section.items.enumerated() {
                StandardOutput.lines("\n==== \(section.name) #\(number + 1)")
                for (name, value) in item.attributes.sorted(by: { $0.key < $1.key }) {
                    StandardOutput.line("\(name) : \(value)", isIndented: true)
                }
                StandardOutput.line("====")
            }
        }
    }

    private var uris: [PKCS11URI] {
        get throws { try PKCS11URI.all(in: [token].compactMap { $0 }) }
    }

    private var attributes: Attributes {
        var attributes: Attributes = [.synchronizable: Query.anySynchronizable]
        attributes[.tokenID] = token.flatMap { PKCS11URI.isURI($0) ? nil : .string($0) }
        return attributes
    }

    private func items(_ itemClass: ItemClass, _ session: CommandKeychains) throws -> [Item] {
        let found = session.reporting(
            try session.items(matching: Query(itemClass, attributes, limit: .all)))
        return try uris.isEmpty ? found : ObjectURIs(session).items(found, namedBy: uris)
    }

    // MARK: Writing

    private func write(_ session: CommandKeychains, to folder: String) throws {
        let found = try items(.certificate, session) + items(.key, session)
        guard let first = found.first else { throw KeychainError(.itemNotFound, "no card has anything to export") }
        guard found.allSatisfy({ $0.keychain == first.keychain }) else {
            throw CommandError("more than one card is inserted", advice: "choose one with -i")
        }
        try Output.makeFolder(folder)
        var paths: [String] = []
        for item in found {
            let (ending, label) = item.itemClass == .certificate ? ("crt", "CERTIFICATE") : ("pub", "PUBLIC KEY")
            guard let der = item.der, let name = item.objectName.split(separator: " ").first else { continue }
            let path = "\(folder)/\(name).\(ending)"
            try Output(path: path).write(Array(PEM.encode(der, label: label).utf8))
            paths.append(path)
        }
        if output.json { try Listing.showJSON(["files": paths]) }
    }
}
