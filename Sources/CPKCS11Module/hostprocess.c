#define _GNU_SOURCE
#include "hostprocess.h"

#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>

extern char **environ;

const char *tokenkit_getenv(const char *name) { return secure_getenv(name); }

static _Atomic(const char *) log_path;

void tokenkit_read_log_path(void) {
    const char *wanted = secure_getenv("TOKENKIT_DEBUG"), *known = log_path;
    if (wanted != NULL && (*wanted == 0 || strcmp(wanted, "0") == 0)) wanted = NULL;
    if (wanted == known || (wanted != NULL && known != NULL && strcmp(wanted, known) == 0)) return;
    /* A former path is not freed: a call of another thread may be reading it. */
    log_path = wanted != NULL ? strdup(wanted) : NULL;
}

const char *tokenkit_log_path(void) { return log_path; }

char **tokenkit_environment(void) { return environ; }

int32_t tokenkit_is_privileged(void) { return getauxval(AT_SECURE) != 0; }

/* Programs close low descriptors, or take them for their streams. */
static int moved_up(int descriptor) {
    int moved = fcntl(descriptor, F_DUPFD_CLOEXEC, 100);
    if (moved < 0) moved = fcntl(descriptor, F_DUPFD_CLOEXEC, 4);
    int error = errno;
    close(descriptor);
    return moved < 0 ? -error : moved;
}

int32_t tokenkit_socket_pair(int32_t ends[2]) {
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) return -errno;
    ends[0] = moved_up(pair[0]);
    ends[1] = moved_up(pair[1]);
    if (ends[0] >= 0 && ends[1] >= 0) return 0;
    int error = ends[0] < 0 ? ends[0] : ends[1];
    if (ends[0] >= 0) close(ends[0]);
    if (ends[1] >= 0) close(ends[1]);
    return error;
}

int32_t tokenkit_connect(const char *folder, const char *name) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t length = strlen(folder);
    if (length + 1 + strlen(name) >= sizeof address.sun_path) return -ENAMETOOLONG;
    memcpy(address.sun_path, folder, length);
    address.sun_path[length] = '/';
    strcpy(address.sun_path + length + 1, name);

    struct stat status;
    if (lstat(folder, &status) != 0) return -errno;
    if (!S_ISDIR(status.st_mode) || status.st_uid != geteuid() || (status.st_mode & 077) != 0) return -EPERM;
    int descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (descriptor < 0) return -errno;
    descriptor = moved_up(descriptor);
    if (descriptor < 0) return descriptor;
    struct ucred peer;
    socklen_t size = sizeof peer;
    /* The socket does not block: a host with a full queue counts as none for now. */
    int error = 0;
    if (connect(descriptor, (struct sockaddr *)&address, sizeof address) != 0) error = -errno;
    else if (getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) error = -errno;
    else if (peer.uid != geteuid()) error = -EPERM;
    else if (fcntl(descriptor, F_SETFL, 0) != 0) error = -errno;
    if (error != 0) close(descriptor);
    return error != 0 ? error : descriptor;
}

uint64_t tokenkit_socket_inode(int32_t descriptor) {
    struct stat status;
    return fstat(descriptor, &status) == 0 && S_ISSOCK(status.st_mode) ? status.st_ino : 0;
}

int32_t tokenkit_is_stale(int32_t descriptor) {
    char byte;
    ssize_t count = recv(descriptor, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return !(count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR));
}

void tokenkit_set_patience(int32_t descriptor) {
    struct timeval time = {.tv_sec = tokenkit_patience};
    setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &time, sizeof time);
}

int64_t tokenkit_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Whether the socket's own time-out bounds a wait closely enough, which saves a system call. */
static int is_far(int64_t deadline) { return deadline - tokenkit_now() > (tokenkit_patience - 1) * 1000; }

/* Waits by poll until the deadline. The socket's own time-out restarts with each call, and signals interrupt calls. */
static int32_t await(int descriptor, short events, int64_t deadline) {
    struct pollfd awaited = {.fd = descriptor, .events = events};
    for (;;) {
        /* A program that was stopped beyond the deadline finds what has come meanwhile. */
        int64_t remaining = deadline - tokenkit_now();
        int ready = poll(&awaited, 1, remaining > 0 ? remaining : 0);
        if (ready > 0) return 0;
        if (ready == 0 && remaining <= 0) return tokenkit_timed_out;
        if (ready < 0 && errno != EINTR) return -errno;
    }
}

