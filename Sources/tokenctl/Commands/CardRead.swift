internal import CryptokiNames
internal import KeychainModel
internal import ArgumentParser
internal import KeychainHost
internal import PKCS11Driver
internal import SecureBytes
internal import TokenKit

extension Card {
    struct Read: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "read",
            abstract: "Read a data object of a card.",
            discussion: """
                What the object says is printed line by line, or in hexadecimal digits where nothing here takes it apart. \
                Objects that want the PIN ask for it.
                """)

        @Argument(help: "The object's name, as --list has it, or its pkcs11: URI.")
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
            static let columns = ["NAME", "TAG", "PIN", "OBJECT"]
            let name: String
            let tag: String
            let needsPIN: Bool
            let title: String
            var cells: [String] { [name, tag, needsPIN ? "yes" : "no", title] }

            init(_ object: TokenDataObject) {
                name = object.id.rawValue
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
            let facts: [String: TokenFact.Plain]
        }

        func validate() throws {
            guard list != (name != nil) else {
                throw ValidationError("give the name of a data object, or --list for the names")
            }
            guard !hex || file == nil else {
                throw ValidationError("--hex prints the object, and -o writes its bytes: choose one of them")
            }
            guard list else { return }
            guard !hex, file == nil else { throw ValidationError("--list reads no object: leave out --hex and -o") }
            try cards.refuse("--list asks no card: leave out the options for cards")
        }

        func run() throws {
            guard let name else {
                let objects = CardDrivers.all.flatMap(\.dataObjects)
                return try Listing.show(objects.map(ContainerRow.init), json: output.json)
            }
            let uri = try PKCS11URI(argument: name)
            guard let (driver, object) = Read.object(named: name, uri) else {
                throw CommandError(
                    "there is no data object '\(uri?.description ?? name)'",
                    advice: "'tokenctl card read --list' names them")
            }
            let token = try CommandKeychains(cards, keychains: uri == nil ? [] : [name], locals: false).onlyCard()
            guard let content = try content(of: object, on: token) else {
                throw KeychainError(.itemNotFound, "the card has no \(object.label)")
            }
            let facts: [TokenFact]
            do throws(TokenError) { facts = try driver.facts(of: object.id, content: content) } catch {
                guard hex || file != nil else { throw KeychainError(error) }
                facts = []
            }
            try show(content, object, facts)
        }

        /// The object with the name, or with a URI's label, which is its title in the PKCS#11 module, and its driver.
        private static func object(
            named name: String, _ uri: PKCS11URI?
        ) -> (driver: any TokenDriver, object: TokenDataObject)? {
            let isMeant: (TokenDataObject) -> Bool
            if let uri {
                guard let label = uri.object.label, [nil, .data].contains(uri.object.kind) else { return nil }
                isMeant = { label == PKCS11URI.Text($0.label) }
            } else {
                isMeant = { $0.id.rawValue == name.lowercased() }
            }
            return CardDrivers.all.lazy.compactMap { driver in
                driver.dataObjects.first(where: isMeant).map { (driver, $0) }
            }.first
        }

        private func content(of object: TokenDataObject, on token: TokenKeychain) throws -> [UInt8]? {
            do throws(KeychainError) {
                // Before the PIN is presented, some cards say that an object which needs it is absent.
                if let content = try token.content(of: object.id) { return content }
                guard object.needsPIN else { return nil }
            } catch {
                guard error.code == .notLoggedIn else { throw error }
            }
            try token.verifyPIN(
                use: "read the \(object.label)", authentication: authentication.context(for: cards.reader))
            return try token.content(of: object.id)
        }

        private func show(_ content: [UInt8], _ object: TokenDataObject, _ facts: [TokenFact]) throws {
            if let file, !(output.json && file == "-") {
                try Output(path: file).write(content, mode: 0o600)
                guard output.json else { return }
            }
            if hex, !output.json { return StandardOutput.line(Hex.encode(content)) }
            if output.json {
                return try Listing.showJSON(
                    Content(
                        name: object.id.rawValue, title: object.label, tag: object.tag ?? "",
                        content: Hex.encode(content), facts: Listing.dictionary(facts)))
            }
            facts.isEmpty ? StandardOutput.line(Hex.encode(content)) : Listing.show(facts)
        }
    }
}
