internal import ArgumentParser
internal import HostAPI
internal import KeychainModel
internal import Localization
internal import SecureBytes
internal import SystemCrypto

extension Card {
    struct Generate: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "generate", abstract: "Make a key pair on a card.",
            discussion: """
                The private key never leaves the card. Its public half is printed as PEM. A certificate for it is made by \
                'card self-sign', or by an authority for a request of 'card request', and put beside it by 'card put-certificate'.
                """)

        @Argument(help: "The slot, such as 9A.")
        var slot: SlotArgument

        @Option(name: .shortAndLong, help: ArgumentHelp("The kind of key.", valueName: "kind"))
        var algorithm: CardKeyKind = .p256

        @OptionGroup var weakness: WeakKeyOptions
        @OptionGroup var key: NewKeyOptions
        @OptionGroup var destination: DestinationOptions
        @OptionGroup var administration: AdministrationOptions

        func run() throws {
            try Output(path: destination.path).check()
            let card = try administration.card()
            let key = try card.newKey(
                .generateKey(
                    slot: slot.name, algorithm.kind, key.policies, replacing: key.replacement.replacing,
                    allowsWeak: weakness.allowWeakKey))
            try destination.write(
                Array(PEM.encode(key.spki, label: "PUBLIC KEY").utf8), as: .text("publicKey", orElse: "data"),
                ["slot": slot.name, "token": card.identifier.rawValue])
        }
    }

    struct Import: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "import", abstract: "Put a private key, and its certificate, into a card.",
            discussion: """
                The key is in a file: PEM or DER of PKCS#8, PKCS#1, SEC 1 or OpenSSH, or PKCS#12, encrypted or not. Certificates in the \
                same file come along. With -c it is in a keychain, which keeps it.
                """)

        @Argument(help: "The slot, such as 9D.")
        var slot: SlotArgument

        @Argument(help: "The file with the key; - for standard input.", completion: .file())
        var file: String?

        @Option(
            name: .letter("c"),
            help: ArgumentHelp(
                "Take the key of a keychain whose label, or whose certificate's common name, contains this.",
                valueName: "name"))
        var name: String?

        @Option(
            name: .letter("k"),
            help: ArgumentHelp("The keychain with it, instead of all keychains.", valueName: "keychain"),
            completion: Completions.keychains)
        var keychain: String?

        @OptionGroup var weakness: WeakRSAKeyOptions
        @OptionGroup var key: NewKeyOptions
        @OptionGroup var output: OutputOptions
        @OptionGroup var administration: AdministrationOptions

        private struct Outcome: Encodable {
            let slot: String
            let token: String
            let hasCertificate: Bool
        }

        func validate() throws {
            guard (file == nil) != (name == nil) else { throw ValidationError(localized: "give either the file or -c") }
            guard keychain == nil || name != nil else { throw ValidationError(localized: "-k is for -c") }
        }

        func run() throws {
            var card = try administration.card()
            let (content, source) = try content(card)
            var request = ImportRequest(content, named: source)
            (request.passphrase, request.refusesSeveralKeys) = (.asked, true)
            let found = try card.host.importFile(request, administration.authentication.request).content
            guard case .objects(let certificates, _, let keys) = found, let key = keys.first else {
                throw KeychainError(.itemNotFound, "there is no private key in '\(DisplayText.line(source))'")
            }
            card = try card.identified()
            let publicKey = try card.newKey(
                .importKey(
                    slot: slot.name, key, self.key.policies, replacing: self.key.replacement.replacing,
                    allowsWeak: weakness.allowWeakKey))
            let certificate = certificates.first { $0.spki == publicKey.spki }
            if let certificate {
                try card.change(
                    .setCertificate(slot: slot.name, certificate.der, allowsWeak: weakness.allowWeakKey))
            }
            guard !output.json else {
                return try Listing.showJSON(
                    Outcome(
                        slot: slot.name, token: card.identifier.rawValue, hasCertificate: certificate != nil))
            }
            StandardOutput.line(
                localized: certificate == nil
                    ? "The key is in slot \(slot.name)." : "The key and its certificate are in slot \(slot.name).")
        }

        /// The content of the file, or the key and certificate of a keychain in the form of one, and the name of either.
        private func content(_ card: AdministeredCard) throws -> (content: SharedSecret, source: String) {
            guard let name else {
                let input = try Input(file ?? "-")
                var bytes = try input.whole(limit: ImportRequest.maximumLength)
                return (SharedSecret(Secret(consuming: &bytes)), input.name)
            }
            var request = ExportRequest(try objects(named: name), as: .pemSequence)
            request.subject = String(localized: "the key for the card")
            return (try card.host.exportFile(request, administration.authentication.request), name)
        }

        /// The only private key in a file that a name is for, and its certificate.
        private func objects(named name: String) throws -> [ExportRequest.Object] {
            let session = try CommandKeychains(administration.cards, keychains: keychain.map { [$0] } ?? [])
            let identities = try session.reporting(
                session.identities(matching: Query.all(.identity, commonName: name))
            ).filter { !$0.key.isOnToken }
            let keys = try session.reporting(session.items(matching: Query(.key, limit: .all))).filter { key in
                key.isPrivateKey && !key.isOnToken && !identities.contains { $0.key.reference == key.reference }
                    && key.label?.lowercased().contains(name.lowercased()) == true
            }
            guard identities.count + keys.count <= 1 else {
                throw CommandError(
                    "several keys match '\(DisplayText.line(name))'",
                    advice: "give more of the name, or the keychain with -k")
            }
            if let identity = identities.first {
                return [
                    .certificate(try identity.parsedCertificate()), .privateKey(try Export.key(identity.key)),
                ]
            }
            guard let key = keys.first else {
                throw KeychainError(.itemNotFound, "no private key in a keychain matches '\(DisplayText.line(name))'")
            }
            return [.privateKey(try Export.key(key))]
        }
    }

    struct Move: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "move", abstract: "Move a key and its certificate to an empty slot.",
            discussion:
                "A key that decrypts is kept for what was encrypted for it by moving it to a retired slot, 82 to 95.")

        @Argument(help: "The slot with the key.")
        var slot: SlotArgument

        @Argument(help: "The empty slot.")
        var target: SlotArgument

        @OptionGroup var output: OutputOptions
        @OptionGroup var administration: AdministrationOptions

        func run() throws {
            let card = try administration.card()
            try card.change(.moveKey(slot: slot.name, to: target.name))
            try card.report("The key of slot \(slot.name) is in slot \(target.name) now.", of: slot, output)
        }
    }

    struct Delete: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "delete", abstract: "Delete a key and its certificate.",
            discussion: "A person at a terminal is asked first; --replace agrees without a question.")

        @Argument(help: "The slot, such as 9A.")
        var slot: SlotArgument

        @OptionGroup var replacement: ReplacementOptions
        @OptionGroup var output: OutputOptions
        @OptionGroup var administration: AdministrationOptions

        func run() throws {
            let card = try administration.card()
            var consent = replacement.replacing
            if consent == .none, card.canConfirm {
                guard
                    try card.confirm(
                        "The key and the certificate of slot \(slot.name) are deleted for ever. Delete them?")
                else { throw KeychainError(.userCanceled, "nothing was changed") }
                consent = .ordinary
            }
            try card.change(.deleteKey(slot: slot.name, replacing: consent))
            try card.report("Slot \(slot.name) is empty.", of: slot, output)
        }
    }

    struct Attest: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "attest", abstract: "Print a card's statement that it has made a key itself.",
            discussion: """
                The statement is a certificate of the key, which tells its policies of PIN and touch, in PEM. The card's own \
                certificate, which signed it, follows. Makers of cards publish the root for both.
                """)

        @Argument(help: "The slot, such as 9A.")
        var slot: SlotArgument

        @OptionGroup var destination: DestinationOptions
        @OptionGroup var cards: CardOptions

        func run() throws {
            let session = try CommandKeychains(cards, files: false)
            let card = try session.onlyCard().identifier
            let chain = try session.host.attestation(of: slot.name, on: card, .silent)
            let text = chain.map { PEM.encode($0, label: "CERTIFICATE") }.joined()
            try destination.write(Array(text.utf8), as: .text("attestation", orElse: "data"))
        }
    }
}
