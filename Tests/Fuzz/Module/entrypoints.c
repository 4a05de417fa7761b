/* Calls of the module as no program should make them: each byte of an input chooses a function, or an argument of it.
 *
 *     entrypoints MODULE FILE…      runs each file's calls; with libFuzzer linked in, MODULE is in the environment
 *
 * Everything that a C function can check may be wrong: NULL, handles, counts, lengths, types, orders of calls. A pointer that is
 * not NULL points to as many bytes as the call says, unless the call says more than any memory has. */
#include "input.h"

#define HUGE_COUNT (~0UL >> 1)

static CK_SLOT_ID slots[8];
static CK_ULONG slot_count;
static CK_SESSION_HANDLE sessions[4];
static CK_OBJECT_HANDLE objects[16];
static unsigned session_count, object_count;

struct text {
    void *bytes;
    CK_ULONG count;
};

static struct text text(void) {
    uint8_t choice = byte();
    switch (choice & 15) {
    case 0: return (struct text){NULL, 0};
    case 1: return (struct text){NULL, 1};
    case 2: return (struct text){NULL, ~0UL};
    case 3: return (struct text){memory(1), ~0UL};
    case 4: return (struct text){memory(1), HUGE_COUNT};
    case 5: return (struct text){memory(1), 1UL << 48};
    case 6: return (struct text){memory(32), 32};
    case 7: return (struct text){memory(256), 256};
    case 8: return (struct text){memory(2000), 2000};
    default: {
        CK_ULONG count = choice >> 2;
        return (struct text){memory(count), count};
    }
    }
}

static CK_SLOT_ID slot(void) {
    uint8_t choice = byte();
    return slot_count == 0 || choice > 250 ? choice : slots[choice % slot_count];
}

static CK_SESSION_HANDLE session(void) {
    uint8_t choice = byte();
    return session_count == 0 || choice > 250 ? (choice & 1 ? ~0UL : choice) : sessions[choice % session_count];
}

static CK_OBJECT_HANDLE object(void) {
    uint8_t choice = byte();
    return object_count == 0 || choice > 250 ? (choice & 1 ? ~0UL : choice) : objects[choice % object_count];
}

static void keep(CK_OBJECT_HANDLE handle) { objects[object_count++ % 16] = handle; if (object_count > 16) object_count = 16; }

static CK_ATTRIBUTE_TYPE attribute_type(void) {
    static const CK_ATTRIBUTE_TYPE types[] = {
        CKA_CLASS, CKA_TOKEN, CKA_PRIVATE, CKA_LABEL, CKA_UNIQUE_ID, CKA_APPLICATION, CKA_VALUE, CKA_OBJECT_ID,
        CKA_CERTIFICATE_TYPE, CKA_ISSUER, CKA_SERIAL_NUMBER, CKA_TRUSTED, CKA_KEY_TYPE, CKA_SUBJECT, CKA_ID, CKA_SENSITIVE,
        CKA_ENCRYPT, CKA_DECRYPT, CKA_WRAP, CKA_UNWRAP, CKA_SIGN, CKA_VERIFY, CKA_DERIVE, CKA_START_DATE, CKA_END_DATE,
        CKA_MODULUS, CKA_MODULUS_BITS, CKA_PUBLIC_EXPONENT, CKA_PRIVATE_EXPONENT, CKA_PRIME_1, CKA_VALUE_LEN,
        CKA_EXTRACTABLE, CKA_LOCAL, CKA_MODIFIABLE, CKA_EC_PARAMS, CKA_EC_POINT, CKA_ALWAYS_AUTHENTICATE,
        CKA_WRAP_TEMPLATE, CKA_ALLOWED_MECHANISMS, CKA_PUBLIC_KEY_INFO, CKA_PROFILE_ID, 0x80000000UL, ~0UL,
    };
    return types[byte() % (sizeof types / sizeof *types)];
}

