/* COUNT programs that sign for SECONDS with the keys 01 of several slots by turns, while the test takes cards out and puts them back:
 *
 *     crowd MODULE COUNT SECONDS PIN SLOT...
 *
 * SLOT is the start of a slot's description. Every signature is checked. Of the programs of one slot, the slowest makes at least a quarter of
 * the signatures of the fastest; where it has not after SECONDS, they go on for up to four times as long. */
#define _GNU_SOURCE
#include "module.h"
#include "host.h"
#include "signature.h"
#include <limits.h>
#include <sys/mman.h>
#include <sys/prctl.h>

struct tally {
    volatile long signatures, interruptions;
};

static struct tally *tallies;
static volatile int *is_over, *ready;
static const char *password;

/* What a call returns whose card was taken out, or whose login ended with that. */
static int is_interruption(CK_RV result) {
    return result == CKR_DEVICE_REMOVED || result == CKR_TOKEN_NOT_PRESENT || result == CKR_SESSION_HANDLE_INVALID ||
           result == CKR_USER_NOT_LOGGED_IN || result == CKR_KEY_HANDLE_INVALID || result == CKR_OBJECT_HANDLE_INVALID ||
           result == CKR_SESSION_CLOSED;
}

#define OR_INTERRUPTED(call)                           \
    do {                                               \
        CK_RV result_ = (call);                        \
        if (is_interruption(result_)) return result_;  \
        MUST(CKR_OK, result_);                         \
    } while (0)

static CK_RV find_slot(const char *name, CK_SLOT_ID *slot) {
    CK_SLOT_ID slots[16];
    CK_ULONG count = 16;
    MUST(CKR_OK, p11->C_GetSlotList(CK_TRUE, slots, &count));
    for (CK_ULONG index = 0; index < count; index++) {
        CK_SLOT_INFO info;
        OR_INTERRUPTED(p11->C_GetSlotInfo(slots[index], &info));
        if (memcmp(info.slotDescription, name, strlen(name)) != 0) continue;
        *slot = slots[index];
        return CKR_OK;
    }
    return CKR_TOKEN_NOT_PRESENT;
}

/* The login of a card that was taken out ends; its session goes on when it is back. */
static int is_logged_out(CK_SESSION_HANDLE session) {
    CK_SESSION_INFO info;
    CK_RV result = p11->C_GetSessionInfo(session, &info);
    if (is_interruption(result)) return 1;
    MUST(CKR_OK, result);
    return info.state == CKS_RO_PUBLIC_SESSION;
}

static CK_RV log_in_and_sign(const char *name, struct tally *tally) {
    CK_SLOT_ID slot;
    OR_INTERRUPTED(find_slot(name, &slot));
    CK_SESSION_HANDLE session;
    OR_INTERRUPTED(p11->C_OpenSession(slot, CKF_SERIAL_SESSION, NULL, NULL, &session));
    OR_INTERRUPTED(p11->C_Login(session, CKU_USER, (CK_UTF8CHAR *)password, strlen(password)));
    CK_OBJECT_HANDLE keys[2];
    for (int index = 0; index < 2; index++) {
        CK_OBJECT_CLASS class = index == 0 ? CKO_PUBLIC_KEY : CKO_PRIVATE_KEY;
        CK_BYTE first = 1;
        /* A keychain has one key, with an identifier of another form. */
        CK_ATTRIBUTE template[] = {{CKA_CLASS, &class, sizeof class}, {CKA_ID, &first, 1}};
        CK_ULONG count = 0;
        OR_INTERRUPTED(p11->C_FindObjectsInit(session, template, strncmp(name, "Virtual", 7) == 0 ? 2 : 1));
        OR_INTERRUPTED(p11->C_FindObjects(session, &keys[index], 1, &count));
        OR_INTERRUPTED(p11->C_FindObjectsFinal(session));
        if (count == 0 && class == CKO_PRIVATE_KEY && is_logged_out(session)) return CKR_USER_NOT_LOGGED_IN;
        if (count != 1) fprintf(stderr, "%s: %lu objects of class %lu\n", name, count, class);
        HOLDS(count == 1);
    }
    if (public_key == NULL) read_public_key(session, keys[0]);
    for (CK_BYTE round = 1; !*is_over; round++) {
        CK_MECHANISM mechanism = {CKM_ECDSA, NULL, 0};
        CK_BYTE digest[32] = {round}, signature[256];
        CK_ULONG length = sizeof signature;
        OR_INTERRUPTED(p11->C_SignInit(session, &mechanism, keys[1]));
        OR_INTERRUPTED(p11->C_Sign(session, digest, sizeof digest, signature, &length));
        HOLDS(is_signature(digest, signature, length));
        if (tally->signatures++ == 0) __sync_fetch_and_add(ready, 1);
    }
    MUST(CKR_OK, p11->C_CloseSession(session));
    return CKR_OK;
}

