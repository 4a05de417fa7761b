internal import ArgumentParser
internal import HostAPI
internal import KeychainModel
internal import Localization
internal import SecureBytes
internal import SystemCrypto

extension Card {
    struct VerifyAttestation: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "verify-attestation", abstract: "Verify a card's statement that it has made a key itself.",
            discussion: """
                The files have the certificate of the key and then that of the card, as 'card attest' prints them. The first must be \
                signed by the second, and that by a root, which the maker of the card publishes, or be a root itself. No card is needed, \
                except for --slot.
                """)

        @Argument(help: "The files with the two certificates, PEM or DER; - for standard input.", completion: .file())
        var files: [String] = []

        @Option(
            help: ArgumentHelp("Ask the inserted card about the key in a slot, instead of a file.", valueName: "slot"))
        var slot: SlotArgument?

        @Option(
            name: .customLong("root"),
            help: ArgumentHelp(
                "A file with certificates of makers that are trusted; for each file.", valueName: "file"),
            completion: .file())
        var roots: [String]

        @Option(
            help: ArgumentHelp(
                "A file with a certificate, a request for one, or a public key: it must be the key of the statement.",
                valueName: "file"), completion: .file())
        var key: String?

        @OptionGroup var output: OutputOptions
        @OptionGroup var cards: CardOptions

        private struct Report: Encodable {
            /// The key's kind and size.
            let key: String
            /// The key in PEM.
            let publicKey: String
            let slot: String
            /// Nil for the slot's own rule.
            let pinPolicy: String?
            /// Nil where the card does not tell.
            let touchPolicy: String?
            let facts: [String: CardFact.Plain]
        }

        func validate() throws {
            guard files.isEmpty != (slot == nil) else {
                throw ValidationError(localized: "give either the files with the statement or --slot")
            }
            if slot == nil { try cards.refuse("a file asks no card: leave out the options for cards") }
        }

        func run() throws {
            let roots = try roots.flatMap { try CertificateFile.read($0) }
            let expected = try key.map { try PublicKeyFile.read($0) }
            let access = try HostAccess(cards)
            let attestation = try access.host.verifyAttestation(statement(access), roots: roots, .silent)
            if let key, expected != attestation.publicKey {
                throw KeychainError(
                    .verifyFailed, "the statement is about another key than that in '\(DisplayText.line(key))'")
            }
            let kind = try PublicKey(spki: attestation.publicKey).kind.description
            guard output.json else {
                var facts = [CardFact("Key", kind), CardFact("Slot", attestation.slot)]
                facts.append(
                    CardFact(
                        "PIN",
                        attestation.pinPolicy.map { Word.shown($0.name) } ?? String(localized: "as the slot has it")))
                if let touch = attestation.touchPolicy.name { facts.append(CardFact("Touch", Word.shown(touch))) }
                Listing.show(facts + attestation.facts)
                return StandardOutput.line(localized: "The card has made the key itself.")
            }
            try Listing.showJSON(
                Report(
                    key: kind, publicKey: PEM.encode(attestation.publicKey, label: "PUBLIC KEY"),
                    slot: attestation.slot,
                    pinPolicy: attestation.pinPolicy?.name, touchPolicy: attestation.touchPolicy.name,
                    facts: Listing.dictionary(attestation.facts)))
        }

        private func statement(_ access: HostAccess) throws -> [Certificate] {
            guard let slot else { return try files.flatMap { try CertificateFile.read($0) } }
            let card = try CommandKeychains(cards, files: false, of: access).onlyCard().identifier
            return try access.host.attestation(of: slot.name, on: card, .silent).map { try Certificate(der: $0) }
        }
    }
}