/* Values that pass the first checks of a call. */
static void *number(CK_ULONG *count) {
    static const CK_ULONG numbers[] = {
        CKO_DATA, CKO_CERTIFICATE, CKO_PUBLIC_KEY, CKO_PRIVATE_KEY, CKO_SECRET_KEY, CKO_PROFILE, CKK_GENERIC_SECRET, 512, 2048, 16, ~0UL};
    CK_ULONG *value = memory(sizeof *value);
    if (value == NULL) return *count = 0, NULL;
    *value = numbers[byte() % (sizeof numbers / sizeof *numbers)];
    return *count = sizeof *value, value;
}

static CK_ATTRIBUTE *template(CK_ULONG *count) {
    uint8_t choice = byte();
    if (choice > 250) return *count = choice == 251 ? 0 : HUGE_COUNT, NULL;
    if (choice == 250) return *count = HUGE_COUNT, memory(sizeof(CK_ATTRIBUTE));
    *count = choice % 6;
    CK_ATTRIBUTE *attributes = memory(*count * sizeof *attributes);
    if (attributes == NULL) return *count = 0, NULL;
    for (CK_ULONG index = 0; index < *count; index++) {
        attributes[index].type = attribute_type();
        if (byte() & 1) {
            attributes[index].pValue = number(&attributes[index].ulValueLen);
        } else {
            struct text value = text();
            attributes[index].pValue = value.bytes;
            attributes[index].ulValueLen = value.count;
        }
    }
    return attributes;
}

static CK_MECHANISM *mechanism(void) {
    static const CK_MECHANISM_TYPE types[] = {
        CKM_RSA_PKCS, CKM_RSA_X_509, CKM_RSA_PKCS_OAEP, CKM_RSA_PKCS_PSS, CKM_SHA1_RSA_PKCS, CKM_SHA256_RSA_PKCS,
        CKM_SHA512_RSA_PKCS, CKM_SHA256_RSA_PKCS_PSS, CKM_ECDSA, CKM_ECDSA_SHA1, CKM_ECDSA_SHA256, CKM_ECDSA_SHA384, CKM_EDDSA,
        CKM_ECDH1_DERIVE, CKM_ECDH1_COFACTOR_DERIVE, CKM_SHA_1, CKM_SHA256, CKM_SHA512, CKM_EC_KEY_PAIR_GEN, CKM_AES_CBC, ~0UL,
        CKM_AES_CBC_PAD, CKM_AES_CTR, CKM_AES_KEY_WRAP, CKM_AES_KEY_GEN, CKM_GENERIC_SECRET_KEY_GEN, CKM_SHA256_HMAC,
        CKM_SHA256_HMAC_GENERAL,
    };
    uint8_t choice = byte();
    if (choice > 252) return NULL;
    CK_MECHANISM *made = memory(sizeof *made);
    if (made == NULL) return NULL;
    made->mechanism = types[choice % (sizeof types / sizeof *types)];
    uint8_t form = byte();
    struct text value = {NULL, 0};
    int shape = form & 7;
    /* A parameter with pointers belongs to its mechanism or has another length: the module cannot check anything else. */
    int is_oaep = made->mechanism == CKM_RSA_PKCS_OAEP;
    int is_agreement = made->mechanism == CKM_ECDH1_DERIVE || made->mechanism == CKM_ECDH1_COFACTOR_DERIVE;
    if (shape > 3) shape = is_oaep ? 4 : is_agreement ? 5 : 3;
    if (shape == 3 && made->mechanism == CKM_EDDSA) shape = 0; /* its parameter has the same length, and a pointer */
    switch (shape) {
    case 0:
    case 1: break;
    case 2:
        value = text();
        if (value.count == sizeof(CK_RSA_PKCS_OAEP_PARAMS) || value.count == sizeof(CK_RSA_PKCS_PSS_PARAMS)) value.count--;
        break;
    case 3: {
        CK_RSA_PKCS_PSS_PARAMS parameters = {form & 8 ? CKM_SHA256 : CKM_SHA_1, form & 16 ? 2 : 1, form & 32 ? 32 : byte()};
        if (form & 64) parameters.sLen = ~0UL;
        if ((value.bytes = memory(sizeof parameters)) != NULL) memcpy(value.bytes, &parameters, sizeof parameters);
        value.count = sizeof parameters;
        break;
    }
    case 4: {
        struct text label = text();
        CK_RSA_PKCS_OAEP_PARAMS parameters = {
            form & 8 ? CKM_SHA256 : CKM_SHA_1, form & 16 ? 2 : 1, form & 32 ? 1 : 0, label.bytes, label.count};
        if ((value.bytes = memory(sizeof parameters)) != NULL) memcpy(value.bytes, &parameters, sizeof parameters);
        value.count = sizeof parameters;
        break;
    }
    default: {
        struct text shared = text(), point = text();
        CK_ECDH1_DERIVE_PARAMS parameters = {
            form & 8 ? CKD_NULL : byte(), shared.count, shared.bytes, point.count, point.bytes};
        if ((value.bytes = memory(sizeof parameters)) != NULL) memcpy(value.bytes, &parameters, sizeof parameters);
        value.count = sizeof parameters;
    }
    }
    made->pParameter = value.bytes;
    made->ulParameterLen = value.bytes == NULL && value.count == sizeof(CK_RSA_PKCS_PSS_PARAMS) ? 0 : value.count;
    return made;
}

