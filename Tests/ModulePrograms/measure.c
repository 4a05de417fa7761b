/* What a module costs a program: time to load it, memory, and time for signatures. For make bench.
 *
 *     measure load MODULE          milliseconds of dlopen and C_Initialize, and KiB that the process then has more
 *     measure sign MODULE COUNT    milliseconds of COUNT signatures with the key 01, after a first one
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
    CK_SESSION_HANDLE session = open_session();
    MUST(CKR_OK, p11->C_Login(session, CKU_USER, pin, 6));
    CK_OBJECT_HANDLE key = find(session, CKO_PRIVATE_KEY, 1);
    sign_once(session, key);
    start = now();
    for (int round = atoi(arguments[3]); round > 0; round--) sign_once(session, key);
    printf("%.1f\n", now() - start);
    return 0;
}
