/* Sixteen threads at work while their host is killed or stopped at random moments. Each call returns in time, with a code that
 * says what happened, and no signature is wrong. The second argument is "kill" or "stop", the third the number of times, the
 * fourth how much faster time passes. The token has one P-256 key pair, or several, of which the one with the id 01 is used. */
#define _GNU_SOURCE
#include "module.h"
#include "haste.h"
#include "host.h"
#include "signature.h"
#include <stdatomic.h>

/* A host is given up after 25 s; the next one gets the rest of the time to start and answer. */
enum { threads = 16, longest_allowed = 30000 };

static _Atomic int is_over, signatures, failures;
static _Atomic double struck_at;
static _Atomic long longest; /* call, in milliseconds */
static CK_BYTE id[32] = {1};
static CK_ULONG id_length = 1;

static int is_known(CK_RV code) {
    switch (code) {
        case CKR_OK:
        case CKR_DEVICE_ERROR:
        case CKR_SESSION_HANDLE_INVALID:
        case CKR_OBJECT_HANDLE_INVALID:
        case CKR_KEY_HANDLE_INVALID:
        case CKR_USER_NOT_LOGGED_IN:
        case CKR_USER_ALREADY_LOGGED_IN:
        case CKR_OPERATION_NOT_INITIALIZED: return 1;
        default: return 0;
    }
}

/* The code of a call, after checks of the code and of the time. */
#define CALL(call) \
    ({ \
        double start_ = seconds(); \
        CK_RV code_ = (call); \
        /* For a call that began before the signal, the time counts from the signal. */ \
        if (start_ < struck_at) start_ = struck_at; \
        long took_ = (long)((seconds() - start_) * 1000), most_ = longest; \
        while (took_ > most_ && !atomic_compare_exchange_weak(&longest, &most_, took_)); \
        if (!is_known(code_)) fprintf(stderr, "%s:%d: %s: 0x%lx\n", __FILE__, __LINE__, #call, code_); \
        if (took_ > longest_allowed) fprintf(stderr, "%s took %ld ms\n", #call, took_); \
        HOLDS(is_known(code_) && took_ <= longest_allowed); \
        if (code_ != CKR_OK) failures++; \
        code_; \
    })

/* A session, a login, a key and signatures, until a call fails. */
static void work(unsigned int *seed) {
    CK_SLOT_ID slots[16];
    CK_ULONG count = 16;
    if (CALL(p11->C_GetSlotList(CK_TRUE, slots, &count)) != CKR_OK || count == 0) return;
    CK_SESSION_HANDLE session;
    if (CALL(p11->C_OpenSession(slots[0], CKF_SERIAL_SESSION, NULL, NULL, &session)) != CKR_OK) return;
    CK_RV login = CALL(p11->C_Login(session, CKU_USER, pin, 6));
    if (login != CKR_OK && login != CKR_USER_ALREADY_LOGGED_IN) return;
    for (int round = 0; round < 20; round++) {
        CK_OBJECT_CLASS class = CKO_PRIVATE_KEY;
        CK_ATTRIBUTE template[] = {{CKA_CLASS, &class, sizeof class}, {CKA_ID, id, id_length}};
        CK_OBJECT_HANDLE key;
        if (CALL(p11->C_FindObjectsInit(session, template, 2)) != CKR_OK) return;
        if (CALL(p11->C_FindObjects(session, &key, 1, &count)) != CKR_OK) return;
        if (CALL(p11->C_FindObjectsFinal(session)) != CKR_OK) return;
        if (count != 1) return;
        CK_MECHANISM mechanism = {CKM_ECDSA, NULL, 0};
        CK_BYTE digest[32], signature[64];
        for (int index = 0; index < 32; index++) digest[index] = rand_r(seed);
        CK_ULONG length = sizeof signature;
        if (CALL(p11->C_SignInit(session, &mechanism, key)) != CKR_OK) return;
        if (CALL(p11->C_Sign(session, digest, sizeof digest, signature, &length)) != CKR_OK) return;
        HOLDS(is_signature(digest, signature, length));
        signatures++;
        if (is_over) break;
    }
    CALL(p11->C_CloseSession(session));
}

static void *work_on(void *number) {
    unsigned int seed = (unsigned int)(uintptr_t)number;
    while (!is_over) work(&seed);
    return NULL;
}

/* Sends a signal to a new host at a random moment: while it starts, logs in or works. */
static void strike(int number, pid_t *struck) {
    pid_t host;
    for (int tries = 0; (host = find_host_besides(*struck)) == 0; tries++) {
        HOLDS(tries < 20000);
        usleep(3000);
    }
    usleep(rand() % (rand() % 4 == 0 ? 200000 : 30000));
    struck_at = seconds();
    kill(host, number);
    *struck = host;
}

/* The public key of the pair to use, whose id is set. */
static CK_OBJECT_HANDLE find_public_key(CK_SESSION_HANDLE session) {
    CK_OBJECT_CLASS class = CKO_PUBLIC_KEY;
    CK_ATTRIBUTE template = {CKA_CLASS, &class, sizeof class};
    CK_OBJECT_HANDLE keys[8];
    CK_ULONG count = 0;
    MUST(CKR_OK, p11->C_FindObjectsInit(session, &template, 1));
    MUST(CKR_OK, p11->C_FindObjects(session, keys, 8, &count));
    MUST(CKR_OK, p11->C_FindObjectsFinal(session));
    if (count != 1) return find(session, CKO_PUBLIC_KEY, 1);
    CK_ATTRIBUTE attribute = {CKA_ID, id, sizeof id};
    MUST(CKR_OK, p11->C_GetAttributeValue(session, keys[0], &attribute, 1));
    id_length = attribute.ulValueLen;
    return keys[0];
}

static void be_struck(int stops, int times) {
    srand(getpid());
    mark_host();
    MUST(CKR_OK, p11->C_Initialize(NULL));
    CK_SESSION_HANDLE session = open_session();
    read_public_key(session, find_public_key(session));
    pthread_t thread[threads];
    for (int index = 0; index < threads; index++) {
        HOLDS(pthread_create(&thread[index], NULL, work_on, (void *)(uintptr_t)(index + 1)) == 0);
    }
    pid_t struck = 0;
    double start = seconds();
    for (int time = 0; time < times; time++) {
        strike(stops ? SIGSTOP : SIGKILL, &struck);
        if (stops) {
            /* The threads get another host when their time is over, and work on, unless the stopped one holds the card. */
            int before = signatures;
            while (signatures < before + threads && seconds() - struck_at < 28) usleep(10000);
            /* A host that continues has no client. */
            kill(struck, SIGCONT);
        }
        /* A wait of the program never sees the process that starts a host, and no child is left. */
        int status;
        HOLDS(waitpid(-1, &status, WNOHANG) == -1 && errno == ECHILD);
    }
    int before = signatures;
    while (signatures < before + threads) usleep(1000);
    is_over = 1;
    for (int index = 0; index < threads; index++) pthread_join(thread[index], NULL);
    must_have_no_child();
    MUST(CKR_OK, p11->C_Finalize(NULL));
    await_hosts(0);
    printf("%d times in %.1f s: %d signatures, %d failures, the longest call took %.1f s\n", times, seconds() - start,
           (int)signatures, (int)failures, longest / 1000.0);
}

int main(int count, char **arguments) {
    HOLDS(count == 5);
    haste = atoi(arguments[4]);
    load(arguments[1]);
    be_struck(strcmp(arguments[2], "stop") == 0, atoi(arguments[3]));
    return 0;
}