static struct text secret(void) {
    uint8_t choice = byte();
    if (choice < 200) {
        void *copy = memory(6);
        if (copy != NULL) memcpy(copy, pin, 6);
        return (struct text){copy, copy == NULL ? 0 : 6};
    }
    return text();
}

static void begin(CK_RV (*function)(CK_SESSION_HANDLE, CK_MECHANISM *, CK_OBJECT_HANDLE)) {
    CK_SESSION_HANDLE handle = session();
    CK_MECHANISM *how = mechanism();
    function(handle, how, object());
}

static void transform(CK_RV (*function)(CK_SESSION_HANDLE, CK_BYTE *, CK_ULONG, CK_BYTE *, CK_ULONG *)) {
    CK_SESSION_HANDLE handle = session();
    struct text from = text();
    struct room to = room();
    function(handle, from.bytes, from.count, to.bytes, to.count);
}

static void update(CK_RV (*function)(CK_SESSION_HANDLE, CK_BYTE *, CK_ULONG)) {
    CK_SESSION_HANDLE handle = session();
    struct text from = text();
    function(handle, from.bytes, from.count);
}

static void finish(CK_RV (*function)(CK_SESSION_HANDLE, CK_BYTE *, CK_ULONG *)) {
    CK_SESSION_HANDLE handle = session();
    struct room to = room();
    function(handle, to.bytes, to.count);
}

static void *maybe(size_t size) { return byte() == 0 ? NULL : space(size); }

static void open_one(void) {
    static const CK_FLAGS flags[] = {CKF_SERIAL_SESSION, CKF_SERIAL_SESSION | CKF_RW_SESSION, 0, ~0UL};
    CK_SESSION_HANDLE *handle = maybe(sizeof *handle);
    CK_FLAGS chosen = flags[byte() & 3];
    if (all->C_OpenSession(slot(), chosen, NULL, NULL, handle) == CKR_OK) {
        if (session_count < 4) sessions[session_count++] = *handle;
    }
}

static void find_some(void) {
    CK_SESSION_HANDLE handle = session();
    CK_ULONG count = 0, found = 0;
    CK_ATTRIBUTE *attributes = template(&count);
    if (all->C_FindObjectsInit(handle, attributes, count) != CKR_OK) return;
    CK_OBJECT_HANDLE some[4] = {0};
    if (all->C_FindObjects(handle, some, 4, &found) == CKR_OK)
        for (CK_ULONG index = 0; index < found; index++) keep(some[index]);
    if (byte() & 3) all->C_FindObjectsFinal(handle);
}

