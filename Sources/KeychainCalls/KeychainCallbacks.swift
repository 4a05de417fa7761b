package import HostAPI
package import KeychainModel
internal import Localization
internal import Synchronization

/// Functions that are called with the events of keychains, as SecKeychainAddCallback has them. Keychain semantics 2.4.
///
/// They are called one after the other on a thread of their own, which needs no run loop.
package final class KeychainCallbacks: Sendable {
    private struct Callback {
        let id: UInt
        let mask: KeychainEventMask
        let call: @Sendable (KeychainEvent) -> Void
    }

    private struct State {
        var callbacks: [Callback] = []
        var listener: EventListener?
    }

    private let state = Mutex(State())
    private let host: any KeychainService

    package init(_ host: any KeychainService) {
        self.host = host
    }

    /// Registers a function, which is called with every event of the mask that happens from now on.
    ///
    /// - Parameter id: an identifier of the function, such as its address.
    /// - Throws: `errSecDuplicateCallback` if it is registered already, `errSecAllocate` where there is no thread to call it.
    package func add(
        _ id: UInt, for mask: KeychainEventMask = .every, _ call: @escaping @Sendable (KeychainEvent) -> Void
    ) throws(KeychainError) {
        try state.withLock { state throws(KeychainError) in
            guard !state.callbacks.contains(where: { $0.id == id }) else {
                throw KeychainError(.duplicateCallback, "the callback is registered already")
            }
            if state.listener == nil { state.listener = try startListening() }
            state.callbacks.append(Callback(id: id, mask: mask, call: call))
        }
    }

    /// Removes a function; a call that is under way may still finish.
    ///
    /// - Throws: `errSecInvalidCallback` if it is not registered.
    package func remove(_ id: UInt) throws(KeychainError) {
        try state.withLock { state throws(KeychainError) in
            guard let index = state.callbacks.firstIndex(where: { $0.id == id }) else {
                throw KeychainError(.invalidCallback, "the callback is not registered")
            }
            state.callbacks.remove(at: index)
            guard state.callbacks.isEmpty else { return }
            state.listener?.cancel()
            state.listener = nil
        }
    }

    private func startListening() throws(KeychainError) -> EventListener {
        let listener = try EventListener(host)
        try listener.start { [weak self] event in
            let calls = self?.state.withLock { $0.callbacks.filter { $0.mask.contains(event.kind) } } ?? []
            for callback in calls { callback.call(event) }
        }
        return listener
    }
}
