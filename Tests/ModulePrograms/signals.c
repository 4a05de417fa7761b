/* The module respects a program's signals, children and rights. Each way has its own process, and the second argument names it. */
#define _GNU_SOURCE
#include "module.h"
#include "host.h"
#include <grp.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>

static CK_SESSION_HANDLE session;
static CK_OBJECT_HANDLE key;

static void begin(void) {
    MUST(CKR_OK, p11->C_Initialize(NULL));
    session = open_session();
    MUST(CKR_OK, p11->C_Login(session, CKU_USER, pin, 6));
    key = find(session, CKO_PRIVATE_KEY, 1);
    MUST(CKR_OK, sign(session, key));
}

static void go_on(void) {
    MUST(CKR_OK, sign(session, key));
    find(session, CKO_CERTIFICATE, 1);
}

static void kill_host(void) {
    await_hosts(1); /* The host of the round before may still be about to end. */
    pid_t host = find_host();
    HOLDS(host > 0 && kill(host, SIGKILL) == 0);
    await_hosts(0);
}

/* Stops a host, and waits for it, because its threads stop one after the other. */
static void stop_host(pid_t host) {
    char path[32], content[4096];
    snprintf(path, sizeof path, "%d", host);
    HOLDS(kill(host, SIGSTOP) == 0);
    for (int tries = 0;; tries++) {
        HOLDS(tries < 1000 && read_process(path, "status", content, sizeof content) > 0);
        if (strstr(content, "State:\tT") != NULL) return;
        usleep(10000);
    }
}

static void *go_on_once(void *nothing) {
    CK_SESSION_HANDLE own = open_session();
    for (int round = 0; round < 10; round++) {
        find(own, CKO_CERTIFICATE, 1);
        MUST(CKR_OK, sign(own, key));
    }
    MUST(CKR_OK, p11->C_CloseSession(own));
    return nothing;
}

/* Each thread has a connection of its own while both are amid calls. */
static void go_on_with_another_thread(void) {
    pthread_t thread[2];
    for (int index = 0; index < 2; index++) pthread_create(&thread[index], NULL, go_on_once, NULL);
    for (int index = 0; index < 2; index++) pthread_join(thread[index], NULL);
}

static _Atomic int seen, is_over;

static void see(int number) { seen += number != 0; }

static void *wait_for_children(void *nothing) {
    while (!is_over) {
        int status;
        HOLDS(waitpid(-1, &status, 0) == -1 && errno == ECHILD);
        HOLDS(wait(&status) == -1 && errno == ECHILD);
    }
    return nothing;
}

/* No handler and no wait sees a host begin, end or die. */
static void children(void) {
    struct sigaction action = {.sa_handler = see};
    HOLDS(sigaction(SIGCHLD, &action, NULL) == 0);
    pthread_t thread[2];
    for (int index = 0; index < 2; index++) pthread_create(&thread[index], NULL, wait_for_children, NULL);
    for (int round = 0; round < 30; round++) {
        begin();
        if (round % 2 == 0) kill_host();
        MUST(CKR_OK, p11->C_Finalize(NULL));
    }
    signal(SIGCHLD, SIG_IGN);
    for (int round = 0; round < 2; round++) {
        begin();
        if (round == 0) kill_host();
        MUST(CKR_OK, p11->C_Finalize(NULL));
    }
    is_over = 1;
    for (int index = 0; index < 2; index++) pthread_join(thread[index], NULL);
    HOLDS(seen == 0);
    must_have_no_child();
}

static void storm(int microseconds) {
    struct sigaction action = {.sa_handler = see};
    HOLDS(sigaction(SIGALRM, &action, NULL) == 0);
    struct itimerval timer = {{0, microseconds}, {0, microseconds}};
    HOLDS(setitimer(ITIMER_REAL, &timer, NULL) == 0);
}

/* Signals end the system calls that they meet, thousands of times a second. */
static void interrupted(void) {
    storm(300);
    for (int round = 0; round < 20; round++) {
        begin();
        go_on();
        MUST(CKR_OK, p11->C_Finalize(NULL));
    }
    HOLDS(seen > 100);
}

/* A wait does not begin anew with each signal: a host that is stopped is given up. */
static void interrupted_before_a_host_that_hangs(void) {
    begin();
    pid_t host = find_host();
    stop_host(host);
    storm(1000);
    double start = seconds();
    MUST(CKR_DEVICE_ERROR, sign(session, key));
    HOLDS(seconds() - start > 15 && seconds() - start < 30);
    /* The next call gets a new host at once. */
    start = seconds();
    MUST(CKR_SESSION_HANDLE_INVALID, sign(session, key));
    HOLDS(seconds() - start < 10);
    HOLDS(kill(host, SIGCONT) == 0);
    MUST(CKR_OK, p11->C_Finalize(NULL));
    await_hosts(0);
}

