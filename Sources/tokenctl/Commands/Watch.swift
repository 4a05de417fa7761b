internal import ArgumentParser
internal import HostAPI
internal import KeychainModel

struct Watch: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "watch",
        abstract: "Print insertions and removals of cards and readers as they happen.",
        discussion: "What is there already comes first. Ends with the interrupt key.")

    @OptionGroup var output: OutputOptions

    struct Event: Encodable {
        let event: String
        var reader: String?
        var token: String?
        var label: String?
        var reason: String?
    }

    func run() throws {
        try EventListing.show(of: .readers, on: HostAccess().host) { event in
            let event = Watch.event(event)
            let parts = [event.event, event.reader.map { "'\($0)'" }, event.token, event.label, event.reason]
            try Listing.show(event, parts, json: output.json)
        }
    }

    private static func event(_ event: KeychainEvent) -> Event {
        let name =
            switch event.kind {
            case .tokenInserted: "card-inserted"
            case .tokenRemoved: "card-removed"
            default: event.kind.name
            }
        return Event(
            event: name, reader: event.location, token: event.keychain?.rawValue, label: event.label,
            reason: event.reason)
    }
}