/* Programs close descriptors that are not theirs, also during a wait, and get the numbers again for files of their own. */
static int32_t await_own(int32_t descriptor, uint64_t inode, short events, int64_t deadline) {
    int32_t error = await(descriptor, events, deadline);
    return error == 0 && tokenkit_socket_inode(descriptor) != inode ? -EBADF : error;
}

int32_t tokenkit_send(int32_t descriptor, uint64_t inode, struct iovec *parts, int32_t count, int64_t deadline) {
    for (int flags = MSG_NOSIGNAL | (is_far(deadline) ? 0 : MSG_DONTWAIT); count > 0; flags |= MSG_DONTWAIT) {
        if (flags & MSG_DONTWAIT) {
            int32_t error = await_own(descriptor, inode, POLLOUT, deadline);
            if (error != 0) return error;
        }
        struct msghdr message = {.msg_iov = parts, .msg_iovlen = count < IOV_MAX ? count : IOV_MAX};
        ssize_t sent = sendmsg(descriptor, &message, flags);
        if (sent < 0 && errno != EINTR && errno != EAGAIN) return -errno;
        if (sent < 0) continue;
        for (; count > 0 && (size_t)sent >= parts->iov_len; parts++, count--) sent -= parts->iov_len;
        if (count > 0) {
            parts->iov_base = (char *)parts->iov_base + sent;
            parts->iov_len -= sent;
        }
    }
    return 0;
}

int32_t tokenkit_await(int32_t descriptor, uint64_t inode, int64_t deadline) {
    return await_own(descriptor, inode, POLLIN, deadline);
}

int32_t tokenkit_receive(int32_t descriptor, uint64_t inode, void *bytes, size_t count, int64_t deadline) {
    while (count > 0) {
        ssize_t got = recv(descriptor, bytes, count, MSG_DONTWAIT);
        if (got == 0) return -EPIPE;
        if (got < 0 && errno == EAGAIN) {
            /* poll, not a blocking recv: on unix(7) sockets recv also wakes when the peer reads. */
            int32_t error = await_own(descriptor, inode, POLLIN, deadline);
            if (error != 0) return error;
            continue;
        }
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return -errno;
        bytes = (char *)bytes + got;
        count -= got;
    }
    return 0;
}

int32_t tokenkit_await_end(int32_t descriptor, int64_t deadline) { return await(descriptor, POLLRDHUP, deadline); }

int32_t tokenkit_send_descriptor(int32_t descriptor, const void *bytes, size_t count, int32_t sent, int64_t deadline) {
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(sizeof(int))];
    } control = {0};
    struct iovec part = {(void *)bytes, count};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control.space};
    control.header.cmsg_level = SOL_SOCKET;
    control.header.cmsg_type = SCM_RIGHTS;
    control.header.cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(&control.header), &sent, sizeof(int));
    ssize_t result;
    do result = sendmsg(descriptor, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    while (result < 0 && (errno == EINTR || (errno == EAGAIN && await(descriptor, POLLOUT, deadline) == 0)));
    return result == (ssize_t)count ? 0 : result < 0 && errno != EAGAIN && errno != ECONNRESET ? -errno : -EPIPE;
}

int32_t tokenkit_set_cancelable(int32_t is_cancelable) {
    int former = PTHREAD_CANCEL_ENABLE;
    pthread_setcancelstate(is_cancelable ? PTHREAD_CANCEL_ENABLE : PTHREAD_CANCEL_DISABLE, &former);
    return former == PTHREAD_CANCEL_ENABLE;
}

int32_t tokenkit_open_users(void) { return open("/etc/passwd", O_RDONLY | O_CLOEXEC); }

#ifndef TOKENKIT_HOST
#define TOKENKIT_HOST "/usr/local/libexec/tokenkitd"
#endif

const char *tokenkit_installed_host(void) { return TOKENKIT_HOST; }

/* The arguments of the two processes between the module and the host, and their result. It lies in a shared mapping, since valgrind
 * makes a fork of CLONE_VM, which copies all other memory. */
struct start {
    const char *path;
    char *const *environment;
    int socket;
    int error; /* errno of a failure before exec; 0 for none */
    char *second_stack;
};

enum { stack_size = 16384 };

/* Until exec the process shares the program's memory: system calls are made without the C library, whose functions a sanitizer or a
 * preloaded library may have replaced by ones that change that memory, or need more stack. */
static void close_from(unsigned int first) {
#ifdef SYS_close_range
    if (syscall(SYS_close_range, first, ~0U, 0) == 0) return;
#endif
    /* Kernels before 5.9. */
    for (int descriptor = (int)first; descriptor < 65536; descriptor++) syscall(SYS_close, descriptor);
}

