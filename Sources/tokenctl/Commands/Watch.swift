internal import KeychainModel
internal import ArgumentParser
internal import Glibc
internal import KeychainHost
internal import TokenKit

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
        let process = try HostAccess().process
        ReaderMonitor().run { event in
            let event = Watch.event(event, process)
            let parts = [event.event, event.reader.map { "'\($0)'" }, event.token, event.label, event.reason]
            // A closed pipe ends the watch.
            do { try Listing.show(event, parts, json: output.json) } catch { Glibc.exit(0) }
        }
    }

    private static func event(_ event: ReaderEvent, _ process: ProcessKeychains) -> Event {
        switch event {
        case .readerAdded(let reader): Event(event: "reader-added", reader: reader)
        case .readerRemoved(let reader): Event(event: "reader-removed", reader: reader)
        case .cardInserted(let reader, _): inserted(process.slot(of: PCSCReader(name: reader)))
        case .cardMute(let reader): Event(event: "card-mute", reader: reader)
        case .cardRemoved(let reader): Event(event: "card-removed", reader: reader)
        case .serviceUnavailable(let error): Event(event: "service-unavailable", reason: error.reason)
        case .serviceAvailable: Event(event: "service-available")
        }
    }

    private static func inserted(_ slot: TokenSlot) -> Event {
        defer { slot.disconnect(resetting: false) }
        do throws(KeychainError) {
            let identity = try TokenKeychain(slot).identity()
            return Event(
                event: "card-inserted", reader: slot.name, token: identity?.id.description, label: identity?.label,
                reason: identity == nil ? "no driver knows it" : nil)
        } catch {
            return Event(event: "card-inserted", reader: slot.name, reason: error.description)
        }
    }
}
