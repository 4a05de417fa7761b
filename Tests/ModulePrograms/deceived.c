/* A program whose host lies (falsehost.c). The module writes to buffers that end where memory ends. Each letter of the second
 * argument is a way to lie; the third is the number of rounds for each. */
#define _GNU_SOURCE
#include "module.h"
#include "host.h"
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

enum { room = 1 << 16, page = 4096, buffers = 4 };

static unsigned char *ends[buffers];
static size_t sizes[buffers];

static void make_buffers(void) {
    for (int index = 0; index < buffers; index++) {
        unsigned char *start =
            mmap(NULL, room + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        HOLDS(start != MAP_FAILED);
        ends[index] = start + room;
        HOLDS(mprotect(ends[index], page, PROT_NONE) == 0);
        memset(start, 0xA5, room);
    }
}

/* `size` bytes without memory behind them. The bytes before them must not change. */
static void *bytes(int index, size_t size) {
    sizes[index] = size;
    return ends[index] - size;
}

static void check_buffers(void) {
    for (int index = 0; index < buffers; index++) {
        unsigned char *before = ends[index] - sizes[index];
        for (int offset = 1; offset <= 64; offset++) HOLDS(before[-offset] == 0xA5);
        memset(before, 0xA5, sizes[index]);
    }
}

static int must_fail;
static long calls;

static void see(const char *call, CK_RV code, double start) {
    double took = seconds() - start;
    calls++;
    check_buffers();
    if ((!must_fail || code == CKR_DEVICE_ERROR) && took < 30) return;
    fprintf(stderr, "%s: 0x%lx after %.1f s\n", call, code, took);
    exit(1);
}

#define CALL(call) \
    do { \
        double start_ = seconds(); \
        CK_RV code_ = (call); \
        see(#call, code_, start_); \
    } while (0)

static CK_ULONG length;
static CK_ULONG *given(CK_ULONG value) {
    length = value;
    return &length;
}

/* Everything that has an answer, with buffers of any size. */
static void call_everything(CK_FUNCTION_LIST_3_0 *all) {
    CK_ULONG some = rand() % 40, size = rand() % 3 == 0 ? 0 : rand() % 4096;
    CK_MECHANISM mechanism = {CKM_ECDSA, NULL, 0};
    CK_OBJECT_CLASS class = CKO_PRIVATE_KEY;
    CK_ATTRIBUTE template[] = {{CKA_CLASS, &class, sizeof class}};
    CK_BYTE data[64] = {0};
    CK_ULONG *number = bytes(1, sizeof(CK_ULONG)), *second = bytes(2, sizeof(CK_ULONG));
    CALL(p11->C_GetSlotList(CK_TRUE, NULL, number));
    CALL(p11->C_GetSlotList(CK_TRUE, bytes(0, some * sizeof(CK_SLOT_ID)), given(some)));
    CALL(p11->C_GetSlotInfo(1, bytes(0, sizeof(CK_SLOT_INFO))));
    CALL(p11->C_GetTokenInfo(1, bytes(0, sizeof(CK_TOKEN_INFO))));
    CALL(p11->C_GetMechanismList(1, bytes(0, some * sizeof(CK_MECHANISM_TYPE)), given(some)));
    CALL(p11->C_GetMechanismInfo(1, CKM_ECDSA, bytes(0, sizeof(CK_MECHANISM_INFO))));
    CALL(p11->C_OpenSession(1, CKF_SERIAL_SESSION, NULL, NULL, number));
    CALL(p11->C_GetSessionInfo(1, bytes(0, sizeof(CK_SESSION_INFO))));
    CALL(p11->C_Login(1, CKU_USER, pin, 6));
    CALL(p11->C_SetPIN(1, pin, 6, pin, 6));
    CALL(p11->C_CreateObject(1, template, 1, number));
    CALL(p11->C_CopyObject(1, 1, template, 1, number));
    CALL(p11->C_GetObjectSize(1, 1, number));
    CALL(p11->C_SetAttributeValue(1, 1, template, 1));
    CALL(p11->C_FindObjectsInit(1, template, 1));
    CALL(p11->C_FindObjects(1, bytes(0, some * sizeof(CK_OBJECT_HANDLE)), some, number));
    CALL(p11->C_FindObjectsFinal(1));
    /* Attributes with room of their own each: of as many as an answer may have numbers, and one more. */
    CK_ULONG wanted = 1 + rand() % 4;
    CK_ATTRIBUTE *attributes = bytes(3, wanted * sizeof *attributes);
    for (CK_ULONG index = 0; index < wanted; index++) {
        size_t each = rand() % 200;
        attributes[index] = (CK_ATTRIBUTE){CKA_LABEL, index < 3 && rand() % 4 ? bytes(index, each) : NULL, each};
    }
    CALL(p11->C_GetAttributeValue(1, 1, attributes, wanted));
    CALL(p11->C_EncryptInit(1, &mechanism, 1));
    CALL(p11->C_Encrypt(1, data, 64, bytes(0, size), given(size)));
    CALL(p11->C_EncryptUpdate(1, data, 64, bytes(0, size), given(size)));
    CALL(p11->C_EncryptFinal(1, bytes(0, size), given(size)));
    CALL(p11->C_Decrypt(1, data, 64, bytes(0, size), given(size)));
    CALL(p11->C_DecryptUpdate(1, data, 64, bytes(0, size), given(size)));
    CALL(p11->C_DecryptFinal(1, bytes(0, size), given(size)));
    CALL(p11->C_DigestInit(1, &mechanism));
    CALL(p11->C_Digest(1, data, 64, bytes(0, size), given(size)));
    CALL(p11->C_DigestFinal(1, bytes(0, size), given(size)));
    CALL(p11->C_SignInit(1, &mechanism, 1));
    CALL(p11->C_Sign(1, data, 64, bytes(0, size), given(size)));
    CALL(p11->C_Sign(1, data, 64, NULL, number));
    CALL(p11->C_SignUpdate(1, data, 64));
    CALL(p11->C_SignFinal(1, bytes(0, size), given(size)));
    CALL(p11->C_Verify(1, data, 64, data, 64));
    CALL(p11->C_VerifyFinal(1, data, 64));
    CALL(p11->C_DigestKey(1, 1));
    CALL(p11->C_GenerateKey(1, &mechanism, template, 1, number));
    CALL(p11->C_GenerateKeyPair(1, &mechanism, template, 1, template, 1, number, second));
    CALL(p11->C_WrapKey(1, &mechanism, 1, 1, bytes(0, size), given(size)));
    CALL(p11->C_UnwrapKey(1, &mechanism, 1, data, 64, template, 1, number));
    CALL(p11->C_DeriveKey(1, &mechanism, 1, template, 1, number));
    CALL(p11->C_GenerateRandom(1, bytes(0, size), size));
    CALL(p11->C_WaitForSlotEvent(0, number, NULL));
    CALL(all->C_SessionCancel(1, CKF_SIGN));
    CALL(p11->C_Logout(1));
    CALL(p11->C_CloseSession(1));
}

/* A host of the session that never answers. */
static void listen_in_silence(void) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char folder[80];
    snprintf(folder, sizeof folder, "%s/silent", getenv("XDG_RUNTIME_DIR"));
    HOLDS(mkdir(folder, 0700) == 0 && setenv("XDG_RUNTIME_DIR", folder, 1) == 0);
    snprintf(address.sun_path, sizeof address.sun_path, "%s/tokenkit", folder);
    HOLDS(mkdir(address.sun_path, 0700) == 0);
    strcat(address.sun_path, "/host");
    int listener = socket(AF_UNIX, SOCK_STREAM, 0);
    HOLDS(bind(listener, (struct sockaddr *)&address, sizeof address) == 0 && listen(listener, 1) == 0);
}

static void be_deceived(CK_FUNCTION_LIST_3_0 *all, char way, int rounds) {
    /* A well-formed answer may say anything; a malformed one must make the call fail. */
    must_fail = strchr("hgilvcsnwz", way) != NULL;
    if (way == 'y') listen_in_silence();
    for (int round = 0; round < rounds; round++) {
        char text[16];
        snprintf(text, sizeof text, "%c%d", way, round);
        HOLDS(setenv("TOKENKIT_TEST_WAY", text, 1) == 0);
        srand(round);
        MUST(CKR_OK, p11->C_Initialize(NULL));
        if (strchr("dy", way) != NULL) {
            CK_ULONG *count = bytes(0, sizeof *count);
            double start = seconds();
            MUST(CKR_OK, p11->C_GetSlotList(CK_TRUE, NULL, count));
            HOLDS(*count == 1 && seconds() - start < 20);
        } else if (strchr("snwz", way) != NULL) {
            CALL(p11->C_GetTokenInfo(1, bytes(0, sizeof(CK_TOKEN_INFO))));
        } else if (way == 'h') {
            /* No host has been had yet: no call fails that only looks for slots. */
            CK_ULONG *count = bytes(0, sizeof *count);
            MUST(CKR_OK, p11->C_GetSlotList(CK_TRUE, NULL, count));
            HOLDS(*count == 0);
            CALL(p11->C_GetTokenInfo(1, bytes(0, sizeof(CK_TOKEN_INFO))));
        } else {
            call_everything(all);
        }
        MUST(CKR_OK, p11->C_Finalize(NULL));
        must_have_no_child();
    }
}

/* Each letter of the second argument has its own process, because some take long. */
int main(int count, char **arguments) {
    HOLDS(count == 4);
    void *library = load(arguments[1]);
    CK_RV (*get)(CK_UTF8CHAR *, CK_VERSION *, CK_INTERFACE **, CK_FLAGS) = dlsym(library, "C_GetInterface");
    CK_INTERFACE *interface;
    MUST(CKR_OK, get(NULL, NULL, &interface, 0));
    make_buffers();
    for (const char *way = arguments[2]; *way != 0; way++) {
        if (fork() != 0) continue;
        alarm(110);
        int descriptors = open_descriptors() + (*way == 'y');
        be_deceived(interface->pFunctionList, *way, atoi(arguments[3]));
        HOLDS(open_descriptors() == descriptors);
        printf("%ld calls\n", calls);
        exit(0);
    }
    for (const char *way = arguments[2]; *way != 0; way++) {
        int status;
        HOLDS(wait(&status) > 0 && status == 0);
    }
    return 0;
}
