internal import CryptokiNames
internal import HostAPI
internal import KeychainModel
internal import ArgumentParser
internal import Localization
internal import SecureBytes

struct ListSmartcards: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list-smartcards", abstract: "List the cards that are inserted.")

    @OptionGroup var cards: CardOptions
    @OptionGroup var output: ListingOptions

    struct CardRow: Row {
        static let columns: [LocalizedKey] = ["TOKEN", "LABEL", "MODEL", "READER", "ALSO IN", "DANGER"]
        static let optionalColumns: Set = ["ALSO IN", "DANGER"]
        let token: String
        let label: String
        let model: String?
        let serialNumber: String?
        let version: String?
        let reader: String
        /// Modules that the card can be used through as well.
        let otherLocations: [String]?
        /// The secrets that are still the factory's; nil for none.
        let factorySecrets: [String]?
        let uri: String
        var cells: [String] {
            let modelAndVersion = [model, version].compactMap { $0 }.joined(separator: " ")
            let danger =
                factorySecrets.map { String(localized: "the factory's \($0.map(Word.shown).joined(separator: ", "))") }
                ?? ""
            return [token, label, modelAndVersion, reader, (otherLocations ?? []).joined(separator: ", "), danger]
        }
    }

    func run() throws {
        let session = try CommandKeychains(cards, files: false)
        let result = try session.foundTokens()
        let modules = output.isListing ? try session.host.modules(.silent) : []
        let rows = result.found.map { card in
            // The other forms of the list are for programs that want a name, quickly.
            let secrets =
                output.isListing && card.token?.module == nil
                ? session.host.factorySecrets(of: card.identifier) : []
            return CardRow(card, otherLocations: modules.filter { $0.shows(card) }.map(\.name), secrets)
        }
        let missing = result.missing
        // If the list is empty, the command fails with the error of the first card's gap, or else of the first gap.
        let failure = rows.isEmpty ? missing.first { $0.place == .card } ?? missing.first : nil
        session.gaps.tell(missing, isFailure: failure != nil)
        if rows.isEmpty, failure == nil, !output.json { Warnings.show("no card that can be used is inserted") }
        if output.uris {
            rows.forEach { StandardOutput.line($0.uri) }
        } else if output.isListing {
            try Listing.show(rows, json: output.json)
        } else {
            rows.forEach { StandardOutput.line($0.token) }
        }
        if let failure { throw ExitCode(CommandLineInterpreter.status(of: failure.error.code)) }
        try session.gaps.end()
    }
}

extension ModuleDescription {
    /// Whether a card that is read without the module can be used through it as well.
    fileprivate func shows(_ card: KeychainDescription) -> Bool {
        guard case .used(_, let readers) = state else { return false }
        return readers.contains(card.location)
    }
}

extension ListSmartcards.CardRow {
    init(_ card: KeychainDescription, otherLocations: [String] = [], _ secrets: FactorySecrets = []) {
        self.init(
            token: card.identifier.rawValue, label: card.name, model: card.token?.model,
            serialNumber: card.token?.serialNumber, version: card.token?.version, reader: card.location,
            otherLocations: otherLocations.isEmpty ? nil : otherLocations,
            factorySecrets: secrets.isEmpty ? nil : secrets.names, uri: PKCS11URI(of: card).description)
    }
}

struct Card: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "card",
        abstract: "Show a card, make it ready, and manage its PIN, keys, certificates and data.",
        subcommands: [
            Info.self, Setup.self, Pin.self, Generate.self, Import.self, Request.self, SelfSign.self,
            PutCertificate.self,
            Renew.self, Move.self, Delete.self, Attest.self, VerifyAttestation.self, SetManagementKey.self,
            SetPINTries.self,
            Read.self, Write.self, Reset.self,
        ])
}
