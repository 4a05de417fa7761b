internal import ArgumentParser
internal import CryptokiNames
internal import HostAPI
internal import KeychainModel
internal import Localization
internal import SecureBytes

extension Card {
    struct Read: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "read",
            abstract: "Read a data object of a card.",
            discussion: """
                What the object says is printed line by line, or in hexadecimal digits where nothing here takes it apart. \
                Objects that want the PIN ask for it.
                """)

        @Argument(help: "The object's name, as --list has it, its tag, such as 0x5FC102, or its pkcs11: URI.")
        var name: String?

        @Flag(help: "List the objects there can be; no card is needed for it.")
        var list = false

        @Flag(help: "Print the object in hexadecimal digits.")
        var hex = false

        @Option(
            name: [.letter("o"), .customLong("output")],
            help: ArgumentHelp("Write the object's bytes to a file; - for standard output.", valueName: "file"),
            completion: .file())
        var file: String?

        @OptionGroup var cards: CardOptions
        @OptionGroup var output: OutputOptions
        @OptionGroup var authentication: AuthenticationOptions

        struct ContainerRow: Row {
            static let columns: [LocalizedKey] = ["NAME", "TAG", "PIN", "OBJECT"]
            let name: String
            let tag: String
            let needsPIN: Bool
            let title: String
            var cells: [String] { [name, tag, Word.shown(needsPIN ? "yes" : "no"), title] }

            init(_ object: CardDataObject) {
                name = object.name
                tag = object.tag ?? ""
                needsPIN = object.needsPIN
                title = object.label
            }
        }

        private struct Content: Encodable {
            let name: String
            let title: String
            let tag: String
            let content: String
            let facts: [String: CardFact.Plain]
        }

        func validate() throws {
            guard list != (name != nil) else {
                throw ValidationError(localized: "give the name of a data object, or --list for the names")
            }
            guard !hex || file == nil else {
                throw ValidationError(localized: "--hex prints the object, and -o writes its bytes: choose one of them")
            }
            guard list else { return }
            guard !hex, file == nil else {
                throw ValidationError(localized: "--list reads no object: leave out --hex and -o")
            }
            try cards.refuse("--list asks no card: leave out the options for cards")
        }

        func run() throws {
            let access = try HostAccess(cards)
            let objects = try access.host.drivers(.silent).flatMap(\.dataObjects)
            guard let name else { return try Listing.show(objects.map(ContainerRow.init), json: output.json) }
            let uri = try PKCS11URI(argument: name)
            let known = Read.object(named: name, uri, of: objects)
            guard let object = known?.name ?? DataObjectTag.name(name) else {
                throw CommandError(
                    "there is no data object '\(uri?.description ?? name)'",
                    advice: "'tokenctl card read --list' names them, and a tag such as 0x5FC102 reads any other")
            }
            let session = try CommandKeychains(
                cards, keychains: uri == nil ? [] : [name], files: false, of: access)
            let content = try content(
                of: object, needsPIN: known?.needsPIN ?? false, on: session.onlyCard().identifier, access)
            let facts: [CardFact]
            do throws(KeychainError) { facts = try content.facts.get() } catch {
                guard hex || file != nil else { throw error }
                facts = []
            }
            try show(content.bytes.secret, content.object, facts)
        }

        private func content(
            of object: String, needsPIN: Bool, on card: KeychainIdentifier, _ access: HostAccess
        ) throws -> CardDataContent {
            if !needsPIN {
                do throws(KeychainError) { return try access.host.dataObject(object, of: card, .silent) } catch {
                    // Some cards want the PIN for more than their specification says.
                    guard error.code == .interactionNotAllowed else { throw error }
                }
            }
            let host = try authentication.host(access, for: [cards.reader].compactMap { $0 })
            return try host.dataObject(object, of: card, authentication.request)
        }

        /// The object with the name, or with a URI's label, which is its title in the PKCS#11 module.
        private static func object(
            named name: String, _ uri: PKCS11URI?, of objects: [CardDataObject]
        ) -> CardDataObject? {
            guard let uri else {
                let name = name.lowercased()
                return objects.first { $0.name == name || $0.tag.map { "0x" + $0.lowercased() } == name }
            }
            guard let label = uri.object.label, [nil, .data].contains(uri.object.kind) else { return nil }
            return objects.first { label == PKCS11URI.Text($0.label) }
        }

        private func show(_ content: borrowing Secret, _ object: CardDataObject, _ facts: [CardFact]) throws {
            if let file, !(output.json && file == "-") {
                try Output(path: file).write(content, mode: 0o600)
                guard output.json else { return }
            }
            let digits = Hex.encode(content.copied())
            if hex, !output.json { return StandardOutput.line(digits) }
            if output.json {
                return try Listing.showJSON(
                    Content(
                        name: object.name, title: object.label, tag: object.tag ?? "",
                        content: digits, facts: Listing.dictionary(facts)))
            }
            facts.isEmpty ? StandardOutput.line(digits) : Listing.show(facts)
        }
    }
}

/// The way in which people give the tag of a data object.
enum DataObjectTag {
    /// The name that drivers have for the object of a tag; nil for what is no tag.
    static func name(_ text: String) -> String? {
        let text = text.lowercased()
        return text.hasPrefix("0x") && Hex.decode(text.dropFirst(2)) != nil ? text : nil
    }
}