/* Functions of 3.0 for messages, and functions that exist for older programs. */
static void rare_call(void) {
    CK_C_MessageInit inits[] = {
        all->C_MessageEncryptInit, all->C_MessageDecryptInit, all->C_MessageSignInit, all->C_MessageVerifyInit};
    CK_C_MessageFinal finals[] = {
        all->C_MessageEncryptFinal, all->C_MessageDecryptFinal, all->C_MessageSignFinal, all->C_MessageVerifyFinal};
    uint8_t choice = byte();
    CK_SESSION_HANDLE handle = session();
    struct text parameter, data, from;
    struct room out;
    switch (choice % 16) {
    case 0: from = secret(), data = text(), all->C_LoginUser(handle, choice >> 6, from.bytes, from.count, data.bytes, data.count); break;
    case 1: all->C_GetFunctionStatus(handle); break;
    case 2: all->C_CancelFunction(handle); break;
    case 3: all->C_GetFunctionList(maybe(sizeof(CK_FUNCTION_LIST *))); break;
    case 4:
        out = room();
        if (out.count != NULL) *out.count /= sizeof(CK_INTERFACE);
        all->C_GetInterfaceList(out.bytes, out.count);
        break;
    case 5: {
        /* A name must be a string, and a version has two bytes. */
        char *name = memory(9);
        if (name != NULL) name[8] = 0;
        CK_VERSION *version = byte() & 1 ? NULL : memory(sizeof *version);
        all->C_GetInterface((CK_UTF8CHAR *)name, version, maybe(sizeof(CK_INTERFACE *)), choice >> 4);
        break;
    }
    case 6: begin(inits[choice >> 6]); break;
    case 7: finals[choice >> 6](handle); break;
    case 8:
        parameter = text(), data = text(), from = text(), out = room();
        (choice & 0x80 ? all->C_EncryptMessage : all->C_DecryptMessage)(
            handle, parameter.bytes, parameter.count, data.bytes, data.count, from.bytes, from.count, out.bytes, out.count);
        break;
    case 9:
        parameter = text(), data = text();
        (choice & 0x80 ? all->C_EncryptMessageBegin : all->C_DecryptMessageBegin)(
            handle, parameter.bytes, parameter.count, data.bytes, data.count);
        break;
    case 10:
        parameter = text(), data = text(), out = room();
        (choice & 0x80 ? all->C_EncryptMessageNext : all->C_DecryptMessageNext)(
            handle, parameter.bytes, parameter.count, data.bytes, data.count, out.bytes, out.count, choice >> 4);
        break;
    case 11:
    case 12:
        parameter = text(), data = text(), out = room();
        (choice & 0x80 ? all->C_SignMessage : all->C_SignMessageNext)(
            handle, parameter.bytes, parameter.count, data.bytes, data.count, out.bytes, out.count);
        break;
    case 13:
    case 14:
        parameter = text(), data = text(), from = text();
        (choice & 0x80 ? all->C_VerifyMessage : all->C_VerifyMessageNext)(
            handle, parameter.bytes, parameter.count, data.bytes, data.count, from.bytes, from.count);
        break;
    default:
        parameter = text();
        (choice & 0x80 ? all->C_SignMessageBegin : all->C_VerifyMessageBegin)(handle, parameter.bytes, parameter.count);
        break;
    }
}

