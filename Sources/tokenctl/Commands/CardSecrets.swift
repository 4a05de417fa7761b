internal import ArgumentParser
internal import HostAPI
internal import KeychainModel
internal import Localization
internal import SecureBytes
internal import SystemCrypto

extension Card {
    struct SetManagementKey: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "set-management-key",
            abstract: "Set another management key, which is needed to write to a card.",
            discussion: """
                Without --new a random one is made. The card keeps it and gives it to whoever has the PIN, as makers' tools know it, \
                unless --output names a file for it. One of --new is not kept. The file is written first: what is in it is worth nothing where the command fails, \
                unless the card was taken out meanwhile.
                """)

        enum Cipher: String, ExpressibleByArgument, CaseIterable {
            case tripleDES = "3des"
            case aes128, aes192, aes256

            var cipher: BlockCipher {
                switch self {
                case .tripleDES: .tripleDES
                case .aes128: .aes128
                case .aes192: .aes192
                case .aes256: .aes256
                }
            }
        }

        @Option(
            name: .shortAndLong,
            help: ArgumentHelp("The cipher that it is for, instead of the best that the card has.", valueName: "cipher")
        )
        var algorithm: Cipher?

        @Option(
            name: .customLong("new"),
            help: ArgumentHelp(
                "Take the new one, in hexadecimal digits, from fd:N, file:PATH or env:NAME.", valueName: "source"))
        var newSource: String?

        @Flag(help: "Have the card want a touch for each use of it.")
        var touch = false

        @Option(
            name: [.letter("o"), .customLong("output")],
            help: ArgumentHelp(
                "Write a random one to a file, which others cannot read, and not to the card; - for standard output.",
                valueName: "file"), completion: .file())
        var file: String?

        @OptionGroup var output: OutputOptions
        @OptionGroup var administration: AdministrationOptions

        func validate() throws {
            if let newSource { SecretSource.withhold(newSource) }
            guard !isPrinted || !output.json else {
                throw ValidationError(localized: "--json and a key on standard output exclude each other; name a file")
            }
            guard newSource == nil || file == nil else {
                throw ValidationError(localized: "--output is for a random key; leave it out with --new")
            }
        }

        /// Whether the new key goes to standard output, once it counts.
        private var isPrinted: Bool { file == "-" }

        func run() throws {
            let destination = Output(path: file)
            try destination.check()
            try destination.checkIsNew()
            var value: SharedSecret?
            if let newSource {
                let source = try SecretSource(newSource, isOpen: InheritedDescriptors.contains)
                let digits = try source.ask(PromptRequest(.managementKey, subject: String(localized: "the card")))
                guard let key = Secret(managementKey: digits) else {
                    throw KeychainError(.param, CardManagementKey.form)
                }
                value = SharedSecret(key)
            }
            let card = try administration.card()
            var cipher = algorithm?.cipher
            if file != nil {
                // A key that the card has, and nobody else, would be lost with the answer of the card.
                let best =
                    try cipher ?? card.host.managementKey(of: card.identifier, .silent).ciphers.first ?? .tripleDES
                let key = SharedSecret(try RandomBytes.makeSecret(count: best.keyLength))
                if !isPrinted { try destination.write(key.secret.hexadecimal(), mode: 0o600) }
                (cipher, value) = (best, key)
            }
            try card.change(
                .setManagementKey(
                    CardManagementKey(cipher, value, touch: touch ? .always : .never, isKeptOnCard: value == nil)))
            if isPrinted, let value {
                try StandardOutput.write(value.secret.hexadecimal())
                return StandardOutput.line()
            }
            try card.report(
                value == nil
                    ? "The management key has been changed."
                    : "The management key has been changed, and the card does not keep it.", output)
        }
    }

    struct SetPINTries: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "set-pin-tries", abstract: "Set how often PIN and PUK may be tried.",
            discussion: """
                The card sets the PIN to 123456 and the PUK to 12345678 when it does that: change both right afterwards. The \
                present PIN is needed too.
                """)

        @Argument(help: "The tries of the PIN, 1 to 255.")
        var pin: Int

        @Argument(help: "The tries of the PUK, 1 to 255.")
        var puk: Int

        @OptionGroup var output: OutputOptions
        @OptionGroup var administration: AdministrationOptions

        func validate() throws {
            guard CardChange.possibleTries ~= pin, CardChange.possibleTries ~= puk else {
                throw ValidationError(localized: "numbers of tries are 1 to 255")
            }
        }

        func run() throws {
            let card = try administration.card()
            try card.change(.setTries(pin: pin, unblockingKey: puk))
            try card.report(
                "PIN and PUK have \(pin) and \(puk) tries, and are 123456 and 12345678: change them with 'card pin change' and 'card pin change --puk'.",
                output)
        }
    }

    struct Reset: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "reset", abstract: "Delete all keys, certificates and data of a card.",
            discussion: """
                PIN, PUK and management key are those of the factory afterwards. Nothing can be brought back. A card gives its \
                consent only once PIN and PUK are blocked, which is done first.
                """)

        @Option(
            help: ArgumentHelp(
                "The label of the card, as list-smartcards --table prints it, instead of typing it on the terminal.",
                valueName: "label"
            ))
        var confirm: String?

        @OptionGroup var cards: CardOptions
        @OptionGroup var output: OutputOptions
        @OptionGroup var authentication: AuthenticationOptions

        func run() throws {
            let session = try CommandKeychains(cards, files: false)
            let card = try session.onlyCard()
            let label = try confirm ?? typedLabel(of: card, session)
            guard label == card.name else {
                throw CommandError(
                    "nothing was deleted",
                    "the card in '\(card.location)' is '\(card.name)', and not '\(DisplayText.line(label))'")
            }
            do throws(KeychainError) { try session.host.erase(card.identifier, .silent) } catch {
                if error.code == .deviceReset {
                    Warnings.show("PIN and PUK may be blocked by now; run 'card reset' again to finish")
                }
                throw error
            }
            guard !output.json else { return try Listing.showJSON(["reader": card.location]) }
            StandardOutput.line(
                localized: "The card is empty. Its PIN is 123456, its PUK 12345678: 'card setup' makes it ready.")
        }

        /// The label that a person types to agree, which no key pressed by mistake is.
        private func typedLabel(of card: KeychainDescription, _ session: CommandKeychains) throws -> String {
            let question: LocalizedText =
                "PIN and PUK of '\(card.name)' are blocked first, then all its keys, certificates and data are deleted for ever. To agree, type the card's label"
            guard let label = try authentication.prompter(for: [], session.access).askForLine("\(question)") else {
                throw CommandError(
                    "nothing was deleted", "nobody can be asked", advice: "give the card's label with --confirm")
            }
            return label
        }
    }

    struct Write: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "write", abstract: "Write a data object of a card.",
            discussion: "The object's content is written as it is in the file, without the card's outer tag.")

        @Argument(help: "The object's name, as 'card read --list' has it, or its tag, such as 0x5FC102.")
        var name: String

        @Argument(help: "The file with the content; - for standard input.", completion: .file())
        var file: String?

        @Flag(help: "Remove the object.")
        var delete = false

        @OptionGroup var output: OutputOptions
        @OptionGroup var administration: AdministrationOptions

        func validate() throws {
            guard (file == nil) == delete else { throw ValidationError(localized: "give either the file or --delete") }
        }

        func run() throws {
            let content = try file.map { try Input($0).whole(limit: 1 << 16) }
            let card = try administration.card()
            try card.change(.setData(DataObjectTag.name(name) ?? name.lowercased(), content))
            try card.report(content == nil ? "The object is removed." : "The object is written.", output)
        }
    }
}
