public import KeychainModel
internal import Synchronization
public import TokenKit

/// Watches the keychains of the search list, the settings, and the readers.
///
/// What any process does to a keychain is seen, in the order in which it was done. From its making on a watch misses nothing
/// but what is overtaken by a thousand later changes. A keychain that joins the list is watched from then on; of one that was
/// made since the watch was, all that was changed in it before is told as well. Cards that are there already are told of first.
///
/// That a PIN was blocked is told where a program of this library lost the last try: no card tells it, and asking costs
/// commands. Other processes hear of it where the session has a folder that is gone with it (``Directories/volatile``).
///
///     for await event in KeychainWatch.events() { print(event.kind) }
public final class KeychainWatch: Sendable {
    private let snapshot: Mutex<KeychainSnapshot>
    private let inbox = EventInbox()
    private let readers: ReaderMonitor?
    private let isCancelled = Atomic(false)

    /// - Parameter slot: the reader of a name with the drivers that know cards; without it no card is watched.
    public init(
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

    /// The events of a watch that ends when the stream is let go of.
    public static func events(
        _ preferences: KeychainPreferences = KeychainPreferences(),
        slot: (@Sendable (_ reader: String) -> TokenSlot)? = nil
    ) -> AsyncStream<KeychainEvent> {
        let watch = KeychainWatch(preferences, slot: slot)
        return AsyncStream { continuation in
            continuation.onTermination = { _ in watch.cancel() }
            let isStarted = BlockingThread.start {
                watch.run { continuation.yield($0) }
                continuation.finish()
            }
            if !isStarted { continuation.finish() }
        }
    }

    /// Reports events, on the calling thread, until ``cancel()``. Only one thread may do so.
    public func run(_ report: (KeychainEvent) -> Void) {
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
    public func cancel() {
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