static void one_call(void) {
    CK_ULONG count = 0, more = 0;
    CK_ATTRIBUTE *attributes, *others;
    CK_OBJECT_HANDLE first = 0, second = 0;
    CK_SESSION_HANDLE handle;
    CK_MECHANISM *how;
    struct text from, to;
    struct room out;
    uint8_t choice = byte();
    if (choice >= 240) return rare_call();
    switch (choice % 64) {
    case 0: {
        CK_BBOOL present = byte() & 1;
        out = room();
        if (out.count != NULL) *out.count /= sizeof(CK_SLOT_ID);
        all->C_GetSlotList(present, out.bytes, out.count);
        break;
    }
    case 1: all->C_GetInfo(maybe(sizeof(CK_INFO))); break;
    case 2: first = slot(), all->C_GetSlotInfo(first, maybe(sizeof(CK_SLOT_INFO))); break;
    case 3: first = slot(), all->C_GetTokenInfo(first, maybe(sizeof(CK_TOKEN_INFO))); break;
    case 4:
        first = slot(), out = room();
        if (out.count != NULL) *out.count /= sizeof(CK_MECHANISM_TYPE);
        all->C_GetMechanismList(first, out.bytes, out.count);
        break;
    case 5:
        first = slot(), how = mechanism();
        all->C_GetMechanismInfo(first, how == NULL ? 0 : how->mechanism, maybe(sizeof(CK_MECHANISM_INFO)));
        break;
    case 6: first = slot(), from = text(), all->C_InitToken(first, from.bytes, from.count, maybe(32)); break;
    case 7: handle = session(), from = text(), all->C_InitPIN(handle, from.bytes, from.count); break;
    case 8: handle = session(), from = text(), to = text(), all->C_SetPIN(handle, from.bytes, from.count, to.bytes, to.count); break;
    case 9:
    case 10:
    case 11: open_one(); break;
    case 12: all->C_CloseSession(session()); break;
    case 13: all->C_CloseAllSessions(slot()); break;
    case 14: handle = session(), all->C_GetSessionInfo(handle, maybe(sizeof(CK_SESSION_INFO))); break;
    case 15: finish(all->C_GetOperationState); break;
    case 16:
        handle = session(), from = text(), first = object();
        all->C_SetOperationState(handle, from.bytes, from.count, first, object());
        break;
    case 17: {
        handle = session();
        CK_USER_TYPE user = byte() % 5 == 4 ? ~0UL : byte() % 3;
        from = secret();
        all->C_Login(handle, user, from.bytes, from.count);
        break;
    }
    case 18: all->C_Logout(session()); break;
    case 19:
        handle = session(), attributes = template(&count);
        if (all->C_CreateObject(handle, attributes, count, maybe(sizeof first)) == CKR_OK) find_some();
        break;
    case 20: handle = session(), first = object(), attributes = template(&count), all->C_CopyObject(handle, first, attributes, count, maybe(8)); break;
    case 21: if (byte() == 7) handle = session(), all->C_DestroyObject(handle, object()); break;
    case 22: handle = session(), first = object(), all->C_GetObjectSize(handle, first, maybe(8)); break;
    case 23:
    case 24: handle = session(), first = object(), attributes = template(&count), all->C_GetAttributeValue(handle, first, attributes, count); break;
    case 25: handle = session(), first = object(), attributes = template(&count), all->C_SetAttributeValue(handle, first, attributes, count); break;
    case 26:
    case 27:
    case 28: find_some(); break;
    case 29: handle = session(), attributes = template(&count), all->C_FindObjectsInit(handle, attributes, count); break;
    case 30: {
        handle = session(), more = byte();
        CK_OBJECT_HANDLE *found = maybe(more * sizeof *found);
        all->C_FindObjects(handle, found, found == NULL && more > 128 ? ~0UL : more, maybe(8));
        break;
    }
    case 31: all->C_FindObjectsFinal(session()); break;
    case 32: begin(all->C_EncryptInit); break;
    case 33: transform(all->C_Encrypt); break;
    case 34: transform(all->C_EncryptUpdate); break;
    case 35: finish(all->C_EncryptFinal); break;
    case 36: begin(all->C_DecryptInit); break;
    case 37: transform(all->C_Decrypt); break;
    case 38: transform(all->C_DecryptUpdate); break;
    case 39: finish(all->C_DecryptFinal); break;
    case 40: handle = session(), all->C_DigestInit(handle, mechanism()); break;
    case 41: transform(all->C_Digest); break;
    case 42: update(all->C_DigestUpdate); break;
    case 43: handle = session(), all->C_DigestKey(handle, object()); break;
    case 44: finish(all->C_DigestFinal); break;
    case 45:
    case 46: begin(all->C_SignInit); break;
    case 47:
    case 48: transform(all->C_Sign); break;
    case 49: update(all->C_SignUpdate); break;
    case 50: finish(all->C_SignFinal); break;
    case 51: begin(all->C_VerifyInit); break;
    case 52: handle = session(), from = text(), to = text(), all->C_Verify(handle, from.bytes, from.count, to.bytes, to.count); break;
    case 53: update(byte() & 1 ? all->C_VerifyUpdate : all->C_VerifyFinal); break;
    case 54: byte() & 1 ? begin(all->C_SignRecoverInit) : begin(all->C_VerifyRecoverInit); break;
    case 55:
        switch (byte() & 3) {
        case 0: transform(all->C_DigestEncryptUpdate); break;
        case 1: transform(all->C_DecryptDigestUpdate); break;
        case 2: transform(all->C_SignEncryptUpdate); break;
        default: transform(all->C_DecryptVerifyUpdate); break;
        }
        break;
    case 56:
        handle = session(), how = mechanism(), attributes = template(&count);
        all->C_GenerateKey(handle, how, attributes, count, maybe(8));
        break;
    case 57:
        handle = session(), how = mechanism(), attributes = template(&count), others = template(&more);
        if (all->C_GenerateKeyPair(handle, how, attributes, count, others, more, &first, &second) == CKR_OK) keep(first), keep(second);
        break;
    case 58: handle = session(), how = mechanism(), first = object(), second = object(), out = room(), all->C_WrapKey(handle, how, first, second, out.bytes, out.count); break;
    case 59:
        handle = session(), how = mechanism(), first = object(), from = text(), attributes = template(&count);
        if (all->C_UnwrapKey(handle, how, first, from.bytes, from.count, attributes, count, &second) == CKR_OK) keep(second);
        break;
    case 60:
        handle = session(), how = mechanism(), first = object(), attributes = template(&count);
        if (all->C_DeriveKey(handle, how, first, attributes, count, &second) == CKR_OK) keep(second);
        break;
    case 61: byte() & 1 ? update(all->C_SeedRandom) : update(all->C_GenerateRandom); break;
    case 62: all->C_WaitForSlotEvent(CKF_DONT_BLOCK, maybe(8), byte() & 1 ? NULL : maybe(8)); break;
    case 63: handle = session(), all->C_SessionCancel(handle, byte() & 1 ? ~0UL : 1UL << (byte() % 64)); break;
    }
}

/* Initialises the module and lists its slots. */
static void start(void) {
    MUST(CKR_OK, all->C_Initialize(NULL));
    slot_count = 8;
    MUST(CKR_OK, all->C_GetSlotList(CK_TRUE, slots, &slot_count));
}

static void start_once(void) {
    if (all != NULL) return;
    load_all();
    start();
    HOLDS(slot_count > 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
    start_once();
    input = bytes, left = size;
    /* Most calls need a session, so up to three are open. */
    for (CK_ULONG index = 0; index < slot_count && session_count < 3; index++)
        if (all->C_OpenSession(slots[index], CKF_SERIAL_SESSION | CKF_RW_SESSION, NULL, NULL, &sessions[session_count]) == CKR_OK)
            session_count++;
    for (int calls = 0; left > 0 && calls < 64; calls++) one_call();
    for (CK_ULONG index = 0; index < slot_count; index++) all->C_CloseAllSessions(slots[index]);
    free_owned();
    session_count = object_count = 0;
    return 0;
}

#ifdef STANDALONE
int main(int count, char **arguments) {
    run_files(count, arguments);
    MUST(CKR_OK, all->C_Finalize(NULL));
    return 0;
}
#endif
