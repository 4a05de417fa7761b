#define _GNU_SOURCE
#include "hostprocess.h"

#include <fcntl.h>
#include <hoststart.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
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

/* A connected socket whose listener is a process of this user. */
static int32_t connect_to(const struct sockaddr_un *address, socklen_t length) {
    int descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (descriptor < 0) return -errno;
    descriptor = tokenkit_moved_up(descriptor);
    if (descriptor < 0) return descriptor;
    struct ucred peer;
    socklen_t size = sizeof peer;
    /* The socket does not block: a host with a full queue counts as none for now. */
    int error = 0;
    if (connect(descriptor, (const struct sockaddr *)address, length) != 0) error = -errno;
    else if (getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) error = -errno;
    else if (peer.uid != geteuid()) error = -EPERM;
    else if (fcntl(descriptor, F_SETFL, 0) != 0) error = -errno;
    if (error != 0) close(descriptor);
    return error != 0 ? error : descriptor;
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
    return connect_to(&address, sizeof address);
}

int32_t tokenkit_connect_again(int32_t connected) {
    struct sockaddr_un address;
    socklen_t size = sizeof address;
    if (getpeername(connected, (struct sockaddr *)&address, &size) != 0) return -errno;
    return address.sun_family == AF_UNIX ? connect_to(&address, size) : -EAFNOSUPPORT;
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

int32_t tokenkit_open_settings(const char *path) {
    /* A pipe in its place does not block. */
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    return descriptor >= 0 ? descriptor : errno == ENOENT || errno == ENOTDIR ? -1 : -2;
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
