internal import KeychainModel
internal import Platform
internal import Synchronization
internal import TokenKit

/// Watches the keychains of the search list, the settings, and the readers.
///
/// A watch reports the changes that any process makes to a keychain, in their order. From its creation on, it misses
/// only changes that are followed by a thousand others before it reads them. A keychain that joins the list is watched
/// from then on; if it was created after the watch, its earlier changes are reported as well. Cards that are inserted
/// already are reported first.
///
/// A blocked PIN is reported if a program of this host used up the last try: no card reports it, and asking costs commands.
///
///     KeychainWatch().run { print($0.kind) }
final class KeychainWatch: Sendable {
    private let snapshot: Mutex<KeychainSnapshot>
    private let inbox = EventInbox()
    private let readers: ReaderMonitor?
    private let isCancelled = Atomic(false)

    /// - Parameter slot: makes the slot of a reader, with the drivers that know cards; without it no card is watched.
    init(
        _ preferences: KeychainPreferences = KeychainPreferences(),
        slot: (@Sendable (_ reader: String) -> TokenSlot)? = nil
    ) {
        snapshot = Mutex(KeychainSnapshot(preferences))
        readers = slot.map { _ in ReaderMonitor() }
        inbox.open()
        guard let slot, let readers else { return }
        BlockingThread.start { [inbox] in
            var tokens: [String: KeychainIdentifier] = [:]
            readers.run { event in
                if let event = Self.tokenEvent(event, &tokens, slot) { inbox.put(event) }
            }
        }
    }

    deinit { end() }

    /// Reports events, on the calling thread, until ``cancel()``. Only one thread may do so.
    func run(_ report: (KeychainEvent) -> Void) {
        let descriptor = snapshot.withLock { $0.watcher.descriptor }
        while !isCancelled.load(ordering: .acquiring) {
            let events = inbox.take() + snapshot.withLock { $0.look() }
            for event in events where !isCancelled.load(ordering: .acquiring) { report(event) }
            guard events.isEmpty else { continue }
            let longest = snapshot.withLock { $0.longestWait }
            guard inbox.signal.wait(orFor: [descriptor], atMost: longest) else { return }
        }
    }

    /// Ends the watch. It may be called from any thread and more than once.
    func cancel() {
        isCancelled.store(true, ordering: .releasing)
        inbox.signal.send()
        end()
    }

    private func end() {
        inbox.close()
        readers?.cancel()
    }

    private static func tokenEvent(
        _ event: ReaderEvent, _ tokens: inout [String: KeychainIdentifier],
        _ slot: @Sendable (_ reader: String) -> TokenSlot
    ) -> KeychainEvent? {
        switch event {
        case .cardInserted(let reader, _):
            let slot = slot(reader)
            defer { slot.disconnect(resetting: false) }
            let identity = (try? TokenKeychain(slot).identity()) ?? nil
            tokens[reader] = identity.map { KeychainIdentifier(rawValue: $0.id.description) }
            return KeychainEvent(.tokenInserted, keychain: tokens[reader], location: reader)
        case .cardMute(let reader):
            return KeychainEvent(.tokenInserted, location: reader)
        case .cardRemoved(let reader):
            return KeychainEvent(.tokenRemoved, keychain: tokens.removeValue(forKey: reader), location: reader)
        case .readerAdded, .readerRemoved, .serviceUnavailable, .serviceAvailable:
            return nil
        }
    }
}
