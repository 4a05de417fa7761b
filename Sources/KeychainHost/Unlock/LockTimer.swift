internal import CLinux
internal import Glibc
internal import Platform
internal import Synchronization

/// The timer that forgets the key of an unused keychain, on a thread that lives as long as a key does.
///
/// In a child by `fork` there is no such thread, and the keychain is locked.
final class LockTimer: Sendable {
    private enum State { case idle, running(@Sendable () -> Int64?), ended }

    private let state = Mutex(State.idle)
    private let changed = Signal()

    /// Runs a check now, again after the time that it returns, and whenever a process has touched the file.
    ///
    /// - Parameter check: locks if it is time, and returns the milliseconds until its next call, nil for never.
    func start(watching path: String, _ check: @escaping @Sendable () -> Int64?) {
        state.withLock { state in
            guard case .idle = state else { return changed.send() }
            let isStarted = BlockingThread.start { [self] in
                let watcher = FileWatcher()
                watcher.watch(file: path)
                while let wait = next(), sleep(milliseconds: wait, watcher) { watcher.clear() }
            }
            if isStarted { state = .running(check) }
        }
    }

    /// Ends the checks, waits for one that is under way, and releases the closure.
    func end() {
        state.withLock { $0 = .ended }
        changed.send()
    }

    /// Runs the check under the lock, so that a start after the last check starts a new thread.
    private func next() -> Int64? {
        state.withLock { state in
            guard case .running(let check) = state else { return nil }
            let next = check()
            if next == nil { state = .idle }
            return next
        }
    }

    /// Waits until the time is over, the file has changed, the machine woke up, or its clock was set. Sleep counts.
    ///
    /// - Returns: false where the system has no such timer.
    private func sleep(milliseconds: Int64, _ watcher: FileWatcher) -> Bool {
        let descriptors = [clinux_alarm(milliseconds), clinux_wakening()]
        defer { for descriptor in descriptors where descriptor >= 0 { close(descriptor) } }
        if descriptors[0] >= 0, changed.wait(orFor: descriptors + [watcher.descriptor]) { return true }
        state.withLock { if case .running = $0 { $0 = .idle } }
        return false
    }
}