/* The exit status is the error as well, but is not read: valgrind (--error-exitcode) replaces it. */
static void fail(struct start *start) {
    start->error = errno;
    syscall(SYS_exit_group, start->error);
}

/* The kernel's struct sigaction. */
struct kernel_action {
    void *handler;
    unsigned long flags;
    void *restorer;
    uint64_t mask;
};

/* Signals with a handler get their default by exec. Those that are ignored would stay so. */
static void stop_ignoring(void) {
    struct kernel_action standard = {0};
    for (int number = 1; number < NSIG; number++) {
        struct kernel_action present = {0};
        if (syscall(SYS_rt_sigaction, number, NULL, &present, sizeof present.mask) != 0) continue;
        if (present.handler == SIG_IGN) syscall(SYS_rt_sigaction, number, &standard, NULL, sizeof standard.mask);
    }
}

static int run_host(void *argument) {
    struct start *start = argument;
    int nothing = syscall(SYS_openat, AT_FDCWD, "/dev/null", O_RDWR, 0);
    if (nothing < 0) fail(start);
    for (int stream = 0; stream < 3; stream++) {
        if (nothing != stream && syscall(SYS_dup3, nothing, stream, 0) < 0) fail(start);
    }
    if (start->socket != 3 && syscall(SYS_dup3, start->socket, 3, 0) < 0) fail(start);
    close_from(4);
    stop_ignoring();
    uint64_t none = 0;
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &none, NULL, sizeof none);
    char *const arguments[] = {(char *)start->path, "--private", NULL};
    syscall(SYS_execve, start->path, arguments, start->environment);
    fail(start);
    return 0;
}

/* The process between the module and the host. It ends before the host, so that the program's waits never return the host. */
static int run_between(void *argument) {
    struct start *start = argument;
    int child = clone(run_host, start->second_stack + stack_size, CLONE_VM | CLONE_VFORK, start);
    if (child < 0) fail(start);
    /* By now the child has either run exec or set the error. */
    syscall(SYS_exit_group, start->error);
    return 0;
}

/* After unshare(CLONE_NEWPID) the next child is the first process of another PID namespace, which ends with it. The namespace has no
 * name before (namespaces(7)). */
static int makes_namespace(void) {
    char own[64], of_children[64];
    const char *path = "/proc/self/ns/pid_for_children";
    struct stat status;
    ssize_t count = readlink("/proc/self/ns/pid", own, sizeof own);
    if (count <= 0 || lstat(path, &status) != 0) return 0;
    return readlink(path, of_children, sizeof of_children) != count || memcmp(own, of_children, count) != 0;
}

int32_t tokenkit_start(const char *path, char *const environment[], int32_t socket) {
    if (makes_namespace()) return -EPERM;
    size_t size = 2 * stack_size + sizeof(struct start);
    char *stacks = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (stacks == MAP_FAILED) return -errno;
    struct start *start = (struct start *)(stacks + 2 * stack_size);
    *start = (struct start){path, environment, socket, 0, stacks + stack_size};
    /* No handler of the program may run in the child, which shares its memory. */
    sigset_t all, former;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &former);
    /* Without an exit signal, no handler runs at the child's end, and no ordinary wait of the program returns it. */
    int child = clone(run_between, stacks + stack_size, CLONE_VM | CLONE_VFORK, start);
    int error = child < 0 ? errno : 0;
    if (child >= 0) {
        int status = 0;
        pid_t ended;
        do ended = waitpid(child, &status, __WCLONE);
        while (ended < 0 && errno == EINTR);
        error = ended == child && !WIFEXITED(status) ? ECHILD : start->error;
    }
    pthread_sigmask(SIG_SETMASK, &former, NULL);
    munmap(stacks, size);
    return -error;
}

void tokenkit_log(const char *path, const char *text, size_t count) {
    int descriptor = STDERR_FILENO;
    if (strchr(path, '/') != NULL && strcmp(path, "/dev/stderr") != 0) {
        descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
        if (descriptor < 0) return;
    }
    /* One call, so that lines of several threads and processes stay whole. */
    ssize_t written = write(descriptor, text, count);
    (void)written;
    if (descriptor != STDERR_FILENO) close(descriptor);
}

void tokenkit_time(int64_t *seconds, int64_t *milliseconds) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    *seconds = now.tv_sec;
    *milliseconds = now.tv_nsec / 1000000;
}
