/* Measures how much of its caller's stack each function uses, on the smallest stack that a thread can have, which is painted
 * before and read after. Each function is called as the first one after C_Initialize, so that it starts the host, and with
 * arguments that let it succeed. */
#include "module.h"
#include <limits.h>
#include <stdint.h>
#include <sys/mman.h>

enum { most = 8192, paint = 0xA5 };

static CK_FUNCTION_LIST_3_0 *all;
static CK_SLOT_ID slot;
static CK_SESSION_HANDLE session;
static CK_OBJECT_HANDLE key, certificate, object;
static CK_BYTE data[64], output[4096], longer[3 << 20];
static CK_ULONG length;
static CK_ULONG count;
static CK_MECHANISM ecdsa = {CKM_ECDSA, NULL, 0}, sha256 = {CKM_SHA256, NULL, 0}, ecdsa_sha256 = {CKM_ECDSA_SHA256, NULL, 0};
static CK_ATTRIBUTE some[100];

/* The room that there is for output. */
static CK_ULONG *room(void) {
    length = sizeof output;
    return &length;
}

static CK_OBJECT_CLASS class = CKO_PRIVATE_KEY;
static CK_ATTRIBUTE keys[] = {{CKA_CLASS, &class, sizeof class}};
static CK_BYTE curve[] = {6, 8, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 3, 1, 7};
static CK_ATTRIBUTE curves[] = {{CKA_EC_PARAMS, curve, sizeof curve}};
static CK_MECHANISM generation = {CKM_EC_KEY_PAIR_GEN, NULL, 0};
static CK_INFO info;
static CK_SLOT_INFO slot_info;
static CK_TOKEN_INFO token_info;
static CK_MECHANISM_INFO mechanism_info;
static CK_SESSION_INFO session_info;
static CK_SLOT_ID slots[16];
static CK_MECHANISM_TYPE mechanisms[128];
static CK_OBJECT_HANDLE objects[64];

static CK_RV get_attributes(void) {
    for (int index = 0; index < 100; index++) some[index] = (CK_ATTRIBUTE){CKA_LABEL, output, sizeof output};
    return p11->C_GetAttributeValue(session, certificate, some, 100);
}

static CK_RV sign_long(void) {
    CK_RV result = p11->C_SignInit(session, &ecdsa_sha256, key);
    return result != CKR_OK ? result : p11->C_Sign(session, longer, sizeof longer, output, room());
}

#define CALLS(CALL) \
    CALL(p11->C_GetInfo(&info)) \
    CALL((count = 16, p11->C_GetSlotList(CK_TRUE, slots, &count))) \
    CALL(p11->C_GetSlotInfo(slot, &slot_info)) \
    CALL(p11->C_GetTokenInfo(slot, &token_info)) \
    CALL((count = 128, p11->C_GetMechanismList(slot, mechanisms, &count))) \
    CALL(p11->C_GetMechanismInfo(slot, CKM_ECDSA, &mechanism_info)) \
    CALL(p11->C_InitToken(slot, pin, 6, data)) \
    CALL(p11->C_InitPIN(session, pin, 6)) \
    CALL(p11->C_OpenSession(slot, CKF_SERIAL_SESSION, NULL, NULL, &session)) \
    CALL(p11->C_GetSessionInfo(session, &session_info)) \
    CALL(p11->C_Login(session, CKU_USER, pin, 6)) \
    CALL(all->C_LoginUser(session, CKU_USER, pin, 6, NULL, 0)) \
    CALL(p11->C_SetPIN(session, pin, 6, pin, 6)) \
    CALL(p11->C_FindObjectsInit(session, keys, 1)) \
    CALL(p11->C_FindObjects(session, objects, 64, &count)) \
    CALL(p11->C_FindObjectsFinal(session)) \
    CALL(get_attributes()) \
    CALL(p11->C_GetObjectSize(session, certificate, &count)) \
    CALL(p11->C_SetAttributeValue(session, certificate, keys, 1)) \
    CALL(p11->C_CreateObject(session, keys, 1, &object)) \
    CALL(p11->C_CopyObject(session, certificate, keys, 1, &object)) \
    CALL(p11->C_DestroyObject(session, 1)) \
    CALL(p11->C_EncryptInit(session, &ecdsa, key)) \
    CALL(p11->C_Encrypt(session, data, 32, output, room())) \
    CALL(p11->C_EncryptUpdate(session, data, 32, output, room())) \
    CALL(p11->C_EncryptFinal(session, output, room())) \
    CALL(p11->C_DecryptInit(session, &ecdsa, key)) \
    CALL(p11->C_Decrypt(session, data, 32, output, room())) \
    CALL(p11->C_DecryptUpdate(session, data, 32, output, room())) \
    CALL(p11->C_DecryptFinal(session, output, room())) \
    CALL(p11->C_DigestInit(session, &sha256)) \
    CALL(p11->C_DigestUpdate(session, data, 32)) \
    CALL(p11->C_DigestKey(session, key)) \
    CALL(p11->C_DigestFinal(session, output, room())) \
    CALL(p11->C_Digest(session, data, 32, output, room())) \
    CALL(p11->C_SignInit(session, &ecdsa, key)) \
    CALL(p11->C_Sign(session, data, 32, output, room())) \
    CALL(p11->C_SignUpdate(session, data, 32)) \
    CALL(p11->C_SignFinal(session, output, room())) \
    CALL(sign_long()) \
    CALL(p11->C_VerifyInit(session, &ecdsa, key)) \
    CALL(p11->C_Verify(session, data, 32, output, 64)) \
    CALL(p11->C_VerifyUpdate(session, data, 32)) \
    CALL(p11->C_VerifyFinal(session, output, 64)) \
    CALL(p11->C_GenerateKey(session, &generation, keys, 1, &object)) \
    CALL(p11->C_GenerateKeyPair(session, &generation, curves, 1, keys, 1, &object, &object)) \
    CALL(p11->C_WrapKey(session, &ecdsa, key, key, output, room())) \
    CALL(p11->C_UnwrapKey(session, &ecdsa, key, data, 32, keys, 1, &object)) \
    CALL(p11->C_DeriveKey(session, &ecdsa, key, keys, 1, &object)) \
    CALL(p11->C_SeedRandom(session, data, 32)) \
    CALL(p11->C_GenerateRandom(session, output, 4096)) \
    CALL(p11->C_GetFunctionStatus(session)) \
    CALL(p11->C_CancelFunction(session)) \
    CALL(p11->C_WaitForSlotEvent(CKF_DONT_BLOCK, slots, NULL)) \
    CALL(all->C_SessionCancel(session, CKF_SIGN)) \
    CALL(p11->C_Logout(session)) \
    CALL(p11->C_CloseSession(session)) \
    CALL(p11->C_CloseAllSessions(slot)) \
    CALL(p11->C_Finalize(NULL)) \
    CALL(p11->C_Initialize(NULL))

