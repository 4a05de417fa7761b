/* A program whose surroundings the module must not trust: functions of the C library that are replaced, a folder that changes, an
 * environment that another thread changes, descriptors that are used again amid a call, and C_Finalize under calls. */
#define _GNU_SOURCE
#include "module.h"
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

/* Sanitizers and preloaded libraries replace functions as this program does. Between clone and exec the module's child shares the
 * program's memory, so that a replacement which runs there would change it. */
static atomic_int replaced;

int execve(const char *path, char *const arguments[], char *const environment[]) {
    replaced++;
    return syscall(SYS_execve, path, arguments, environment);
}

int dup2(int descriptor, int other) {
    replaced++;
    return syscall(SYS_dup3, descriptor, other, 0);
}

sighandler_t signal(int number, sighandler_t handler) {
    replaced++;
    (void)number;
    return handler;
}

static void begin(const char *path) {
    load(path);
    MUST(CKR_OK, p11->C_Initialize(NULL));
}

static void use_replaced_functions(const char *path) {
    begin(path);
    open_session();
    HOLDS(replaced == 0);
}

static void write_file(const char *path, const char *text, int mode) {
    int descriptor = open(path, O_WRONLY | O_CREAT, mode);
    HOLDS(descriptor >= 0 && write(descriptor, text, strlen(text)) == (ssize_t)strlen(text));
    close(descriptor);
}

/* The loader keeps a relative path, which means another file once the program is in another folder. */
static void change_folder(const char *path) {
    char here[PATH_MAX], folder[PATH_MAX], name[PATH_MAX];
    HOLDS(getcwd(here, sizeof here) != NULL && strlen(path) < sizeof folder);
    strcpy(folder, path);
    char *last = strrchr(folder, '/');
    HOLDS(last != NULL);
    strcpy(name, ".");
    strcat(name, last);
    *last = 0;
    HOLDS(chdir(folder) == 0);
    begin(name);
    HOLDS(chdir(here) == 0 && mkdir("other", 0700) == 0 && chdir("other") == 0);
    write_file(name, "", 0600);
    write_file("tokenkitd", "#!/bin/sh\ntouch was-run\n", 0700);
    open_session();
    HOLDS(access("was-run", F_OK) != 0);
}

static atomic_int is_over;

static void *change_variables(void *nothing) {
    char name[32];
    for (int round = 0; !is_over; round++) {
        snprintf(name, sizeof name, "VARIABLE_%d", round % 5000);
        setenv(name, "value", 1);
    }
    return nothing;
}

static void change_environment(const char *path) {
    begin(path);
    CK_SESSION_HANDLE session = open_session();
    HOLDS(setenv("TOKENKIT_DEBUG", "./late", 1) == 0);
    pthread_t thread;
    HOLDS(pthread_create(&thread, NULL, change_variables, NULL) == 0);
    CK_SESSION_INFO info;
    for (int round = 0; round < 20000; round++) MUST(CKR_OK, p11->C_GetSessionInfo(session, &info));
    is_over = 1;
    pthread_join(thread, NULL);
    HOLDS(access("./late", F_OK) != 0);
}

static void *wait_for_event(void *nothing) {
    CK_SLOT_ID slot;
    CK_RV result = p11->C_WaitForSlotEvent(0, &slot, NULL);
    HOLDS(result != CKR_OK);
    is_over = 1;
    return nothing;
}

/* The program gives the numbers of the module's sockets to its own while a call waits at one of them. */
static void use_descriptors_again(const char *path) {
    enum { most = 300 };
    static const char bytes[] = "0123456789abcdef0123456789ABCDEF";
    int own[most], count = 0;
    struct stat status;
    begin(path);
    open_session();
    pthread_t thread;
    HOLDS(pthread_create(&thread, NULL, wait_for_event, NULL) == 0);
    sleep(1);
    for (int descriptor = 3; descriptor < most; descriptor++) {
        int ends[2];
        if (fstat(descriptor, &status) != 0 || !S_ISSOCK(status.st_mode)) continue;
        HOLDS(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
        int other = fcntl(ends[1], F_DUPFD, most);
        HOLDS(other >= 0 && write(other, bytes, sizeof bytes) == sizeof bytes);
        HOLDS(syscall(SYS_dup3, ends[0], descriptor, 0) == descriptor);
        close(ends[0]);
        close(ends[1]);
        own[count++] = descriptor;
    }
    HOLDS(count > 1);
    pthread_join(thread, NULL);
    for (int index = 0; index < count; index++) {
        char found[sizeof bytes];
        HOLDS(recv(own[index], found, sizeof found, MSG_DONTWAIT) == sizeof bytes);
        HOLDS(memcmp(found, bytes, sizeof bytes) == 0);
    }
}

/* Calls until one fails, which must be because the module is finalized. */
static void *call_on(void *nothing) {
    for (;;) {
        CK_SLOT_ID slots[8];
        CK_ULONG count = 8;
        CK_SESSION_HANDLE session;
        CK_OBJECT_HANDLE objects[8];
        CK_RV result = p11->C_GetSlotList(CK_TRUE, slots, &count);
        if (result == CKR_OK) result = p11->C_OpenSession(slots[0], CKF_SERIAL_SESSION, NULL, NULL, &session);
        if (result == CKR_OK) result = p11->C_FindObjectsInit(session, NULL, 0);
        if (result == CKR_OK) result = p11->C_FindObjects(session, objects, 8, &count);
        if (result == CKR_OK) result = p11->C_CloseSession(session);
        if (result == CKR_OK) continue;
        MUST(CKR_CRYPTOKI_NOT_INITIALIZED, result);
        return nothing;
    }
}

static void finalize_under_calls(const char *path) {
    load(path);
    for (int round = 0; round < 20; round++) {
        pthread_t threads[8];
        MUST(CKR_OK, p11->C_Initialize(NULL));
        for (int index = 0; index < 8; index++) HOLDS(pthread_create(&threads[index], NULL, call_on, NULL) == 0);
        usleep(30000 + round * 3000);
        MUST(CKR_OK, p11->C_Finalize(NULL));
        for (int index = 0; index < 8; index++) pthread_join(threads[index], NULL);
    }
}

/* The first process in a PID namespace ends the namespace with it: the program's next child has to be the first. */
static void make_namespace(const char *path) {
    HOLDS(unshare((geteuid() == 0 ? 0 : CLONE_NEWUSER) | CLONE_NEWPID) == 0);
    begin(path);
    CK_ULONG count = 0;
    MUST(CKR_OK, p11->C_GetSlotList(CK_FALSE, NULL, &count));
    int status = 1, child = fork();
    if (child == 0) _exit(0);
    HOLDS(child > 0 && waitpid(child, &status, 0) == child && status == 0);
}

int main(int count, char **arguments) {
    HOLDS(count == 3);
    const char *way = arguments[2];
    if (strcmp(way, "functions") == 0) use_replaced_functions(arguments[1]);
    else if (strcmp(way, "folder") == 0) change_folder(arguments[1]);
    else if (strcmp(way, "environment") == 0) change_environment(arguments[1]);
    else if (strcmp(way, "descriptors") == 0) use_descriptors_again(arguments[1]);
    else if (strcmp(way, "finalize") == 0) finalize_under_calls(arguments[1]);
    else if (strcmp(way, "namespace") == 0) make_namespace(arguments[1]);
    else HOLDS(0);
    return 0;
}
