internal import Glibc

/// A count that threads raise and wait for.
@safe
package final class CountingSemaphore: @unchecked Sendable {
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private var count: Int

    package init(count: Int = 0) {
        self.count = count
        var attributes = pthread_condattr_t()
        unsafe pthread_condattr_init(&attributes)
        // Setting the clock must not lengthen a wait.
        unsafe pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        unsafe pthread_mutex_init(mutex, nil)
        unsafe pthread_cond_init(condition, &attributes)
        unsafe pthread_condattr_destroy(&attributes)
    }

    deinit {
        unsafe pthread_cond_destroy(condition)
        unsafe pthread_mutex_destroy(mutex)
        unsafe condition.deallocate()
        unsafe mutex.deallocate()
    }

    package func signal() {
        unsafe pthread_mutex_lock(mutex)
        count += 1
        unsafe pthread_cond_signal(condition)
        unsafe pthread_mutex_unlock(mutex)
    }

    /// Waits for a signal and takes it.
    package func wait() {
        unsafe pthread_mutex_lock(mutex)
        defer { _ = unsafe pthread_mutex_unlock(mutex) }
        while count == 0 { unsafe pthread_cond_wait(condition, mutex) }
        count -= 1
    }

    /// Waits for a signal and takes it; false when none came within `limit`. Wraps pthread_cond_timedwait.
    package func wait(for limit: Duration) -> Bool {
        var deadline = CountingSemaphore.now(after: limit)
        unsafe pthread_mutex_lock(mutex)
        defer { _ = unsafe pthread_mutex_unlock(mutex) }
        while count == 0 {
            guard unsafe pthread_cond_timedwait(condition, mutex, &deadline) == 0 else { return false }
        }
        count -= 1
        return true
    }

    private static func now(after limit: Duration) -> timespec {
        var time = timespec()
        unsafe clock_gettime(CLOCK_MONOTONIC, &time)
        let (seconds, attoseconds) = max(limit, .zero).components
        let nanoseconds = time.tv_nsec + Int(attoseconds / 1_000_000_000)
        // A wait is limited to a year.
        time.tv_sec += Int(min(seconds, 31_536_000)) + nanoseconds / 1_000_000_000
        time.tv_nsec = nanoseconds % 1_000_000_000
        return time
    }
}
