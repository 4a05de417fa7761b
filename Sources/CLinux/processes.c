#define _GNU_SOURCE
#include "clinux.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

// The headers of Linux before 6.5 lack the option. Sparc and PA-RISC have numbers of their own for it.
#if !defined(SO_PEERPIDFD) && !defined(__sparc__) && !defined(__hppa__)
#define SO_PEERPIDFD 77
#endif

_Static_assert(POLLRDHUP == 0x2000, "POLLRDHUP is another number here");

int clinux_process(int32_t process) {
    long descriptor = syscall(SYS_pidfd_open, (pid_t)process, 0);
    return descriptor < 0 ? -errno : (int)descriptor;
}

void clinux_forbid_tracing(void) { prctl(PR_SET_DUMPABLE, 0L, 0L, 0L, 0L); }

void clinux_forbid_rights(void) { prctl(PR_SET_NO_NEW_PRIVS, 1L, 0L, 0L, 0L); }

int clinux_peek_end(int32_t process, int32_t *code, int32_t *status) {
    siginfo_t information = {0};
    if (waitid(P_PID, (id_t)process, &information, WEXITED | WNOHANG | WNOWAIT) != 0)
        return -errno;
    if (information.si_pid != process)
        return 0;
    *code = information.si_code;
    *status = information.si_status;
    return 1;
}

int clinux_peer(int socket, int32_t *process, uint32_t *user) {
    struct ucred credentials;
    socklen_t size = sizeof credentials;
    if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0)
        return -errno;
    *process = credentials.pid;
    *user = credentials.uid;
    return 0;
}

int clinux_peer_process(int socket) {
#ifdef SO_PEERPIDFD
    int descriptor = -1;
    socklen_t size = sizeof descriptor;
    return getsockopt(socket, SOL_SOCKET, SO_PEERPIDFD, &descriptor, &size) == 0 ? descriptor : -errno;
#else
    (void)socket;
    return -ENOPROTOOPT;
#endif
}

int clinux_open_executable(int32_t process) {
    char path[32];
    snprintf(path, sizeof path, "/proc/%d/exe", process);
    int descriptor = open(path, O_PATH | O_CLOEXEC);
    return descriptor < 0 ? -errno : descriptor;
}

int clinux_close_from(posix_spawn_file_actions_t *actions, int descriptor) {
    return posix_spawn_file_actions_addclosefrom_np(actions, descriptor);
}
