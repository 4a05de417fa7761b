/* The costs of a module for a program: time to load it, memory, and time for signatures. For make bench.
 *
 *     measure load MODULE          milliseconds of dlopen and C_Initialize, and KiB by which the process has grown
 *     measure sign MODULE COUNT    milliseconds of COUNT signatures with the key 01, after a first one
 *     measure trip MODULE          milliseconds to the first answer, and microseconds of a call that asks no card
 *     measure steady MODULE SECONDS
 *                                  for each line of standard input, signs for SECONDS: signatures per second, and milliseconds of
 *                                  the median, of the 99th percentile, and of the longest
 *     measure hold MODULE          prints the number of all tokens' objects, and stays until standard input ends
 */
#include <time.h>

#include "module.h"

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1e3 + time.tv_nsec / 1e6;
}

static long resident(void) {
    long pages = 0, all = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    HOLDS(file != NULL && fscanf(file, "%ld %ld", &all, &pages) == 2);
    fclose(file);
    return pages * sysconf(_SC_PAGESIZE) / 1024;
}

static void sign_once(CK_SESSION_HANDLE session, CK_OBJECT_HANDLE key) {
    CK_KEY_TYPE type = 0;
    CK_ATTRIBUTE attribute = {CKA_KEY_TYPE, &type, sizeof type};
    MUST(CKR_OK, p11->C_GetAttributeValue(session, key, &attribute, 1));
    CK_MECHANISM mechanism = {type == CKK_RSA ? CKM_RSA_PKCS : CKM_ECDSA, NULL, 0};
    CK_BYTE digest[32] = {1}, signature[512];
    CK_ULONG length = sizeof signature;
    MUST(CKR_OK, p11->C_SignInit(session, &mechanism, key));
    MUST(CKR_OK, p11->C_Sign(session, digest, sizeof digest, signature, &length));
}

static int by_size(const void *left, const void *right) {
    double difference = *(const double *)left - *(const double *)right;
    return (difference > 0) - (difference < 0);
}

/* The first private key: the id of a keychain's key is not known. */
static CK_OBJECT_HANDLE first_key(CK_SESSION_HANDLE session) {
    CK_OBJECT_CLASS class = CKO_PRIVATE_KEY;
    CK_ATTRIBUTE template = {CKA_CLASS, &class, sizeof class};
    CK_OBJECT_HANDLE key = 0;
    CK_ULONG count = 0;
    MUST(CKR_OK, p11->C_FindObjectsInit(session, &template, 1));
    MUST(CKR_OK, p11->C_FindObjects(session, &key, 1, &count));
    MUST(CKR_OK, p11->C_FindObjectsFinal(session));
    HOLDS(count == 1);
    return key;
}

static int sign_steadily(CK_SESSION_HANDLE session, double seconds) {
    enum { most = 1 << 20 };
    static double times[most];
    CK_OBJECT_HANDLE key = first_key(session);
    sign_once(session, key);
    for (int byte; (byte = getchar()) != EOF;) {
        if (byte != '\n') continue;
        int count = 0;
        double start = now(), last = start;
        for (; last - start < seconds * 1e3 && count < most; count++) {
            sign_once(session, key);
            double after = now();
            times[count] = after - last;
            last = after;
        }
        HOLDS(count > 0);
        qsort(times, count, sizeof *times, by_size);
        printf("%.0f %.2f %.2f %.2f\n", count * 1e3 / (last - start), times[count / 2], times[count * 99 / 100], times[count - 1]);
        fflush(stdout);
    }
    return 0;
}

/* The calls of a program that starts, as browsers make them. */
static int hold(void) {
    CK_SLOT_ID slots[16];
    CK_ULONG slot_count = 16, objects = 0;
    MUST(CKR_OK, p11->C_GetSlotList(CK_TRUE, slots, &slot_count));
    for (CK_ULONG slot = 0; slot < slot_count; slot++) {
        CK_SESSION_HANDLE session;
        CK_OBJECT_HANDLE object;
        MUST(CKR_OK, p11->C_OpenSession(slots[slot], CKF_SERIAL_SESSION, NULL, NULL, &session));
        MUST(CKR_OK, p11->C_FindObjectsInit(session, NULL, 0));
        for (CK_ULONG found = 1; found > 0; objects += found) MUST(CKR_OK, p11->C_FindObjects(session, &object, 1, &found));
        MUST(CKR_OK, p11->C_FindObjectsFinal(session));
    }
    printf("%lu\n", objects);
    fflush(stdout);
    while (getchar() != EOF);
    MUST(CKR_OK, p11->C_Finalize(NULL));
    return 0;
}

int main(int count, char **arguments) {
    HOLDS(count >= 3);
    long before = resident();
    double start = now();
    load(arguments[2]);
    MUST(CKR_OK, p11->C_Initialize(NULL));
    double loaded = now() - start;
    if (strcmp(arguments[1], "load") == 0) {
        printf("%.1f %ld\n", loaded, resident() - before);
        return 0;
    }
    if (strcmp(arguments[1], "hold") == 0) return hold();
    if (strcmp(arguments[1], "trip") == 0) {
        /* The first answer, for which a host may be started, and the median of a thousand calls that ask no card. */
        CK_ULONG slots = 0;
        MUST(CKR_OK, p11->C_GetSlotList(CK_TRUE, NULL, &slots));
        double first = now() - start, times[1000];
        CK_SESSION_HANDLE session = open_session();
        CK_SESSION_INFO info;
        for (int round = 0; round < 1000; round++) {
            double begin = now();
            MUST(CKR_OK, p11->C_GetSessionInfo(session, &info));
            times[round] = now() - begin;
        }
        qsort(times, 1000, sizeof *times, by_size);
        printf("%.1f %.1f\n", first, times[500] * 1000);
        return 0;
    }
    CK_SESSION_HANDLE session = open_session();
    MUST(CKR_OK, p11->C_Login(session, CKU_USER, pin, 6));
    if (strcmp(arguments[1], "steady") == 0) return sign_steadily(session, atof(arguments[3]));
    CK_OBJECT_HANDLE key = find(session, CKO_PRIVATE_KEY, 1);
    sign_once(session, key);
    start = now();
    for (int round = atoi(arguments[3]); round > 0; round--) sign_once(session, key);
    printf("%.1f\n", now() - start);
    return 0;
}
