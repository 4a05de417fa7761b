internal import ArgumentParser
internal import Glibc
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
        let host = try HostAccess().host
        var position: EventPosition?
        while true {
            let page = try host.events(of: .readers, after: position, waiting: .seconds(3600), .silent)
            position = page.next
            if page.isIncomplete { Warnings.show("warning: events have been missed: they came too fast") }
            for event in page.events.map(Watch.event) {
                let parts = [event.event, event.reader.map { "'\($0)'" }, event.token, event.label, event.reason]
                // A closed pipe ends the watch.
                do { try Listing.show(event, parts, json: output.json) } catch { Glibc.exit(0) }
            }
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
