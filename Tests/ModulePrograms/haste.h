/* Lets the module's time pass faster than the machine's, in programs that are linked with -rdynamic: its waits for a host that does
 * not answer take a fraction of their time. The program's own clock_gettime(2) and poll(2) are the same functions. */
#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static int haste = 1;

int clock_gettime(clockid_t clock, struct timespec *time) {
    if (syscall(SYS_clock_gettime, clock, time) != 0) return -1;
    if (clock != CLOCK_MONOTONIC || haste == 1) return 0;
    __int128 passed = ((__int128)time->tv_sec * 1000000000 + time->tv_nsec) * haste;
    time->tv_sec = (time_t)(passed / 1000000000);
    time->tv_nsec = (long)(passed % 1000000000);
    return 0;
}

int poll(struct pollfd *descriptors, nfds_t count, int milliseconds) {
    /* Rounded up, so that a wait which ends in less than a millisecond is no loop. */
    int real = milliseconds < 0 ? -1 : (milliseconds + haste - 1) / haste;
    struct timespec time = {.tv_sec = real / 1000, .tv_nsec = real % 1000 * 1000000L};
    return (int)syscall(SYS_ppoll, descriptors, count, real < 0 ? NULL : &time, NULL, 0);
}

int setsockopt(int descriptor, int level, int option, const void *value, socklen_t size) {
    struct timeval time;
    if (level == SOL_SOCKET && option == SO_SNDTIMEO && size == sizeof time) {
        time = *(const struct timeval *)value;
        int64_t real = ((int64_t)time.tv_sec * 1000000 + time.tv_usec) / haste;
        time = (struct timeval){.tv_sec = real / 1000000, .tv_usec = real % 1000000};
        value = &time;
    }
    return (int)syscall(SYS_setsockopt, descriptor, level, option, value, size);
}
