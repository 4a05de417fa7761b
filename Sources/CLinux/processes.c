#define _GNU_SOURCE
#include "clinux.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

_Static_assert(POLLRDHUP == 0x2000, "POLLRDHUP is another number here");

int clinux_process(int32_t process) {
    long descriptor = syscall(SYS_pidfd_open, (pid_t)process, 0);
    return descriptor < 0 ? -errno : (int)descriptor;
}

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

int clinux_close_from(posix_spawn_file_actions_t *actions, int descriptor) {
    return posix_spawn_file_actions_addclosefrom_np(actions, descriptor);
}
