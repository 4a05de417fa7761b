/* A program of several threads that forks a thousand times amid their calls. A child has two threads, which
 * initialise the module or call it uninitialised; some children end while their threads call. */
#define _GNU_SOURCE
#include "module.h"
#include "host.h"

enum { children = 1000, together = 25, threads = 4, readers = 3 };

static _Atomic int is_over, calls;

/* The parent's threads, which must not notice any of it. */
static void *go_on(void *nothing) {
    CK_SESSION_HANDLE session = open_session();
    CK_OBJECT_HANDLE key = find(session, CKO_PRIVATE_KEY, 1);
    while (!is_over) {
        find(session, CKO_CERTIFICATE, 1);
        if (calls++ % 8 == 0) MUST(CKR_OK, sign(session, key));
        CK_SESSION_HANDLE other = open_session();
        MUST(CKR_OK, p11->C_CloseSession(other));
    }
    return nothing;
}

/* Reads two objects in turn, whose attributes the module keeps and frees. */
static void *read_attributes(void *nothing) {
    CK_SESSION_HANDLE session = open_session();
    CK_OBJECT_HANDLE objects[2];
    CK_ULONG count = 0;
    MUST(CKR_OK, p11->C_FindObjectsInit(session, NULL, 0));
    MUST(CKR_OK, p11->C_FindObjects(session, objects, 2, &count));
    MUST(CKR_OK, p11->C_FindObjectsFinal(session));
    HOLDS(count == 2);
    for (int index = 0; !is_over; index++) {
        CK_OBJECT_CLASS class;
        CK_ATTRIBUTE attribute = {CKA_CLASS, &class, sizeof class};
        MUST(CKR_OK, p11->C_GetAttributeValue(session, objects[index % 2], &attribute, 1));
    }
    return nothing;
}

static CK_SESSION_HANDLE parents_session;
static CK_OBJECT_HANDLE parents_key;

static _Atomic int rounds;

static void *do_without(void *nothing) {
    CK_ULONG slots = 0;
    CK_INFO info;
    for (int round = 0; round < 20; round++, rounds++) {
        MUST(CKR_CRYPTOKI_NOT_INITIALIZED, p11->C_GetSlotList(CK_TRUE, NULL, &slots));
        MUST(CKR_CRYPTOKI_NOT_INITIALIZED, sign(parents_session, parents_key));
        MUST(CKR_CRYPTOKI_NOT_INITIALIZED, p11->C_GetInfo(&info));
        MUST(CKR_CRYPTOKI_NOT_INITIALIZED, p11->C_Finalize(NULL));
    }
    return nothing;
}

/* Both threads initialise the module. One comes too late, and both go on. */
static void *initialise(void *signs) {
    CK_RV result = p11->C_Initialize(NULL);
    HOLDS(result == CKR_OK || result == CKR_CRYPTOKI_ALREADY_INITIALIZED);
    /* The other thread may still be initialising. */
    CK_INFO info;
    while ((result = p11->C_GetInfo(&info)) == CKR_CRYPTOKI_NOT_INITIALIZED) usleep(100);
    MUST(CKR_OK, result);
    MUST(CKR_SESSION_HANDLE_INVALID, sign(parents_session, parents_key));
    CK_SESSION_HANDLE session = open_session();
    find(session, CKO_CERTIFICATE, 1);
    if (signs != NULL) {
        result = p11->C_Login(session, CKU_USER, pin, 6);
        HOLDS(result == CKR_OK || result == CKR_USER_ALREADY_LOGGED_IN);
        MUST(CKR_OK, sign(session, find(session, CKO_PRIVATE_KEY, 1)));
    }
    return NULL;
}

