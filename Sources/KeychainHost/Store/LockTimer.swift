internal import CLinux
internal import Glibc
internal import Synchronization
internal import TokenKit

/// Forgets the key of a keychain that nobody uses, on a thread that lives as long as there is something to wait for.
///
/// In a child by `fork` there is no such thread; whoever uses the keychain there still finds it locked when its time is over.
final class LockTimer: Sendable {
    private let isRunning = Mutex(false)
    private let changed = Signal()

    deinit { changed.send() }

    /// Has a check made now, again whenever it asks for it, and whenever a process has changed the file.
    ///
    /// - Parameter check: locks if it is time; the milliseconds until it is to be called again, nil for never.
    func start(watching path: String, _ check: @escaping @Sendable () -> Int64?) {
        isRunning.withLock { isRunning in
            guard !isRunning else { return changed.send() }
            isRunning = BlockingThread.start { [weak self, changed] in
                let watcher = FileWatcher()
                watcher.watch(file: path)
                while let wait = self.flatMap({ $0.next(check) }) {
                    guard Self.sleep(milliseconds: wait, orUntil: changed, watcher) else {
                        self?.isRunning.withLock { $0 = false }
                        return
                    }
                    watcher.clear()
                }
            }
        }
    }

    /// Under the lock, so that who starts the timer after its last check starts it anew.
    private func next(_ check: () -> Int64?) -> Int64? {
        isRunning.withLock { isRunning in
            let next = check()
            isRunning = next != nil
            return next
        }
    }

    /// Waits until the time is over, the file has changed, the machine was woken, or somebody set its clock. Time goes on
    /// while it sleeps.
    ///
    /// - Returns: false where the system has no such timer.
    private static func sleep(milliseconds: Int64, orUntil changed: Signal, _ watcher: FileWatcher) -> Bool {
        let descriptors = [clinux_alarm(milliseconds), clinux_wakening()]
        defer { for descriptor in descriptors where descriptor >= 0 { close(descriptor) } }
        return descriptors[0] >= 0 && changed.wait(orFor: descriptors + [watcher.descriptor])
    }
}
