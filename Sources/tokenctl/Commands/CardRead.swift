internal import ArgumentParser
internal import KeychainHost
internal import PIVDriver
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

            init(_ container: PIVContainer) {
                name = container.name
                tag = container.tag.description
                needsPIN = container.readRule == .pin
                title = container.title
            }
        }

        private struct Content: Encodable {
            let name: String
            let title: String
            let tag: String
            let content: String
            let facts: [String: String]
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
            guard let name else { return try Listing.show(PIVContainer.all.map(ContainerRow.init), json: output.json) }
            let uri = try PKCS11URI(argument: name)
            guard let container = Read.container(named: name, uri) else {
                throw CommandError(
                    "there is no data object '\(uri?.description ?? name)'",
                    advice: "'tokenctl card read --list' names them")
            }
            let token = try Session(cards, keychains: uri == nil ? [] : [name], locals: false).onlyCard()
            guard let content = try content(of: container, on: token) else {
                throw KeychainError(.itemNotFound, "the card has no \(container.title)")
            }
            try show(content, container)
        }

        /// The object by its name, or by the title that the PKCS#11 module gives it for a label.
        private static func container(named name: String, _ uri: PKCS11URI?) -> PIVContainer? {
            guard let uri else { return PIVContainer.named(name.lowercased()) }
            guard let label = uri.object.label, [nil, .data].contains(uri.object.kind) else { return nil }
            return PIVContainer.all.first { label == PKCS11URI.Text($0.title) }
        }

        private func content(of container: PIVContainer, on token: TokenKeychain) throws -> [UInt8]? {
            do throws(TokenError) {
                // Some cards deny before the PIN that they have an object which wants it.
                if let content = try token.read(container) { return content }
                guard container.readRule == .pin else { return nil }
            } catch  where error.code == .pinRequired {
            } catch {
                throw KeychainError(error)
            }
            try token.verifyPIN(
                use: "read the \(container.title)", authentication: authentication.context(for: cards.reader))
            do throws(TokenError) { return try token.read(container) } catch { throw KeychainError(error) }
        }

        private func show(_ content: [UInt8], _ container: PIVContainer) throws {
            if let file, !(output.json && file == "-") {
                try Output(path: file).write(content, mode: 0o600)
                guard output.json else { return }
            }
            if hex, !output.json { return StandardOutput.line(Hex.encode(content)) }
            let facts = try container.facts(of: content)
            if output.json {
                return try Listing.showJSON(
                    Content(
                        name: container.name, title: container.title, tag: container.tag.description,
                        content: Hex.encode(content), facts: Listing.dictionary(facts)))
            }
            facts.isEmpty ? StandardOutput.line(Hex.encode(content)) : Listing.show(facts)
        }
    }
}

extension TokenKeychain {
    /// Reads a data object of the PIV card in the reader.
    fileprivate func read(_ container: PIVContainer) throws(TokenError) -> [UInt8]? {
        try slot.read { (token, card, _) throws(TokenError) in
            guard var piv = token as? PIVToken else {
                throw TokenError(.unsupported, "the card in '\(name)' is not a PIV card")
            }
            defer { token = piv }
            return try piv.read(container, &card)
        }
    }
}