static void await(pid_t child) {
    int status = 0;
    HOLDS(waitpid(child, &status, 0) == child);
    if (status != 0) fprintf(stderr, "a child ended with %s %d\n", WIFEXITED(status) ? "exit" : "signal",
                             WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
    HOLDS(status == 0);
}

/* Forks amid reads, children that only initialise the module. They must not free what a thread of the parent was about to free. */
static void fork_amid_reads(void) {
    pthread_t thread[readers];
    is_over = 0;
    MUST(CKR_OK, p11->C_Initialize(NULL));
    for (int index = 0; index < readers; index++) pthread_create(&thread[index], NULL, read_attributes, NULL);
    for (int round = 0; round < 400; round++) {
        pid_t batch[together];
        for (int index = 0; index < together; index++) {
            batch[index] = fork();
            if (batch[index] != 0) continue;
            alarm(60);
            MUST(CKR_OK, p11->C_Initialize(NULL));
            _exit(0);
        }
        for (int index = 0; index < together; index++) await(batch[index]);
    }
    is_over = 1;
    for (int index = 0; index < readers; index++) pthread_join(thread[index], NULL);
    MUST(CKR_OK, p11->C_Finalize(NULL));
}

static void be_child(int number) {
    alarm(60);
    pthread_t thread[2];
    int kind = number % 10;
    /* One child in ten initialises the module; half of these log in and sign, the others only search. */
    void *signs = number % 20 == 0 ? &thread : NULL;
    for (int index = 0; index < 2; index++) {
        HOLDS(pthread_create(&thread[index], NULL, kind == 0 ? initialise : do_without, signs) == 0);
    }
    if (kind > 5) {
        while (rounds < kind) usleep(10);
        kind % 2 == 0 ? exit(0) : _exit(0);
    }
    for (int index = 0; index < 2; index++) pthread_join(thread[index], NULL);
    if (number % 40 == 0) MUST(CKR_OK, p11->C_Finalize(NULL));
    number % 3 == 0 ? exit(0) : _exit(0);
}

static void *begin_and_end(void *nothing) {
    while (!is_over) {
        CK_ULONG slots = 0;
        p11->C_Initialize(NULL);
        p11->C_GetSlotList(CK_FALSE, NULL, &slots);
        p11->C_Finalize(NULL);
        usleep(rand() % 5000);
    }
    return nothing;
}

/* A child that is forked while the parent's module begins or ends gets its own host. */
static void fork_amid_begin_and_end(void) {
    pthread_t thread[2];
    is_over = 0;
    for (int index = 0; index < 2; index++) pthread_create(&thread[index], NULL, begin_and_end, NULL);
    for (int round = 0; round < 100; round++) {
        usleep(rand() % 5000);
        pid_t child = fork();
        if (child == 0) {
            alarm(15);
            CK_ULONG slots = 0;
            MUST(CKR_OK, p11->C_Initialize(NULL));
            MUST(CKR_OK, p11->C_GetSlotList(CK_TRUE, NULL, &slots));
            HOLDS(slots == 1);
            _exit(0);
        }
        await(child);
    }
    is_over = 1;
    for (int index = 0; index < 2; index++) pthread_join(thread[index], NULL);
}

int main(int count, char **arguments) {
    HOLDS(count == 2);
    mark_host();
    load(arguments[1]);
    MUST(CKR_OK, p11->C_Initialize(NULL));
    parents_session = open_session();
    MUST(CKR_OK, p11->C_Login(parents_session, CKU_USER, pin, 6));
    parents_key = find(parents_session, CKO_PRIVATE_KEY, 1);

    pthread_t thread[threads];
    for (int index = 0; index < threads; index++) pthread_create(&thread[index], NULL, go_on, NULL);
    for (int number = 0; number < children;) {
        pid_t batch[together];
        for (int index = 0; index < together; index++, number++) {
            batch[index] = fork();
            HOLDS(batch[index] >= 0);
            if (batch[index] == 0) be_child(number);
        }
        for (int index = 0; index < together; index++) await(batch[index]);
    }
    int made = calls;
    while (calls < made + 100) usleep(1000);
    is_over = 1;
    for (int index = 0; index < threads; index++) pthread_join(thread[index], NULL);
    /* The login, the session and the key are still valid. */
    MUST(CKR_OK, sign(parents_session, parents_key));
    must_have_no_child();
    await_hosts(1);
    MUST(CKR_OK, p11->C_Finalize(NULL));
    await_hosts(0);

    fork_amid_begin_and_end();
    fork_amid_reads();
    await_hosts(0);
    must_have_no_child();
    printf("%d calls of the parent\n", (int)calls);
    return 0;
}
