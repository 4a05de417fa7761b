internal import ArgumentParser
internal import CryptokiNames
internal import FoundationEssentials
internal import HostAPI
internal import KeychainModel
internal import Localization
internal import Platform
internal import SecureBytes

struct Access: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "access",
        abstract: "Show and change which programs may use keys and passwords without a question.",
        discussion: """
            The session's host asks a person before a program uses what another program has unlocked. These are the answers for ever. \
            Those about a keychain's items are in its file, which has to be unlocked for them; those about keys of cards are in the login \
            keychain, and end with the host while that is locked or not there. \
            A program is known by its path where only root can change its file, else by the file's content. What is denied is refused \
            without a question, also where root allows it in access.conf.
            """,
        subcommands: [List.self, Allow.self, Deny.self, Reset.self], defaultSubcommand: List.self)

    // MARK: List

    struct List: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "list", abstract: "List the decisions of unlocked keychains, and those until the host ends.")

        @Argument(help: "The keychains, instead of all and the host.", completion: Completions.keychains)
        var keychains: [String] = []

        @OptionGroup var output: OutputOptions

        private struct Decision: Row {
            static let columns: [LocalizedKey] = ["DECISION", "USE", "PROGRAM", "ITEM", "UNTIL"]
            static let optionalColumns: Set = ["UNTIL"]
            let isAllowed: Bool
            /// Nil for each use.
            let use: String?
            /// Nil for any program.
            let program: String?
            let item: String
            /// The item; nil for one that is known by its name alone.
            let reference: String?
            let isLasting: Bool

            init(_ entry: AccessEntry) {
                (isAllowed, isLasting) = (entry.isAllowed, entry.isLasting)
                use = entry.use.map { "\($0)" }
                (program, item, reference) = (entry.program, entry.item, entry.reference?.hexText)
            }

            var cells: [String] {
                [
                    Word.shown(isAllowed ? "allow" : "deny"), Word.shown(use ?? "any"), program ?? Word.shown("any"),
                    item,
                    isLasting ? "" : String(localized: "the host ends"),
                ]
            }
        }

        func run() throws {
            let session = try CommandKeychains(keychains: keychains, cards: false)
            let named = keychains.isEmpty ? nil : try session.foundFiles().found.map(\.identifier)
            let found = session.reporting(try session.host.accessDecisions(in: named, .silent))
            try Listing.show(found.map(Decision.init), json: output.json)
        }
    }

    // MARK: Changes

    /// The program and the items of a decision.
    struct Subject: ParsableArguments {
        @Argument(help: "The path of the program.", completion: .file())
        var program: String

        @Argument(help: AccessItems.help, completion: Completions.keys)
        var items: [String]

        @OptionGroup var place: AccessPlaceOptions
    }

    struct Allow: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "allow", abstract: "Have a program use items without a question. A person has to confirm it.")

        @OptionGroup var subject: Subject

        @Flag(help: "Ask nobody; fail, as a person has to confirm it.")
        var noPrompt = false

        @OptionGroup var output: OutputOptions

        func run() throws {
            let access = try HostAccess()
            let prompter = noPrompt ? HostAccess.silentPrompter("") : HostAccess.prompter("")
            let items = try AccessItems.references(of: subject.items, in: subject.place, access)
            let count = try access.host(asking: prompter).changeAccess(
                .allow([absolutePath(subject.program)], items), RequestContext())
            if output.json { try Listing.showJSON(["allowed": count]) }
            AccessItems.tellEnd(of: items, access)
        }
    }

    struct Deny: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "deny", abstract: "Refuse a program the use of items, without a question.")

        @OptionGroup var subject: Subject
        @OptionGroup var output: OutputOptions

        func run() throws {
            let access = try HostAccess()
            let items = try AccessItems.references(of: subject.items, in: subject.place, access)
            let count = try access.host.changeAccess(.deny([absolutePath(subject.program)], items), .silent)
            if output.json { try Listing.showJSON(["denied": count]) }
            AccessItems.tellEnd(of: items, access)
        }
    }

    struct Reset: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "reset", abstract: "Forget decisions: the next use asks again.")

        @Flag(help: "Forget all decisions of unlocked keychains, and those until the host ends.")
        var all = false

        @Option(
            help: ArgumentHelp(
                "Forget only those about the program with this path, or the 'machine …' that access list shows.",
                valueName: "program"),
            completion: .file())
        var program: String?

        @Argument(help: AccessItems.help, completion: Completions.keys)
        var items: [String] = []

        @OptionGroup var place: AccessPlaceOptions
        @OptionGroup var output: OutputOptions

        func validate() throws {
            guard !all || items.isEmpty && program == nil else {
                throw ValidationError(localized: "--all forgets each decision: leave the program and the items out")
            }
            guard all || !items.isEmpty || program != nil else {
                throw ValidationError(localized: "say which decisions: name items, give --program, or --all")
            }
            guard !items.isEmpty || place.keychain == nil else {
                throw ValidationError(localized: "--keychain is where the items are looked for: name one")
            }
        }

        func run() throws {
            let access = try HostAccess()
            let references = items.isEmpty ? nil : try AccessItems.references(of: items, in: place, access)
            let count = try access.host.changeAccess(
                .reset(program: program.map { isMachine($0) ? $0 : absolutePath($0) }, references), .silent)
            // The decisions of a locked keychain stay.
            let session = try CommandKeychains(cards: false, of: access)
            _ = session.reporting(try access.host.accessDecisions(in: nil, .silent))
            guard !output.json else { return try Listing.showJSON(["forgotten": count]) }
            StandardOutput.line(
                localized: .plural(count, one: "1 decision forgotten.", other: "\(count) decisions forgotten."))
        }

        private func isMachine(_ program: String) -> Bool { program.hasPrefix(RemoteMachine.mark) }
    }
}

