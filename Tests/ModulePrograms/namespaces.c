/* A parent and its child by fork that are each the first process of a PID namespace: they have the same process id. */
#define _GNU_SOURCE
#include "module.h"
#include <errno.h>
#include <sched.h>

/* Runs a function as the first process of a new PID namespace. */
static void run_first(void (*function)(void)) {
    uid_t user = geteuid();
    if (unshare(CLONE_NEWPID) != 0) {
        HOLDS(unshare(CLONE_NEWUSER | CLONE_NEWPID) == 0);
        /* Without a number of its own there, the user's files would be another's. */
        FILE *map = fopen("/proc/self/uid_map", "w");
        HOLDS(map != NULL && fprintf(map, "%d %d 1", (int)user, (int)user) > 0 && fclose(map) == 0);
    }
    pid_t child = fork();
    HOLDS(child >= 0);
    if (child == 0) {
        HOLDS(getpid() == 1);
        function();
        exit(0);
    }
    int status = 0;
    HOLDS(waitpid(child, &status, 0) == child && status == 0);
}

static CK_SESSION_HANDLE session;
static CK_OBJECT_HANDLE key;

static void be_child(void) {
    CK_ULONG slots = 0;
    CK_INFO info;
    MUST(CKR_CRYPTOKI_NOT_INITIALIZED, p11->C_GetInfo(&info));
    MUST(CKR_CRYPTOKI_NOT_INITIALIZED, p11->C_GetSlotList(CK_TRUE, NULL, &slots));
    MUST(CKR_CRYPTOKI_NOT_INITIALIZED, sign(session, key));
    MUST(CKR_CRYPTOKI_NOT_INITIALIZED, p11->C_Finalize(NULL));
    for (int round = 0; round < 2; round++) {
        MUST(CKR_OK, p11->C_Initialize(NULL));
        MUST(CKR_CRYPTOKI_ALREADY_INITIALIZED, p11->C_Initialize(NULL));
        MUST(CKR_SESSION_HANDLE_INVALID, sign(session, key));
        CK_SESSION_HANDLE own = open_session();
        MUST(CKR_OK, p11->C_Login(own, CKU_USER, pin, 6));
        MUST(CKR_OK, sign(own, find(own, CKO_PRIVATE_KEY, 1)));
        MUST(CKR_OK, p11->C_Finalize(NULL));
    }
}

static void be_parent(void) {
    MUST(CKR_OK, p11->C_Initialize(NULL));
    session = open_session();
    MUST(CKR_OK, p11->C_Login(session, CKU_USER, pin, 6));
    key = find(session, CKO_PRIVATE_KEY, 1);
    MUST(CKR_OK, sign(session, key));
    run_first(be_child);
    MUST(CKR_OK, sign(session, key));
    MUST(CKR_OK, p11->C_Finalize(NULL));
}

int main(int count, char **arguments) {
    HOLDS(count == 2);
    alarm(300);
    load(arguments[1]);
    run_first(be_parent);
    return 0;
}