static int be_one(const char *name, struct tally *tally) {
    MUST(CKR_OK, p11->C_Initialize(NULL));
    while (!*is_over && log_in_and_sign(name, tally) != CKR_OK) {
        tally->interruptions++;
        MUST(CKR_OK, p11->C_Finalize(NULL));
        usleep(20000);
        MUST(CKR_OK, p11->C_Initialize(NULL));
    }
    MUST(CKR_OK, p11->C_Finalize(NULL));
    return 0;
}

/* The programs of one slot: the fewest and the most signatures of one, and the interruptions of all. */
struct served {
    long least, most, interruptions;
};

static struct served served_of(int slot, int total, int slots) {
    struct served served = {LONG_MAX, 0, 0};
    for (int index = slot; index < total; index += slots) {
        long signatures = tallies[index].signatures;
        if (signatures < served.least) served.least = signatures;
        if (signatures > served.most) served.most = signatures;
        served.interruptions += tallies[index].interruptions;
    }
    return served;
}

static int are_served_alike(int total, int slots) {
    for (int slot = 0; slot < slots; slot++) {
        struct served served = served_of(slot, total, slots);
        if (served.least == 0 || served.most > 4 * served.least) return 0;
    }
    return 1;
}

int main(int count, char **arguments) {
    HOLDS(count >= 6);
    load(arguments[1]);
    int total = atoi(arguments[2]), slots = count - 5;
    password = arguments[4];
    void *shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    HOLDS(shared != MAP_FAILED && total * sizeof(struct tally) + 16 <= 4096);
    is_over = shared, ready = (int *)shared + 1, tallies = (struct tally *)((char *)shared + 16);
    for (int index = 0; index < total; index++) {
        pid_t child = fork();
        HOLDS(child >= 0);
        if (child == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            _exit(be_one(arguments[5 + index % slots], &tallies[index]));
        }
    }
    for (int tries = 0; *ready < total; tries++) {
        if (tries == 6000) fprintf(stderr, "%d of %d programs are ready\n", *ready, total);
        HOLDS(tries < 6000 && waitpid(-1, NULL, WNOHANG) == 0);
        usleep(10000);
    }
    /* The time of those that came first does not count. */
    for (int index = 0; index < total; index++) tallies[index].signatures = 0;
    have("pulled");
    /* A busy machine lets a program wait by chance, which more time evens out. */
    double end = seconds() + atof(arguments[3]), last = end + 4 * atof(arguments[3]);
    while (seconds() < end || (seconds() < last && !are_served_alike(total, slots))) usleep(10000);
    *is_over = 1;
    for (int index = 0, status; index < total; index++) HOLDS(wait(&status) > 0 && status == 0);
    for (int slot = 0; slot < slots; slot++) {
        struct served served = served_of(slot, total, slots);
        printf("%s: %ld to %ld signatures, %ld interruptions\n", arguments[5 + slot], served.least, served.most, served.interruptions);
    }
    fflush(stdout);
    HOLDS(are_served_alike(total, slots));
    return 0;
}
