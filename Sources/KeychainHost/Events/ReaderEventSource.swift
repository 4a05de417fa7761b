internal import HostAPI
internal import KeychainModel
internal import TokenKit

/// A source of events.
protocol EventSource: Sendable {
    /// Reports events, on the calling thread, until ``cancel()``. Only one thread may do so.
    func run(_ report: (KeychainEvent) -> Void)

    /// Ends the reports. It may be called from any thread and more than once.
    func cancel()
}

extension KeychainWatch: EventSource {}

/// Watches readers and the cards in them. No keychain file is looked at.
final class ReaderEventSource: EventSource {
    private let monitor = ReaderMonitor()
    private let watch: Host.ReaderWatch
    private let slot: @Sendable (_ reader: String) -> TokenSlot

    /// - Parameters:
    ///   - watch: reports the events of readers until its monitor is cancelled.
    ///   - slot: makes the slot of a reader, with the drivers that know cards.
    init(_ watch: @escaping Host.ReaderWatch, slot: @escaping @Sendable (_ reader: String) -> TokenSlot) {
        self.watch = watch
        self.slot = slot
    }

    func run(_ report: (KeychainEvent) -> Void) { watch(monitor) { report(self.event($0)) } }

    func cancel() { monitor.cancel() }

    private func event(_ event: ReaderEvent) -> KeychainEvent {
        switch event {
        case .readerAdded(let reader): KeychainEvent(.readerAdded, location: reader)
        case .readerRemoved(let reader): KeychainEvent(.readerRemoved, location: reader)
        case .cardInserted(let reader, _): insertion(in: reader)
        case .cardMute(let reader): KeychainEvent(.cardMute, location: reader)
        case .cardRemoved(let reader): KeychainEvent(.tokenRemoved, location: reader)
        case .serviceUnavailable(let error): KeychainEvent(.serviceUnavailable, reason: error.reason)
        case .serviceAvailable: KeychainEvent(.serviceAvailable)
        }
    }

    /// The event of a card, which is released again.
    private func insertion(in reader: String) -> KeychainEvent {
        let slot = slot(reader)
        defer { slot.disconnect(resetting: false) }
        do throws(KeychainError) {
            guard let identity = try TokenKeychain(slot).identity() else {
                return KeychainEvent(.tokenInserted, location: reader, reason: "no driver knows it")
            }
            return KeychainEvent(
                .tokenInserted, keychain: KeychainIdentifier(rawValue: identity.id.description), location: reader,
                label: identity.label)
        } catch {
            return KeychainEvent(.tokenInserted, location: reader, reason: error.description)
        }
    }
}
