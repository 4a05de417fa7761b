/* A program that replaces itself while its threads call the module: nothing of the old image is left, and the new one begins anew.
 * The second argument, which the program gives to itself, is the number of descriptors that it began with. */
#define _GNU_SOURCE
#include "module.h"
#include "host.h"
#include <errno.h>
#include <stdatomic.h>

enum { images = 20, threads = 4 };

static _Atomic int calls;

static void *call(void *nothing) {
    CK_SESSION_HANDLE session = open_session();
    for (;;) {
        find(session, CKO_CERTIFICATE, 1);
        calls++;
    }
    return nothing;
}

static const char *count_sockets = "exit $(find /proc/self/fd -lname 'socket:*' | wc -l)";

/* The number of sockets that a child by vfork has, which shares the parent's memory until it replaces itself. */
static int sockets_of_child(void) {
    pid_t child = vfork();
    if (child == 0) {
        execl("/bin/sh", "sh", "-c", count_sockets, NULL);
        _exit(127);
    }
    int status;
    HOLDS(waitpid(child, &status, 0) == child && WIFEXITED(status));
    return WEXITSTATUS(status);
}

int main(int count, char **arguments) {
    HOLDS(count == 2 || count == 4);
    int image = count == 4 ? atoi(arguments[2]) : 0;
    int descriptors = count == 4 ? atoi(arguments[3]) : open_descriptors();
    if (image == 0) mark_host();
    HOLDS(open_descriptors() == descriptors);
    /* Who started the program may have left it some. */
    int sockets = sockets_of_child();
    /* The host of the image before notices that its client is gone. */
    await_hosts(0);
    load(arguments[1]);
    CK_INFO info;
    MUST(CKR_CRYPTOKI_NOT_INITIALIZED, p11->C_GetInfo(&info));
    MUST(CKR_OK, p11->C_Initialize(NULL));
    CK_SESSION_HANDLE session = open_session();
    MUST(CKR_OK, p11->C_Login(session, CKU_USER, pin, 6));
    MUST(CKR_OK, sign(session, find(session, CKO_PRIVATE_KEY, 1)));
    HOLDS(find_hosts(NULL, 0) == 1);
    if (image == images) {
        HOLDS(sockets_of_child() == sockets);
        MUST(CKR_OK, p11->C_Finalize(NULL));
        await_hosts(0);
        must_have_no_child();
        return 0;
    }
    pthread_t thread;
    for (int index = 0; index < threads; index++) HOLDS(pthread_create(&thread, NULL, call, NULL) == 0);
    while (calls < 10 * threads) usleep(1000);
    char next[16], number[16];
    snprintf(next, sizeof next, "%d", image + 1);
    snprintf(number, sizeof number, "%d", descriptors);
    execl("/proc/self/exe", arguments[0], arguments[1], next, number, NULL);
    return 1;
}
