/* A program that forks, as servers do: the child starts anew or not at all, and the parent's card stays as it was. */
#include "module.h"

#ifdef MADVISE_FAILS
#include <errno.h>

static volatile int refusals;

/* Replaces libc's function in a program that is linked with -rdynamic, as on a kernel that wipes no page in a child. */
int madvise(void *start, size_t length, int advice) {
    (void)start, (void)length, (void)advice;
    refusals++;
    errno = EINVAL;
    return -1;
}
#endif

static int child_result(pid_t child) {
    int status = 0;
    HOLDS(waitpid(child, &status, 0) == child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static volatile int is_over;

static void *busy(void *nothing) {
    while (!is_over) {
        CK_ULONG slots = 0;
        p11->C_GetSlotList(CK_TRUE, NULL, &slots);
        CK_SESSION_HANDLE session = open_session();
        find(session, CKO_CERTIFICATE, 1);
        p11->C_CloseSession(session);
    }
    return nothing;
}

/* The calls of a child that starts anew. */
static void use_anew(void) {
    MUST(CKR_OK, p11->C_Initialize(NULL));
    CK_SESSION_HANDLE session = open_session();
    MUST(CKR_OK, p11->C_Login(session, CKU_USER, pin, 6));
    MUST(CKR_OK, sign(session, find(session, CKO_PRIVATE_KEY, 1)));
    MUST(CKR_OK, p11->C_Finalize(NULL));
}

int main(int count, char **arguments) {
    HOLDS(count == 2);
    load(arguments[1]);
    MUST(CKR_OK, p11->C_Initialize(NULL));
    CK_SESSION_HANDLE session = open_session();
    MUST(CKR_OK, p11->C_Login(session, CKU_USER, pin, 6));
    CK_OBJECT_HANDLE key = find(session, CKO_PRIVATE_KEY, 1);
    MUST(CKR_OK, sign(session, key));

    pid_t child = fork();
    if (child == 0) {
        alarm(60);
        CK_ULONG slots = 0;
        MUST(CKR_CRYPTOKI_NOT_INITIALIZED, p11->C_GetSlotList(CK_TRUE, NULL, &slots));
        MUST(CKR_CRYPTOKI_NOT_INITIALIZED, sign(session, key));
        MUST(CKR_CRYPTOKI_NOT_INITIALIZED, p11->C_Finalize(NULL));
        MUST(CKR_OK, p11->C_Initialize(NULL));
        MUST(CKR_SESSION_HANDLE_INVALID, sign(session, key));
        MUST(CKR_OK, p11->C_Finalize(NULL));
        use_anew();
        exit(0);
    }
    HOLDS(child_result(child) == 0);
    MUST(CKR_OK, sign(session, key));

    /* A child that exits without using the module takes nothing from the parent. */
    child = fork();
    if (child == 0) exit(0);
    HOLDS(child_result(child) == 0);
    MUST(CKR_OK, sign(session, key));

    /* A fork amid other threads' calls: the child waits for none of their locks, in the module or in its libraries. */
    pthread_t threads[4];
    for (int index = 0; index < 4; index++) pthread_create(&threads[index], NULL, busy, NULL);
    for (int round = 0; round < 60; round++) {
        child = fork();
        if (child == 0) {
            alarm(60);
            CK_ULONG slots = 0;
            MUST(CKR_CRYPTOKI_NOT_INITIALIZED, p11->C_GetSlotList(CK_TRUE, NULL, &slots));
            if (round % 2 == 0) use_anew();
            _exit(0);
        }
        HOLDS(child_result(child) == 0);
    }
    is_over = 1;
    for (int index = 0; index < 4; index++) pthread_join(threads[index], NULL);
    MUST(CKR_OK, sign(session, key));
    MUST(CKR_OK, p11->C_Finalize(NULL));
#ifdef MADVISE_FAILS
    HOLDS(refusals > 0);
#endif
    return 0;
}
