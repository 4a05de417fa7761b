internal import Glibc

/// A lock that one client at a time holds for the length of a transaction.
///
/// `Mutex` guards a value for the length of a closure whose result must be sendable; a transaction's need not be.
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
