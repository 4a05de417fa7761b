// Tells the thread sanitizer how Synchronization.Mutex hands over under contention; make sanitize preloads it.
//
// The library that holds the mutex's slow path is not instrumented, and it locks in the kernel (FUTEX_LOCK_PI): the
// sanitizer sees neither, and would report every contended mutex as a race. The fast path is compiled into our own code,
// where it is seen. In a process without the sanitizer this changes nothing but the spinning before the kernel is asked.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <linux/futex.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

typedef void (*annotation)(void *);

static annotation acquired, released;

__attribute__((constructor)) static void find_annotations(void)
{
    acquired = (annotation)dlsym(RTLD_DEFAULT, "__tsan_acquire");
    released = (annotation)dlsym(RTLD_DEFAULT, "__tsan_release");
}

#define SWIFT __attribute__((swiftcall))
#define SELF __attribute__((swift_context))

// Synchronization._MutexHandle._lockSlow(UInt32) -> ()
SWIFT void lock_slow(uint32_t thread, SELF uint32_t *word) __asm__("$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF");
SWIFT void lock_slow(uint32_t thread, SELF uint32_t *word)
{
    (void)thread;
    while (syscall(SYS_futex, word, FUTEX_LOCK_PI_PRIVATE, 0, NULL) != 0)
        if (errno != EINTR && errno != EAGAIN)
            abort();
    if (acquired)
        acquired(word);
}

// Synchronization._MutexHandle._unlockSlow() -> ()
SWIFT void unlock_slow(SELF uint32_t *word) __asm__("$s15Synchronization12_MutexHandleV11_unlockSlowyyF");
SWIFT void unlock_slow(SELF uint32_t *word)
{
    if (released)
        released(word);
    while (syscall(SYS_futex, word, FUTEX_UNLOCK_PI_PRIVATE) != 0)
        if (errno != EINTR && errno != EAGAIN)
            abort();
}

// Synchronization._MutexHandle._tryLockSlow() -> Bool
SWIFT _Bool try_lock_slow(SELF uint32_t *word) __asm__("$s15Synchronization12_MutexHandleV12_tryLockSlowSbyF");
SWIFT _Bool try_lock_slow(SELF uint32_t *word)
{
    while (syscall(SYS_futex, word, FUTEX_TRYLOCK_PI_PRIVATE, 0, NULL) != 0)
        if (errno != EINTR)
            return 0;
    if (acquired)
        acquired(word);
    return 1;
}
