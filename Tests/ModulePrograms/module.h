/* Shared by test programs that load the module as others do: from its file, through C_GetFunctionList. */
#include <ccryptoki.h>
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Ends the program with a message, unless a call returns the wanted value. */
#define MUST(wanted, call)                                                                          \
    do {                                                                                            \
        CK_RV got_ = (call), wanted_ = (wanted);                                                    \
        if (got_ != wanted_) {                                                                      \
            fprintf(stderr, "%s:%d: %s: 0x%lx, not 0x%lx\n", __FILE__, __LINE__, #call, got_, wanted_); \
            exit(1);                                                                                \
        }                                                                                           \
    } while (0)
#define HOLDS(condition)                                                          \
    do {                                                                          \
        if (!(condition)) {                                                       \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
            exit(1);                                                              \
        }                                                                         \
    } while (0)

__attribute__((unused)) static CK_FUNCTION_LIST *p11;
__attribute__((unused)) static CK_UTF8CHAR pin[] = "123456";

__attribute__((unused)) static void *load(const char *path) {
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    CK_RV (*get)(CK_FUNCTION_LIST **) = (CK_RV(*)(CK_FUNCTION_LIST **))dlsym(library, "C_GetFunctionList");
    HOLDS(get != NULL);
    MUST(CKR_OK, get(&p11));
    return library;
}

/* The first slot with a token. */
__attribute__((unused)) static CK_SLOT_ID first_slot(void) {
    CK_SLOT_ID slots[16];
    CK_ULONG count = 16;
    MUST(CKR_OK, p11->C_GetSlotList(CK_TRUE, NULL, &count));
    count = 16;
    MUST(CKR_OK, p11->C_GetSlotList(CK_TRUE, slots, &count));
    HOLDS(count > 0);
    return slots[0];
}

__attribute__((unused)) static CK_SESSION_HANDLE open_session(void) {
    CK_SESSION_HANDLE session = 0;
    MUST(CKR_OK, p11->C_OpenSession(first_slot(), CKF_SERIAL_SESSION | CKF_RW_SESSION, NULL, NULL, &session));
    return session;
}

__attribute__((unused)) static CK_OBJECT_HANDLE find(CK_SESSION_HANDLE session, CK_OBJECT_CLASS class, CK_BYTE id) {
    CK_ATTRIBUTE template[] = {{CKA_CLASS, &class, sizeof class}, {CKA_ID, &id, 1}};
    CK_OBJECT_HANDLE object = 0;
    CK_ULONG count = 0;
    MUST(CKR_OK, p11->C_FindObjectsInit(session, template, 2));
    MUST(CKR_OK, p11->C_FindObjects(session, &object, 1, &count));
    MUST(CKR_OK, p11->C_FindObjectsFinal(session));
    HOLDS(count == 1);
    return object;
}

__attribute__((unused)) static CK_RV sign(CK_SESSION_HANDLE session, CK_OBJECT_HANDLE key) {
    CK_MECHANISM mechanism = {CKM_ECDSA, NULL, 0};
    CK_BYTE digest[32] = {1}, signature[256];
    CK_ULONG length = sizeof signature;
    CK_RV result = p11->C_SignInit(session, &mechanism, key);
    return result != CKR_OK ? result : p11->C_Sign(session, digest, sizeof digest, signature, &length);
}

/* Asks the test for an action: the test reads it from a file, and removes the file when the action is done. */
__attribute__((unused)) static void have(const char *wish) {
    FILE *file = fopen("wish.new", "w");
    HOLDS(file != NULL && fputs(wish, file) >= 0 && fclose(file) == 0);
    HOLDS(rename("wish.new", "wish") == 0);
    for (int tries = 0; access("wish", F_OK) == 0; tries++) {
        HOLDS(tries < 6000);
        usleep(10000);
    }
}