#define NAME(call) #call,
static const char *const names[] = {CALLS(NAME)};
enum { calls = sizeof names / sizeof *names };

static CK_RV call(int number) {
    enum { first = __COUNTER__ };
    switch (number) {
#define CASE(call) case __COUNTER__ - first - 1: return call;
        CALLS(CASE)
    }
    return CKR_GENERAL_ERROR;
}

static void *lowest;
static CK_RV result;

/* Paints the stack below this function's frame, calls, and finds how far down the paint is gone. */
static void *measured(void *argument) {
    volatile unsigned char *here = __builtin_frame_address(0), *end = lowest;
    /* The first 256 bytes are for this function itself. */
    volatile unsigned char *top = here - 256;
    for (volatile unsigned char *byte = end; byte < top; byte++) *byte = paint;
    result = call((int)(intptr_t)argument);
    volatile unsigned char *byte = end;
    while (byte < top && *byte == paint) byte++;
    return (void *)(uintptr_t)(here - byte);
}

static size_t largest;

static CK_RV measure(int number, const char *when) {
    size_t size = PTHREAD_STACK_MIN;
    lowest = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    HOLDS(lowest != MAP_FAILED);
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    HOLDS(pthread_attr_setstack(&attributes, lowest, size) == 0);
    pthread_t thread;
    HOLDS(pthread_create(&thread, &attributes, measured, (void *)(intptr_t)number) == 0);
    void *used;
    HOLDS(pthread_join(thread, &used) == 0);
    HOLDS(munmap(lowest, size) == 0);
    if ((size_t)used > largest) largest = (size_t)used;
    if (getenv("SHOW_STACK") != NULL) printf("%6zu %s 0x%lx %s\n", (size_t)used, when, result, names[number]);
    if ((size_t)used <= most) return result;
    fprintf(stderr, "%s %s: %zu bytes of the stack\n", names[number], when, (size_t)used);
    exit(1);
}

int main(int arguments_count, char **arguments) {
    HOLDS(arguments_count == 2);
    /* Functions of libc are looked up when they are first called, unless the module says otherwise. */
    void *library = dlopen(arguments[1], RTLD_LAZY | RTLD_LOCAL);
    HOLDS(library != NULL);
    CK_RV (*get)(CK_UTF8CHAR *, CK_VERSION *, CK_INTERFACE **, CK_FLAGS) = dlsym(library, "C_GetInterface");
    CK_INTERFACE *interface;
    MUST(CKR_OK, get(NULL, NULL, &interface, 0));
    all = interface->pFunctionList;
    p11 = (CK_FUNCTION_LIST *)all;

    /* Each function has its own process, in which no symbol has been looked up. */
    for (int number = 0; number < calls; number++) {
        pid_t child = fork();
        if (child == 0) {
            MUST(CKR_OK, p11->C_Initialize(NULL));
            measure(number, "at first");
            fflush(stdout);
            _exit(0);
        }
        int status;
        HOLDS(waitpid(child, &status, 0) == child && status == 0);
    }

    MUST(CKR_OK, p11->C_Initialize(NULL));
    session = open_session();
    slot = first_slot();
    certificate = find(session, CKO_CERTIFICATE, 1);
    MUST(CKR_OK, p11->C_Login(session, CKU_USER, pin, 6));
    key = find(session, CKO_PRIVATE_KEY, 1);
    CK_SESSION_HANDLE kept = session;
    CK_OBJECT_HANDLE kept_key = key;
    int succeeded = 0;
    for (int number = 0; number < calls; number++) {
        if (measure(number, "later") == CKR_OK) succeeded++;
        session = kept;
        key = kept_key;
    }
    /* Enough of the calls succeeded. */
    HOLDS(succeeded >= 25);
    printf("%zu\n", largest);
    return 0;
}
