/* A program initialises the module wrongly, twice and again, unloads it, and ends it in an exit handler. */
#include "module.h"
#include <malloc.h>

static const int signals[] = {SIGSEGV, SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGQUIT, SIGPIPE, SIGCHLD, SIGALRM};
enum { signal_count = sizeof signals / sizeof *signals };

static void own_handler(int number) { _exit(number); }

static void end_it(void) { p11->C_Finalize(NULL); }

static _Atomic int is_over;

/* Calls during C_Finalize succeed, or find that the module has ended. */
static void *call_it(void *nothing) {
    while (!is_over) {
        CK_ULONG slots = 0;
        CK_INFO info;
        CK_RV listed = p11->C_GetSlotList(CK_TRUE, NULL, &slots), told = p11->C_GetInfo(&info);
        HOLDS(listed == CKR_OK || listed == CKR_CRYPTOKI_NOT_INITIALIZED);
        HOLDS(told == CKR_OK || told == CKR_CRYPTOKI_NOT_INITIALIZED);
    }
    return nothing;
}

static CK_RV lock(void *mutex) { return mutex == NULL ? CKR_OK : CKR_OK; }
static CK_RV make(void **mutex) { return *mutex = NULL, CKR_OK; }

int main(int count, char **arguments) {
    HOLDS(count == 2);
    struct sigaction own = {.sa_handler = own_handler}, now;
    for (int index = 0; index < signal_count; index++) sigaction(signals[index], &own, NULL);

    void *library = load(arguments[1]);
    CK_C_INITIALIZE_ARGS wrong = {.pReserved = &own};
    MUST(CKR_ARGUMENTS_BAD, p11->C_Initialize(&wrong));
    CK_C_INITIALIZE_ARGS some = {.LockMutex = lock};
    MUST(CKR_ARGUMENTS_BAD, p11->C_Initialize(&some));
    CK_C_INITIALIZE_ARGS only = {.CreateMutex = make, .DestroyMutex = lock, .LockMutex = lock, .UnlockMutex = lock};
    MUST(CKR_CANT_LOCK, p11->C_Initialize(&only));
    CK_C_INITIALIZE_ARGS both = only;
    both.flags = CKF_OS_LOCKING_OK | CKF_LIBRARY_CANT_CREATE_OS_THREADS;
    MUST(CKR_OK, p11->C_Initialize(&both));
    MUST(CKR_CRYPTOKI_ALREADY_INITIALIZED, p11->C_Initialize(NULL));
    MUST(CKR_ARGUMENTS_BAD, p11->C_Finalize(&own));

    CK_INFO info;
    MUST(CKR_OK, p11->C_GetInfo(&info));
    HOLDS(info.cryptokiVersion.major == 2 && memcmp(info.manufacturerID, "tokenkit  ", 10) == 0);
    MUST(CKR_ARGUMENTS_BAD, p11->C_GetInfo(NULL));
    MUST(CKR_OK, p11->C_Finalize(NULL));
    MUST(CKR_CRYPTOKI_NOT_INITIALIZED, p11->C_Finalize(NULL));
    /* The flags that programs are known to give. */
    const CK_FLAGS given[] = {0, CKF_OS_LOCKING_OK, CKF_OS_LOCKING_OK | CKF_LIBRARY_CANT_CREATE_OS_THREADS};
    for (int index = 0; index < 3; index++) {
        CK_C_INITIALIZE_ARGS usual = {.flags = given[index]};
        CK_ULONG slots = 0;
        MUST(CKR_OK, p11->C_Initialize(&usual));
        MUST(CKR_OK, p11->C_GetSlotList(CK_FALSE, NULL, &slots));
        MUST(CKR_OK, p11->C_Finalize(NULL));
    }

    int next = 0;
    for (int round = 0; round < 20; round++) {
        CK_ULONG slots = 0;
        MUST(CKR_OK, p11->C_Initialize(NULL));
        MUST(CKR_OK, p11->C_GetSlotList(CK_TRUE, NULL, &slots));
        MUST(CKR_OK, p11->C_Finalize(NULL));
        dlclose(library);
        library = load(arguments[1]);
        /* Nothing stays open from round to round: the next file gets the same descriptor. */
        int descriptor = dup(0);
        HOLDS(round == 0 || descriptor == next);
        next = descriptor;
        close(descriptor);
    }
    /* Memory does not grow. */
    size_t before = 0;
    for (int round = 0; round < 600; round++) {
        if (round == 100) before = mallinfo2().uordblks;
        CK_ULONG slots = 0;
        MUST(CKR_OK, p11->C_Initialize(NULL));
        MUST(CKR_OK, p11->C_GetSlotList(CK_TRUE, NULL, &slots));
        MUST(CKR_OK, p11->C_Finalize(NULL));
    }
    HOLDS(mallinfo2().uordblks < before + 500 * 1000);
    pthread_t threads[4];
    for (int index = 0; index < 4; index++) pthread_create(&threads[index], NULL, call_it, NULL);
    for (int round = 0; round < 500; round++) {
        MUST(CKR_OK, p11->C_Initialize(NULL));
        if (round % 3 == 0) usleep(200);
        MUST(CKR_OK, p11->C_Finalize(NULL));
    }
    is_over = 1;
    for (int index = 0; index < 4; index++) pthread_join(threads[index], NULL);
    /* Memory does not grow with threads amid calls either, without a keychain: a round of 2 KB that stays would show. */
    CK_ULONG known = 0;
    MUST(CKR_OK, p11->C_Initialize(NULL));
    MUST(CKR_OK, p11->C_GetSlotList(CK_FALSE, NULL, &known));
    MUST(CKR_OK, p11->C_Finalize(NULL));
    HOLDS(known > 0 || mallinfo2().uordblks < before + 100 * 1000);
    for (int index = 0; index < signal_count; index++) {
        sigaction(signals[index], NULL, &now);
        HOLDS(now.sa_handler == own_handler);
    }
    /* C_Finalize runs in an exit handler after those of the module's libraries, as in libraries that load the module. */
    atexit(end_it);
    MUST(CKR_OK, p11->C_Initialize(NULL));
    CK_ULONG slots = 0;
    MUST(CKR_OK, p11->C_GetSlotList(CK_FALSE, NULL, &slots));
    return 0;
}