/// The keychain or card in which the items of a decision are looked for.
struct AccessPlaceOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp("Look for the items in this keychain alone, or on this card.", valueName: "keychain"),
        completion: Completions.keychains)
    var keychain: String?
}

/// The items that arguments name in decisions about programs.
enum AccessItems {
    static let help: ArgumentHelp = """
        The items: passwords and keys by label, account, service or server, keys of cards by their slot (9A), and either by its \
        pkcs11: URI or its reference.
        """

    /// Warns of decisions about items that nothing keeps once the host has ended.
    static func tellEnd(of items: [PersistentReference], _ access: HostAccess) {
        let known = (try? access.host.accessDecisions(in: nil, .silent).found) ?? []
        guard known.contains(where: { !$0.isLasting && $0.reference.map(items.contains) == true }) else { return }
        Warnings.show(
            "the decision ends with the host: the login keychain, which keeps those about cards, is locked or not there"
        )
    }

    /// - Throws: where a name is that of several items, or of none.
    static func references(
        of names: [String], in place: AccessPlaceOptions, _ access: HostAccess
    ) throws -> [PersistentReference] {
        let keychains = place.keychain.map { [$0] } ?? []
        let isOnCard = place.keychain.map(NamedKeychain.isIDOfCard) ?? false
        let mayBeOnCard = isOnCard || names.contains { PKCS11URI.isURI($0) || CardDrivers.isKeyName($0) }
        let session = try CommandKeychains(keychains: keychains, cards: mayBeOnCard, of: access)
        var found: [Item] = []
        for itemClass in [ItemClass.genericPassword, .internetPassword, .key] {
            let any: Attributes = [.synchronizable: Query.anySynchronizable]
            let query = try Query(itemClass, any, limit: .all)
            found += session.reporting(try session.items(matching: query)).filter(\.needsPermission)
        }
        return try names.map { try item(named: $0, among: found, in: session).reference }
    }

    private static func item(
        named name: String, among all: [Item], in session: CommandKeychains
    ) throws -> Item {
        let found: [Item]
        if let uri = try PKCS11URI(argument: name) {
            found = try ObjectURIs(session).items(all, namedBy: [uri])
        } else {
            found = all.filter { $0.isNamed(name) }
        }
        guard let item = found.first else {
            return try session.gaps.doubting {
                throw KeychainError(
                    .itemNotFound, "there is no password and no private or symmetric key '\(name)'",
                    remedy: "'tokenctl dump-keychain' and 'tokenctl find-key' list them")
            }
        }
        guard found.count == 1 else {
            let places = found.map { "\($0.reference.hexText) '\($0.anyName)'" }.joined(separator: ", ")
            throw CommandError(
                "'\(name)' names more than one item", "\(places)",
                advice: "give the reference, or choose with --keychain")
        }
        return item
    }
}

extension Item {
    fileprivate func isNamed(_ name: String) -> Bool {
        if case .token(_, let object) = reference.target, object.prefix(while: { $0 != 0 }).elementsEqual(name.utf8) {
            return true
        }
        return reference.hexText == name || [.label, .account, .service, .server].contains { self[$0]?.string == name }
    }
}
