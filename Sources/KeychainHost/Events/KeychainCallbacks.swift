public import KeychainModel
internal import Platform
internal import Synchronization
public import TokenKit

/// Functions that are called with the events of keychains, as SecKeychainAddCallback has them. Keychain semantics 2.4.
///
/// They are called one after the other on a thread of their own, which needs no run loop.
public final class KeychainCallbacks: Sendable {
    /// The callbacks of the process.
    public static let shared = KeychainCallbacks()

    private struct Callback {
        let id: UInt
        let mask: KeychainEventMask
        let call: @Sendable (KeychainEvent) -> Void
    }

    private struct State {
        var callbacks: [Callback] = []
        var watch: KeychainWatch?
    }

    private let state = Mutex(State())
    private let preferences: KeychainPreferences
    private let slot: (@Sendable (String) -> TokenSlot)?

    /// - Parameter slot: as ``KeychainWatch/init(_:slot:)`` takes it.
    public init(
        _ preferences: KeychainPreferences = KeychainPreferences(), slot: (@Sendable (String) -> TokenSlot)? = nil
    ) {
        self.preferences = preferences
        self.slot = slot
    }

    /// Registers a function, which is called with every event of the mask that happens from now on.
    ///
    /// - Parameter id: an identifier of the function, such as its address.
    /// - Throws: `errSecDuplicateCallback` if it is registered already, `errSecAllocate` where there is no thread to call it.
    public func add(
        _ id: UInt, for mask: KeychainEventMask = .every, _ call: @escaping @Sendable (KeychainEvent) -> Void
    ) throws(KeychainError) {
        try state.withLock { state throws(KeychainError) in
            guard !state.callbacks.contains(where: { $0.id == id }) else {
                throw KeychainError(.duplicateCallback, "the callback is registered already")
            }
            if state.watch == nil { state.watch = try startWatch() }
            state.callbacks.append(Callback(id: id, mask: mask, call: call))
        }
    }

    /// Removes a function; a call that is under way may still finish.
    ///
    /// - Throws: `errSecInvalidCallback` if it is not registered.
    public func remove(_ id: UInt) throws(KeychainError) {
        try state.withLock { state throws(KeychainError) in
            guard let index = state.callbacks.firstIndex(where: { $0.id == id }) else {
                throw KeychainError(.invalidCallback, "the callback is not registered")
            }
            state.callbacks.remove(at: index)
            guard state.callbacks.isEmpty else { return }
            state.watch?.cancel()
            state.watch = nil
        }
    }

    private func startWatch() throws(KeychainError) -> KeychainWatch {
        let watch = KeychainWatch(preferences, slot: slot)
        let isStarted = BlockingThread.start { [weak self] in
            watch.run { event in
                let calls = self?.state.withLock { $0.callbacks.filter { $0.mask.contains(event.kind) } } ?? []
                for callback in calls { callback.call(event) }
            }
        }
        guard isStarted else { throw KeychainError(.allocate, "no thread could be started for the callbacks") }
        return watch
    }
}