/* All signals are blocked and one is ignored, which the host does not inherit. */
static void blocked(void) {
    sigset_t all, mask;
    sigfillset(&all);
    HOLDS(sigprocmask(SIG_SETMASK, &all, NULL) == 0);
    signal(SIGUSR1, SIG_IGN);
    begin();
    char path[32], content[4096];
    snprintf(path, sizeof path, "%d", find_host());
    HOLDS(read_process(path, "status", content, sizeof content) > 0);
    HOLDS(strstr(content, "SigBlk:\t0000000000000000") != NULL);
    /* The host ignores SIGPIPE alone. The two signals of libc cannot be set. */
    const char *ignored = strstr(content, "SigIgn:\t");
    HOLDS(ignored != NULL && (strtoull(ignored + 8, NULL, 16) & ~(3ULL << 31)) == 1ULL << (SIGPIPE - 1));
    kill_host();
    CK_SESSION_INFO info;
    /* The killed host may still be closing its descriptors, one after the other. */
    for (int tries = 0; tries < 100 && p11->C_GetSessionInfo(session, &info) == CKR_DEVICE_ERROR; tries++) usleep(10000);
    MUST(CKR_SESSION_HANDLE_INVALID, p11->C_GetSessionInfo(session, &info));
    HOLDS(sigprocmask(SIG_SETMASK, NULL, &mask) == 0);
    for (int number = 1; number < 32; number++) {
        if (number != SIGKILL && number != SIGSTOP) HOLDS(sigismember(&mask, number) == 1);
    }
    sigset_t pending;
    HOLDS(sigpending(&pending) == 0 && sigisemptyset(&pending));
    MUST(CKR_OK, p11->C_Finalize(NULL));
}

/* SIGPIPE has its default action, and is never raised. */
static void broken(void) {
    for (int round = 0; round < 30; round++) {
        begin();
        pid_t host = find_host();
        HOLDS(host > 0 && kill(host, SIGKILL) == 0);
        /* The call comes before or after the end of the host. */
        if (round % 2 == 0) usleep(rand() % 2000);
        CK_RV result = sign(session, key);
        HOLDS(result == CKR_OK || result == CKR_DEVICE_ERROR || result == CKR_SESSION_HANDLE_INVALID);
        MUST(CKR_OK, p11->C_Finalize(NULL));
    }
}

/* Keys of the terminal signal the program and not its host, because the program may go on. */
static void keys_of_the_terminal(void) {
    static const int keys[] = {SIGINT, SIGQUIT, SIGTSTP, SIGHUP};
    HOLDS(setpgid(0, 0) == 0 || getpgid(0) == getpid());
    for (int index = 0; index < 4; index++) signal(keys[index], see);
    begin();
    for (int index = 0; index < 4; index++) HOLDS(kill(0, keys[index]) == 0);
    HOLDS(seen == 4);
    usleep(200000);
    go_on();
    MUST(CKR_OK, p11->C_Finalize(NULL));
}

/* The module goes on in another root, which is empty, and as another user. */
static void without_files(void) {
    begin();
    mode_t root = geteuid();
    if (root != 0) HOLDS(unshare(CLONE_NEWUSER) == 0);
    HOLDS(mkdir("empty", 0755) == 0 && chroot("empty") == 0 && chdir("/") == 0);
    if (root == 0) HOLDS(setgroups(0, NULL) == 0 && setgid(65534) == 0 && setuid(65534) == 0);
    go_on();
    go_on_with_another_thread();
    MUST(CKR_OK, p11->C_Finalize(NULL));
    /* No host can be started any more, which gives an empty list of slots and no error. */
    MUST(CKR_OK, p11->C_Initialize(NULL));
    CK_ULONG slots = 1;
    MUST(CKR_OK, p11->C_GetSlotList(CK_FALSE, NULL, &slots));
    HOLDS(slots == 0);
    MUST(CKR_OK, p11->C_Finalize(NULL));
}

