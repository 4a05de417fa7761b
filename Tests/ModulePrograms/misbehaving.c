/* A PKCS#11 module with one token, one certificate and its key, that misbehaves in one way: BEHAVIOUR, which is defined at
 * compile time, says which. With "well" it behaves. The certificate is in the file CERTIFICATE. */
#include <ccryptoki.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#define SLOT 7
#define LONG_TIME 3600
#define SHORT_TIME 20

static unsigned char certificate[4096];
static size_t certificate_length;
static int found, logged_in;
static CK_OBJECT_CLASS wanted;

static int *volatile nowhere;

static int does(const char *behaviour) { return strcmp(BEHAVIOUR, behaviour) == 0; }

static int wants_login(void) {
    return does("has a pinpad") || does("has a pinpad that refuses") || does("has a blocked PIN") || does("blocks the PIN") ||
           does("has an expired PIN");
}

/* Misbehaves at the beginning of a call, if BEHAVIOUR names it. */
static CK_RV enter(const char *name) {
    char text[64];
    snprintf(text, sizeof text, "crash in %s", name);
    if (does(text)) *nowhere = 0;
    snprintf(text, sizeof text, "fork and crash in %s", name);
    if (does(text)) {
        if (fork() == 0) {
            setsid();
            sleep(SHORT_TIME);
            _exit(0);
        }
        *nowhere = 0;
    }
    snprintf(text, sizeof text, "exit in %s", name);
    if (does(text)) exit(0);
    snprintf(text, sizeof text, "hang in %s", name);
    if (does(text)) sleep(LONG_TIME);
    snprintf(text, sizeof text, "spin in %s", name);
    while (does(text)) __asm__ volatile("");
    snprintf(text, sizeof text, "nonsense from %s", name);
    return does(text) ? 0xDEADBEEF : CKR_OK;
}

#define ENTER                                \
    do {                                     \
        CK_RV code_ = enter(__func__);       \
        if (code_ != CKR_OK) return code_;   \
    } while (0)

__attribute__((constructor)) static void loaded(void) {
    FILE *file = fopen(CERTIFICATE, "rb");
    if (file != NULL) {
        certificate_length = fread(certificate, 1, sizeof certificate, file);
        fclose(file);
    }
    enter("load");
}

CK_RV C_Initialize(void *arguments) {
    (void)arguments;
    ENTER;
    return CKR_OK;
}

CK_RV C_Finalize(void *reserved) {
    (void)reserved;
    ENTER;
    return CKR_OK;
}

CK_RV C_GetInfo(CK_INFO *info) {
    ENTER;
    memset(info, ' ', sizeof *info);
    if (does("says it is ours")) {
        memcpy(info->manufacturerID, "tokenkit", 8);
        memcpy(info->libraryDescription, "Cards and keychains", 19);
    }
    return CKR_OK;
}

CK_RV C_GetSlotList(unsigned char present, CK_SLOT_ID *slots, CK_ULONG *count) {
    (void)present;
    ENTER;
    if (does("prints"))
        for (int line = 0; line < 1000; line++) {
            puts("a line on standard output that is none of the module's business");
            fflush(stdout);
        }
    if (does("closes every descriptor"))
        for (int descriptor = 0; descriptor < 1024; descriptor++) close(descriptor);
    if (does("leaves a child behind") && fork() == 0) {
        sleep(LONG_TIME);
        _exit(0);
    }
    if (does("has a million slots")) {
        *count = 1000000;
        return CKR_OK;
    }
    if (slots != NULL) slots[0] = slots[1] = slots[2] = SLOT;
    *count = does("lists a slot three times") ? 3 : 1;
    return CKR_OK;
}

CK_RV C_GetSlotInfo(CK_SLOT_ID slot, CK_SLOT_INFO *info) {
    (void)slot;
    ENTER;
    memset(info, does("describes in nonsense") ? 0xFF : ' ', sizeof *info);
    info->flags = CKF_TOKEN_PRESENT;
    return CKR_OK;
}

CK_RV C_GetTokenInfo(CK_SLOT_ID slot, CK_TOKEN_INFO *info) {
    (void)slot;
    ENTER;
    memset(info, does("describes in nonsense") ? 0xFF : ' ', sizeof *info);
    if (does("has a label in Latin-1")) memcpy(info->label, "K\xfcnstler", 8);
    else if (!does("describes in nonsense") && !does("says nothing of itself")) memcpy(info->label, "misbehaving", 11);
    info->flags = CKF_TOKEN_INITIALIZED;
    if (wants_login()) info->flags |= CKF_LOGIN_REQUIRED;
    if (does("has a pinpad") || does("has a pinpad that refuses")) info->flags |= CKF_PROTECTED_AUTHENTICATION_PATH;
    if (does("has a blocked PIN")) info->flags |= CKF_USER_PIN_LOCKED;
    info->ulMaxPinLen = 8;
    info->ulMinPinLen = 4;
    return CKR_OK;
}

CK_RV C_OpenSession(CK_SLOT_ID slot, CK_FLAGS flags, void *application, CK_NOTIFY notify, CK_SESSION_HANDLE *session) {
    (void)slot, (void)flags, (void)application, (void)notify;
    ENTER;
    *session = 1;
    return CKR_OK;
}

CK_RV C_CloseSession(CK_SESSION_HANDLE session) {
    (void)session;
    ENTER;
    return CKR_OK;
}

CK_RV C_GetSessionInfo(CK_SESSION_HANDLE session, CK_SESSION_INFO *info) {
    (void)session;
    ENTER;
    memset(info, 0, sizeof *info);
    info->state = wants_login() && !logged_in ? CKS_RO_PUBLIC_SESSION : CKS_RO_USER_FUNCTIONS;
    return CKR_OK;
}

