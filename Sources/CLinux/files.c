#define _GNU_SOURCE
#include "clinux.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

// 30 years in seconds, longer than any machine runs.
#define LONG 946080000

static int started(int descriptor, int flags, time_t seconds, long nanoseconds) {
    struct itimerspec time = {.it_value = {.tv_sec = seconds, .tv_nsec = nanoseconds}};
    if (descriptor >= 0 && timerfd_settime(descriptor, flags, &time, NULL) == 0) return descriptor;
    int error = errno;
    if (descriptor >= 0) close(descriptor);
    return -error;
}

int clinux_alarm(int64_t milliseconds) {
    if (milliseconds < 1) milliseconds = 1;
    if (milliseconds / 1000 > LONG) milliseconds = LONG * INT64_C(1000);
    return started(timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC), 0, milliseconds / 1000,
                   milliseconds % 1000 * 1000000);
}

int clinux_wakening(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return started(timerfd_create(CLOCK_REALTIME, TFD_CLOEXEC), TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET,
                   now.tv_sec + LONG, 0);
}

int clinux_event(void) {
    int descriptor = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return descriptor < 0 ? -errno : descriptor;
}

int clinux_queue(void) {
    int descriptor = epoll_create1(EPOLL_CLOEXEC);
    return descriptor < 0 ? -errno : descriptor;
}

int clinux_await(int queue, int descriptor, uint64_t number) {
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = number};
    return epoll_ctl(queue, EPOLL_CTL_ADD, descriptor, &event) < 0 ? -errno : 0;
}

int clinux_end_await(int queue, int descriptor) {
    return epoll_ctl(queue, EPOLL_CTL_DEL, descriptor, NULL) < 0 ? -errno : 0;
}

int clinux_ready(int queue, uint64_t *numbers, int capacity) {
    struct epoll_event events[64];
    int count = epoll_wait(queue, events, capacity < 64 ? capacity : 64, -1);
    for (int index = 0; index < count; index++) numbers[index] = events[index].data.u64;
    return count < 0 ? -errno : count;
}

int clinux_watcher(void) {
    int descriptor = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
    return descriptor < 0 ? -errno : descriptor;
}

int clinux_watch_file(int watcher, const char *path) {
    int watch = inotify_add_watch(watcher, path, IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF);
    return watch < 0 ? -errno : watch;
}

int clinux_watch_writing(int watcher, const char *path) {
    int watch = inotify_add_watch(watcher, path, IN_CLOSE_WRITE);
    return watch < 0 ? -errno : watch;
}

int clinux_watch_folder(int watcher, const char *path) {
    int watch = inotify_add_watch(watcher, path, IN_CLOSE_WRITE | IN_CREATE | IN_DELETE | IN_MOVE | IN_ONLYDIR);
    return watch < 0 ? -errno : watch;
}

int clinux_unwatch(int watcher, int watch) {
    return inotify_rm_watch(watcher, watch) < 0 ? -errno : 0;
}

int clinux_open_part(int folder, const char *name) {
    int descriptor = openat(folder, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    return descriptor < 0 ? -errno : descriptor;
}

static int64_t birth(int folder, const char *path, int flags) {
    struct statx status;
    if (statx(folder, path, flags, STATX_BTIME, &status) != 0) return -errno;
    if (!(status.stx_mask & STATX_BTIME)) return -ENOTSUP;
    return status.stx_btime.tv_sec * INT64_C(1000000000) + status.stx_btime.tv_nsec;
}

int64_t clinux_birth(const char *path) { return birth(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW); }

int64_t clinux_birth_of(int descriptor) { return birth(descriptor, "", AT_EMPTY_PATH); }

int clinux_is_in_user_space(int descriptor) {
    struct statfs system;
    return fstatfs(descriptor, &system) != 0 || system.f_type == FUSE_SUPER_MAGIC;
}

int64_t clinux_file_time(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME_COARSE, &now);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}
