#define _GNU_SOURCE
#include "hoststart.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

int32_t tokenkit_moved_up(int32_t descriptor) {
    int moved = fcntl(descriptor, F_DUPFD_CLOEXEC, 100);
    if (moved < 0) moved = fcntl(descriptor, F_DUPFD_CLOEXEC, 4);
    int error = errno;
    close(descriptor);
    return moved < 0 ? -error : moved;
}

int32_t tokenkit_socket_pair(int32_t ends[2]) {
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) return -errno;
    ends[0] = tokenkit_moved_up(pair[0]);
    ends[1] = tokenkit_moved_up(pair[1]);
    if (ends[0] >= 0 && ends[1] >= 0) return 0;
    int error = ends[0] < 0 ? ends[0] : ends[1];
    if (ends[0] >= 0) close(ends[0]);
    if (ends[1] >= 0) close(ends[1]);
    return error;
}

/* The number with a further hexadecimal digit. */
static uintptr_t with_digit(uintptr_t number, char digit) {
    return number << 4 | (uintptr_t)(digit <= '9' ? digit - '0' : digit - 'a' + 10);
}

/* The path of the file that is mapped at an address. A line of proc_pid_maps(5) is `start-end rights offset device inode path`. */
static int find_mapped(uintptr_t address, char path[PATH_MAX]) {
    enum { start, end, others, name } part = start;
    uintptr_t bounds[2] = {0};
    size_t length = 0;
    int maps = open("/proc/self/maps", O_RDONLY | O_CLOEXEC), is_found = 0;
    char bytes[1024];
    for (ssize_t count; maps >= 0 && !is_found && (count = read(maps, bytes, sizeof bytes)) > 0;) {
        for (ssize_t index = 0; index < count && !is_found; index++) {
            char byte = bytes[index];
            if (byte == '\n') {
                is_found = part == name && length < PATH_MAX && bounds[0] <= address && address < bounds[1];
                if (is_found) break;
                bounds[0] = bounds[1] = length = 0;
                part = start;
            } else if (part == start) {
                if (byte == '-') part = end;
                else bounds[0] = with_digit(bounds[0], byte);
            } else if (part == end) {
                if (byte == ' ') part = others;
                else bounds[1] = with_digit(bounds[1], byte);
            } else if (part == name || byte == '/') {
                part = name;
                if (length < PATH_MAX) path[length++] = byte;
            }
        }
    }
    if (maps >= 0) close(maps);
    if (is_found) path[length] = 0;
    return is_found;
}

/* The path that the loader has of a library. Of the program itself it has only what the caller of exec chose. */
static const char *path_of_library(void *symbol) {
    Dl_info own, program;
    if (dladdr(symbol, &own) == 0 || own.dli_fname == NULL || own.dli_fname[0] != '/') return NULL;
    void *entry = (void *)getauxval(AT_ENTRY);
    return dladdr(entry, &program) != 0 && program.dli_fbase == own.dli_fbase ? NULL : own.dli_fname;
}

int32_t tokenkit_own_folder(char folder[PATH_MAX]) {
    void *symbol = (void *)&tokenkit_own_folder;
    const char *given = path_of_library(symbol);
    /* The loader keeps a path as the program gave it, which may have changed its folder since. */
    if (!(given != NULL ? realpath(given, folder) != NULL : find_mapped((uintptr_t)symbol, folder))) return 0;
    size_t length = strlen(folder);
    while (length > 0 && folder[length] != '/') length--;
    folder[length] = 0;
    return 1;
}

#ifndef TOKENKIT_HOST
#define TOKENKIT_HOST "/usr/local/libexec/tokenkitd"
#endif

const char *tokenkit_installed_host(void) { return TOKENKIT_HOST; }

/* The arguments of the two processes between the program and the host, and their result. It lies in a shared mapping, since valgrind
 * makes a fork of CLONE_VM, which copies all other memory. */
struct start {
    const char *path;
    char *const *environment;
    int socket, is_shared;
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
    if (start->is_shared) syscall(SYS_setsid);
    char *const arguments[] = {(char *)start->path, start->is_shared ? "--session" : "--private", NULL};
    syscall(SYS_execve, start->path, arguments, start->environment);
    fail(start);
    return 0;
}

/* The process between the program and the host. It ends before the host, so that the program's waits never return the host. */
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

int32_t tokenkit_start(const char *path, char *const environment[], int32_t socket, int32_t is_shared) {
    if (makes_namespace()) return -EPERM;
    size_t size = 2 * stack_size + sizeof(struct start);
    char *stacks = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (stacks == MAP_FAILED) return -errno;
    struct start *start = (struct start *)(stacks + 2 * stack_size);
    *start = (struct start){path, environment, socket, is_shared, 0, stacks + stack_size};
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