CK_RV C_Login(CK_SESSION_HANDLE session, CK_USER_TYPE user, unsigned char *pin, CK_ULONG length) {
    (void)session, (void)user, (void)length;
    ENTER;
    if (does("has a pinpad") && pin != NULL) return CKR_ARGUMENTS_BAD;
    if (does("has a pinpad that refuses")) return CKR_PIN_INCORRECT;
    if (does("has a blocked PIN") || does("blocks the PIN")) return CKR_PIN_LOCKED;
    if (does("has an expired PIN")) return CKR_PIN_EXPIRED;
    logged_in = 1;
    return CKR_OK;
}

CK_RV C_Logout(CK_SESSION_HANDLE session) {
    (void)session;
    ENTER;
    return CKR_OK;
}

CK_RV C_FindObjectsInit(CK_SESSION_HANDLE session, CK_ATTRIBUTE *attributes, CK_ULONG count) {
    (void)session;
    ENTER;
    for (CK_ULONG index = 0; index < count; index++)
        if (attributes[index].type == CKA_CLASS) memcpy(&wanted, attributes[index].pValue, sizeof wanted);
    found = 0;
    return CKR_OK;
}

CK_RV C_FindObjects(CK_SESSION_HANDLE session, CK_OBJECT_HANDLE *objects, CK_ULONG most, CK_ULONG *count) {
    (void)session, (void)most;
    ENTER;
    if (does("finds without end")) {
        objects[0] = wanted;
        *count = 1;
        return CKR_OK;
    }
    if (does("finds more than there is room for")) {
        *count = 100000;
        return CKR_OK;
    }
    objects[0] = wanted;
    *count = wanted == CKO_PUBLIC_KEY ? 0 : !found;
    found = 1;
    return CKR_OK;
}

CK_RV C_FindObjectsFinal(CK_SESSION_HANDLE session) {
    (void)session;
    ENTER;
    return CKR_OK;
}

static CK_RV give(CK_ATTRIBUTE *attribute, const void *value, size_t length) {
    if (attribute->pValue != NULL) {
        if (attribute->ulValueLen < length) return CKR_BUFFER_TOO_SMALL;
        memcpy(attribute->pValue, value, length);
    }
    attribute->ulValueLen = length;
    return CKR_OK;
}

CK_RV C_GetAttributeValue(
    CK_SESSION_HANDLE session, CK_OBJECT_HANDLE object, CK_ATTRIBUTE *attribute, CK_ULONG count) {
    (void)session, (void)count;
    ENTER;
    static const unsigned char yes = 1;
    static const CK_ULONG rsa = CKK_RSA, x509 = CKC_X_509;
    switch (attribute->type) {
    case CKA_ID: return give(attribute, "\x09", 1);
    case CKA_LABEL: return give(attribute, "one", 3);
    case CKA_CERTIFICATE_TYPE: return give(attribute, &x509, sizeof x509);
    case CKA_KEY_TYPE: return give(attribute, &rsa, sizeof rsa);
    case CKA_SIGN: return give(attribute, &yes, 1);
    case CKA_VALUE:
        if (object != CKO_CERTIFICATE) break;
        if (does("has a certificate of a terabyte")) {
            attribute->ulValueLen = 1UL << 40;
            return CKR_OK;
        }
        if (does("has a certificate that grows") && attribute->pValue != NULL) {
            attribute->ulValueLen = 1UL << 20;
            return CKR_OK;
        }
        if (does("has a certificate of nonsense")) return give(attribute, "nonsense", 8);
        return give(attribute, certificate, certificate_length);
    }
    attribute->ulValueLen = CK_UNAVAILABLE_INFORMATION;
    return CKR_ATTRIBUTE_TYPE_INVALID;
}

CK_RV C_SignInit(CK_SESSION_HANDLE session, CK_MECHANISM *mechanism, CK_OBJECT_HANDLE key) {
    (void)session, (void)mechanism, (void)key;
    ENTER;
    return wants_login() && !logged_in ? CKR_USER_NOT_LOGGED_IN : CKR_OK;
}

CK_RV C_Sign(
    CK_SESSION_HANDLE session, unsigned char *data, CK_ULONG length, unsigned char *signature, CK_ULONG *signature_length) {
    (void)session, (void)data, (void)length;
    ENTER;
    if (does("signs at any length")) {
        *signature_length = 1UL << 30;
        return CKR_OK;
    }
    memset(signature, 0x55, 256);
    *signature_length = 256;
    return CKR_OK;
}

static CK_FUNCTION_LIST list = {
    .version = {2, 40},
    .C_Initialize = C_Initialize,
    .C_Finalize = C_Finalize,
    .C_GetInfo = C_GetInfo,
    .C_GetSlotList = C_GetSlotList,
    .C_GetSlotInfo = C_GetSlotInfo,
    .C_GetTokenInfo = C_GetTokenInfo,
    .C_OpenSession = C_OpenSession,
    .C_CloseSession = C_CloseSession,
    .C_GetSessionInfo = C_GetSessionInfo,
    .C_Login = C_Login,
    .C_Logout = C_Logout,
    .C_FindObjectsInit = C_FindObjectsInit,
    .C_FindObjects = C_FindObjects,
    .C_FindObjectsFinal = C_FindObjectsFinal,
    .C_GetAttributeValue = C_GetAttributeValue,
    .C_SignInit = C_SignInit,
    .C_Sign = C_Sign,
};
static CK_FUNCTION_LIST empty;

CK_RV C_GetFunctionList(CK_FUNCTION_LIST **functions) {
    *functions = does("has no functions") ? NULL : does("has empty functions") ? &empty : &list;
    return CKR_OK;
}
