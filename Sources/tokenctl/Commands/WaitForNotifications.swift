internal import Localization
internal import Platform
internal import HostAPI
internal import KeychainModel
internal import ArgumentParser
internal import SecureBytes

struct WaitForNotifications: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "wait-for-notifications",
        abstract: "Print what happens to keychains, whoever does it.",
        discussion: """
            Items that are added, changed or deleted, keychains that are locked or unlocked, other passwords, a new search \
            list or default, cards, and PINs that were blocked. Ends with the interrupt key.
            """)

    @OptionGroup var output: OutputOptions

    struct Line: Encodable {
        let event: String
        var keychain: String?
        var location: String?
        var itemClass: String?
        var item: String?
        var process: Int32?

        enum CodingKeys: String, CodingKey {
            case event, keychain, location, item, process
            case itemClass = "class"
        }
    }

    func run() throws {
        try EventListing.show(on: HostAccess().host) { try show(WaitForNotifications.line($0)) }
    }

    private func show(_ line: Line) throws {
        let item = line.itemClass.map { "\($0) \(line.item ?? "")" }
        let location = line.location.map { Directories.own.abbreviated($0) }
        try Listing.show(
            line, [line.event, location, item, line.process.map { String(localized: "process \($0)") }],
            json: output.json)
    }

    private static func line(_ event: KeychainEvent) -> Line {
        Line(
            event: event.kind.name, keychain: event.keychain?.rawValue, location: event.location,
            itemClass: event.item?.itemClass.rawValue, item: event.item.map { $0.hexText },
            process: event.process)
    }
}