/* A filter that refuses to make sockets, processes and files. */
static void without_system_calls(void) {
    static const int refused[] = {SYS_socket, SYS_connect, SYS_clone, SYS_clone3, SYS_execve, SYS_openat};
    enum { count = sizeof refused / sizeof *refused };
    struct sock_filter filter[2 * count + 2] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))};
    for (int index = 0; index < count; index++) {
        filter[2 * index + 1] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, refused[index], 0, 1);
        filter[2 * index + 2] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
    }
    filter[2 * count + 1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog program = {2 * count + 2, filter};
    begin();
    HOLDS(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    HOLDS(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
    HOLDS(socket(AF_UNIX, SOCK_STREAM, 0) == -1 && fork() == -1);
    for (int round = 0; round < 20; round++) go_on();
    MUST(CKR_OK, p11->C_Finalize(NULL));
    MUST(CKR_OK, p11->C_Initialize(NULL));
    CK_ULONG slots = 1;
    MUST(CKR_OK, p11->C_GetSlotList(CK_FALSE, NULL, &slots));
    HOLDS(slots == 0);
    MUST(CKR_OK, p11->C_Finalize(NULL));
}

static _Atomic int signed_data;

static void *sign_often(void *nothing) {
    CK_SESSION_HANDLE own = open_session();
    for (int round = 0; round < 3; round++) MUST(CKR_OK, sign(own, key));
    signed_data++;
    MUST(CKR_OK, p11->C_CloseSession(own));
    return nothing;
}

static _Atomic int waiting;

static void *wait_for_event(void *nothing) {
    CK_SLOT_ID slot;
    waiting++;
    MUST(CKR_CRYPTOKI_NOT_INITIALIZED, p11->C_WaitForSlotEvent(0, &slot, NULL));
    return nothing;
}

/* More threads than the module has connections. */
static void many_threads(void) {
    enum { count = 150 };
    pthread_t thread[count];
    begin();
    for (int index = 0; index < count; index++) HOLDS(pthread_create(&thread[index], NULL, sign_often, NULL) == 0);
    for (int index = 0; index < count; index++) pthread_join(thread[index], NULL);
    HOLDS(signed_data == count);
    /* C_Finalize needs none of the connections, with which all other threads wait. */
    for (int index = 0; index < count; index++) HOLDS(pthread_create(&thread[index], NULL, wait_for_event, NULL) == 0);
    while (waiting < count) usleep(1000);
    usleep(300000);
    double start = seconds();
    MUST(CKR_OK, p11->C_Finalize(NULL));
    for (int index = 0; index < count; index++) pthread_join(thread[index], NULL);
    HOLDS(seconds() - start < 10);
    await_hosts(0);
}

static void *work_until_cancelled(void *nothing) {
    CK_SESSION_HANDLE own = open_session();
    for (;;) {
        MUST(CKR_OK, sign(own, key));
        pthread_testcancel();
    }
    return nothing;
}

static void *begin_and_be_cancelled(void *nothing) {
    CK_ULONG slots;
    MUST(CKR_OK, p11->C_GetSlotList(CK_FALSE, NULL, &slots));
    return nothing;
}

/* Threads that are cancelled amid calls end after the call, and leave neither locks nor descriptors behind. */
static void cancelled_threads(void) {
    begin();
    for (int round = 0; round < 40; round++) {
        pthread_t thread[4];
        for (int index = 0; index < 4; index++) pthread_create(&thread[index], NULL, work_until_cancelled, NULL);
        usleep(rand() % 20000);
        for (int index = 0; index < 4; index++) pthread_cancel(thread[index]);
        for (int index = 0; index < 4; index++) pthread_join(thread[index], NULL);
    }
    int open = open_descriptors();
    go_on();
    HOLDS(open_descriptors() == open && open < 30);
    MUST(CKR_OK, p11->C_Finalize(NULL));
    /* Amid the start of a host. */
    for (int round = 0; round < 40; round++) {
        pthread_t thread;
        MUST(CKR_OK, p11->C_Initialize(NULL));
        pthread_create(&thread, NULL, begin_and_be_cancelled, NULL);
        usleep(rand() % 5000);
        pthread_cancel(thread);
        pthread_join(thread, NULL);
        CK_ULONG slots;
        double start = seconds();
        MUST(CKR_OK, p11->C_GetSlotList(CK_FALSE, NULL, &slots));
        HOLDS(seconds() - start < 10);
        MUST(CKR_OK, p11->C_Finalize(NULL));
    }
    await_hosts(0);
}

/* A child that lives long has copies of its parent's descriptors, and does not keep a host alive. */
static void children_that_stay(void) {
    begin();
    int lifeline[2];
    HOLDS(pipe2(lifeline, O_CLOEXEC) == 0);
    pid_t child = fork();
    if (child == 0) {
        close(lifeline[1]);
        char byte;
        _exit(read(lifeline[0], &byte, 1) == 0 ? 0 : 1);
    }
    for (int round = 0; round < 3; round++) {
        MUST(CKR_OK, p11->C_Finalize(NULL));
        await_hosts(0);
        begin();
    }
    MUST(CKR_OK, p11->C_Finalize(NULL));
    close(lifeline[1]);
    int status;
    HOLDS(waitpid(child, &status, 0) == child && status == 0);
}

int main(int count, char **arguments) {
    HOLDS(count == 3);
    mark_host();
    load(arguments[1]);
    static const struct {
        const char *name;
        void (*body)(void);
    } ways[] = {
        {"children", children},
        {"interrupted", interrupted},
        {"hanging", interrupted_before_a_host_that_hangs},
        {"blocked", blocked},
        {"broken", broken},
        {"terminal", keys_of_the_terminal},
        {"files", without_files},
        {"calls", without_system_calls},
        {"threads", many_threads},
        {"cancelled", cancelled_threads},
        {"staying", children_that_stay},
    };
    for (size_t index = 0; index < sizeof ways / sizeof *ways; index++) {
        if (strcmp(ways[index].name, arguments[2]) != 0) continue;
        ways[index].body();
        must_have_no_child();
        return 0;
    }
    return 1;
}
