internal import KeychainStore
internal import KeychainModel
internal import SecureBytes
internal import Synchronization
internal import TokenKit

/// An open keychain, which one thread at a time uses: one of the program's own, or the timer's.
final class KeychainState: Sendable {
    private let notifier: ChangeNotifier
    private let isReadOnly: Bool
    private let opened: Mutex<KeychainConnection>

    init(_ opened: consuming sending KeychainConnection, isReadOnly: Bool) {
        notifier = ChangeNotifier(of: opened.file.path)
        self.isReadOnly = isReadOnly
        self.opened = Mutex(opened)
    }

    func withLock<Result: ~Copyable, Failure: Error>(
        _ body: (inout sending KeychainConnection) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        try opened.withLock(body)
    }

    /// Whether the keychain has its key, or another thread uses it just now. Does not wait.
    var mayHaveKey: Bool { opened.withLockIfAvailable { $0.key != nil } ?? true }

    /// Locks if it is time. Returns the milliseconds until the next check, nil for never.
    func timeToNextCheck() -> Int64? {
        withLock { opened in
            lockIfOver(&opened)
            return opened.key == nil ? nil : opened.lifetime.nextCheck(at: opened.environment.uptime())
        }
    }

    /// Locks if it is time, and records that.
    func lockIfOver(_ opened: inout KeychainConnection) {
        guard !opened.isKeyLost else {
            opened.lock()
            return
        }
        if opened.lockIfOver() { record(.lock, in: opened) }
    }

    /// Records for watchers that the keychain was locked or unlocked. Without watchers nothing is written, so that
    /// reading one secret costs no write. A failure to record is ignored.
    func record(_ kind: KeychainEvent.Kind, in opened: borrowing KeychainConnection) {
        guard !isReadOnly, notifier.hasListeners else { return }
        opened.record(kind)
        tellOfChange()
    }

    /// Wakes the programs that listen for changes.
    func tellOfChange() { notifier.notify() }
}

extension KeychainConnection {
    /// Whether this is a child by `fork`, which does not have its parent's key. The parent still has it, so that no
    /// event is recorded.
    fileprivate var isKeyLost: Bool {
        switch key {
        case .some(let key): key.isEmpty
        case .none: false
        }
    }
}
