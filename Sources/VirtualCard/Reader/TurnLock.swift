internal import Glibc

/// A lock that one client at a time holds for the length of a transaction.
///
/// It is not a `Mutex`, whose closures must have sendable results, as a transaction's result need not be sendable.
@safe
final class TurnLock: @unchecked Sendable {
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>

    init() {
        unsafe mutex = .allocate(capacity: 1)
        unsafe mutex.initialize(to: pthread_mutex_t())
        _ = unsafe pthread_mutex_init(mutex, nil)
    }

    deinit {
        _ = unsafe pthread_mutex_destroy(mutex)
        unsafe mutex.deallocate()
    }

    func lock() {
        _ = unsafe pthread_mutex_lock(mutex)
    }

    func unlock() {
        _ = unsafe pthread_mutex_unlock(mutex)
    }
}
