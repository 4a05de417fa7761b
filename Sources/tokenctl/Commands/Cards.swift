internal import CryptokiNames
internal import KeychainModel
internal import ArgumentParser
internal import KeychainHost
internal import PKCS11Driver
internal import SecureBytes
internal import TokenKit

struct ListSmartcards: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "list-smartcards", abstract: "List the cards that are inserted.")

    @OptionGroup var cards: CardOptions
    @OptionGroup var output: ListingOptions

    struct CardRow: Row {
        static let columns = ["TOKEN", "LABEL", "MODEL", "READER", "ALSO IN"]
        static let hasOptionalColumn = true
        let token: String
        let label: String
        let model: String?
        let serialNumber: String?
        let version: String?
        let reader: String
        /// Modules that the card can be used through as well.
        let otherLocations: [String]?
        let uri: String
        var cells: [String] {
            let modelAndVersion = [model, version].compactMap { $0 }.joined(separator: " ")
            return [token, label, modelAndVersion, reader, (otherLocations ?? []).joined(separator: ", ")]
        }
    }

    func run() throws {
        let session = try CommandKeychains(cards, locals: false)
        let result = session.eachToken { token, identity in
            let others = output.isListing ? session.namesOfModules(thatShow: token) : []
            return CardRow(identity, reader: token.name, otherLocations: others)
        }
        let (rows, missing) = (result.found, session.missing + result.missing)
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

extension ListSmartcards.CardRow {
    init(_ identity: TokenIdentity, reader: String, otherLocations: [String] = []) {
        self.init(
            token: identity.id.description, label: identity.label, model: identity.model,
            serialNumber: identity.serialNumber, version: identity.version, reader: reader,
            otherLocations: otherLocations.isEmpty ? nil : otherLocations,
            uri: PKCS11URI(of: PKCS11URI.Token(identity)).description)
    }
}

struct Card: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "card",
        abstract: "Show a card, read its data objects, and manage its PIN.",
        subcommands: [Info.self, Read.self, Pin.self])
}
