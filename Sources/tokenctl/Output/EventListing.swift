internal import Glibc
internal import HostAPI
internal import KeychainModel
internal import Localization

/// The events of a host, printed as they happen.
enum EventListing {
    /// Shows events until the command is interrupted, or its output is closed.
    static func show(
        of topic: EventTopic = .keychains, on host: any KeychainService, _ show: (KeychainEvent) throws -> Void
    ) throws -> Never {
        var position: EventPosition?
        while true {
            let page = try host.events(of: topic, after: position, waiting: .seconds(3600), .silent)
            position = page.next
            if page.isIncomplete { Warnings.show("warning: events have been missed: they came too fast") }
            for event in page.events {
                do { try show(event) } catch { Glibc.exit(0) }
            }
        }
    }
}
