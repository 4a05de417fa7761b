/* A program that loads the module, uses every key of every token in several threads, and unloads the module. For other allocators,
 * valgrind and the address sanitizer.
 *
 *     everyday MODULE KEYS [ROUNDS]    fails unless there are KEYS private keys
 */
#include "module.h"

enum { most = 16 };

/* Reads an attribute into memory that is exactly as long as its value. */
static CK_BYTE *value(CK_SESSION_HANDLE session, CK_OBJECT_HANDLE object, CK_ATTRIBUTE_TYPE type, CK_ULONG *length) {
    CK_ATTRIBUTE attribute = {type, NULL, 0};
    MUST(CKR_OK, p11->C_GetAttributeValue(session, object, &attribute, 1));
    attribute.pValue = malloc(attribute.ulValueLen == 0 ? 1 : attribute.ulValueLen);
    HOLDS(attribute.pValue != NULL);
    MUST(CKR_OK, p11->C_GetAttributeValue(session, object, &attribute, 1));
    *length = attribute.ulValueLen;
    return attribute.pValue;
}

static CK_ULONG find_all(CK_SESSION_HANDLE session, CK_OBJECT_CLASS class, CK_OBJECT_HANDLE objects[most]) {
    CK_ATTRIBUTE template = {CKA_CLASS, &class, sizeof class};
    CK_ULONG count = 0;
    MUST(CKR_OK, p11->C_FindObjectsInit(session, &template, 1));
    MUST(CKR_OK, p11->C_FindObjects(session, objects, most, &count));
    MUST(CKR_OK, p11->C_FindObjectsFinal(session));
    return count;
}

static void sign_and_verify(CK_SESSION_HANDLE session, CK_OBJECT_HANDLE key) {
    CK_ULONG size = 0, length = 0;
    CK_BYTE *type = value(session, key, CKA_KEY_TYPE, &size), *id = value(session, key, CKA_ID, &length);
    HOLDS(size == sizeof(CK_KEY_TYPE));
    CK_RSA_PKCS_PSS_PARAMS pss = {CKM_SHA256, CKG_MGF1_SHA256, 32};
    CK_MECHANISM mechanisms[] = {
        {CKM_ECDSA_SHA256, NULL, 0}, {CKM_SHA256_RSA_PKCS, NULL, 0}, {CKM_SHA256_RSA_PKCS_PSS, &pss, sizeof pss}};
    int is_rsa = *(CK_KEY_TYPE *)type == CKK_RSA;
    CK_OBJECT_CLASS class = CKO_PUBLIC_KEY;
    CK_ATTRIBUTE template[] = {{CKA_CLASS, &class, sizeof class}, {CKA_ID, id, length}};
    CK_OBJECT_HANDLE public = 0;
    CK_ULONG count = 0;
    MUST(CKR_OK, p11->C_FindObjectsInit(session, template, 2));
    MUST(CKR_OK, p11->C_FindObjects(session, &public, 1, &count));
    MUST(CKR_OK, p11->C_FindObjectsFinal(session));
    HOLDS(count == 1);
    for (int index = is_rsa; index <= 2 * is_rsa; index++) {
        CK_BYTE message[1000] = {1}, signature[512];
        CK_ULONG needed = 0;
        MUST(CKR_OK, p11->C_SignInit(session, &mechanisms[index], key));
        MUST(CKR_OK, p11->C_Sign(session, message, sizeof message, NULL, &needed));
        HOLDS(needed <= sizeof signature);
        CK_BYTE *exact = malloc(needed);
        MUST(CKR_OK, p11->C_Sign(session, message, sizeof message, exact, &needed));
        memcpy(signature, exact, needed);
        free(exact);
        MUST(CKR_OK, p11->C_VerifyInit(session, &mechanisms[index], public));
        MUST(CKR_OK, p11->C_Verify(session, message, sizeof message, signature, needed));
        signature[0] ^= 1;
        MUST(CKR_OK, p11->C_VerifyInit(session, &mechanisms[index], public));
        MUST(CKR_SIGNATURE_INVALID, p11->C_Verify(session, message, sizeof message, signature, needed));
    }
    free(type);
    free(id);
}

/* A thread, with a session of its own. Returns the number of private keys. */
static void *use_keys(void *slot) {
    CK_SESSION_HANDLE session = 0;
    MUST(CKR_OK, p11->C_OpenSession(*(CK_SLOT_ID *)slot, CKF_SERIAL_SESSION, NULL, NULL, &session));
    CK_OBJECT_HANDLE objects[most];
    CK_ULONG length = 0, count = find_all(session, CKO_CERTIFICATE, objects);
    for (CK_ULONG index = 0; index < count; index++) {
        free(value(session, objects[index], CKA_VALUE, &length));
        free(value(session, objects[index], CKA_LABEL, &length));
    }
    count = find_all(session, CKO_PRIVATE_KEY, objects);
    for (CK_ULONG index = 0; index < count; index++) sign_and_verify(session, objects[index]);
    CK_BYTE random[64], digest[32];
    CK_MECHANISM sha256 = {CKM_SHA256, NULL, 0};
    length = sizeof digest;
    MUST(CKR_OK, p11->C_GenerateRandom(session, random, sizeof random));
    MUST(CKR_OK, p11->C_DigestInit(session, &sha256));
    MUST(CKR_OK, p11->C_Digest(session, random, sizeof random, digest, &length));
    MUST(CKR_OK, p11->C_CloseSession(session));
    return (void *)count;
}

static void *wait_for_card(void *nothing) {
    CK_SLOT_ID slot = 0;
    MUST(CKR_CRYPTOKI_NOT_INITIALIZED, p11->C_WaitForSlotEvent(0, &slot, NULL));
    return nothing;
}

/* Returns the number of private keys. */
static CK_ULONG use_token(CK_SLOT_ID slot) {
    CK_TOKEN_INFO token;
    CK_SLOT_INFO information;
    MUST(CKR_OK, p11->C_GetSlotInfo(slot, &information));
    MUST(CKR_OK, p11->C_GetTokenInfo(slot, &token));
    CK_MECHANISM_TYPE mechanisms[200];
    CK_ULONG count = 200;
    MUST(CKR_OK, p11->C_GetMechanismList(slot, mechanisms, &count));
    for (CK_ULONG index = 0; index < count; index++) {
        CK_MECHANISM_INFO mechanism;
        MUST(CKR_OK, p11->C_GetMechanismInfo(slot, mechanisms[index], &mechanism));
    }
    CK_SESSION_HANDLE session = 0;
    MUST(CKR_OK, p11->C_OpenSession(slot, CKF_SERIAL_SESSION, NULL, NULL, &session));
    MUST(CKR_OK, p11->C_Login(session, CKU_USER, pin, 6));
    pthread_t threads[3];
    void *keys[3];
    for (int index = 0; index < 3; index++) HOLDS(pthread_create(&threads[index], NULL, use_keys, &slot) == 0);
    for (int index = 0; index < 3; index++) HOLDS(pthread_join(threads[index], &keys[index]) == 0);
    HOLDS(keys[0] == keys[1] && keys[1] == keys[2]);
    MUST(CKR_OK, p11->C_Logout(session));
    MUST(CKR_OK, p11->C_CloseAllSessions(slot));
    return (CK_ULONG)keys[0];
}

int main(int count, char **arguments) {
    HOLDS(count >= 3);
    for (int rounds = count > 3 ? atoi(arguments[3]) : 1; rounds > 0; rounds--) {
        void *library = load(arguments[1]);
        CK_C_INITIALIZE_ARGS threaded = {.flags = CKF_OS_LOCKING_OK};
        MUST(CKR_OK, p11->C_Initialize(&threaded));
        CK_INFO information;
        MUST(CKR_OK, p11->C_GetInfo(&information));
        CK_SLOT_ID slots[most];
        CK_ULONG found = most, keys = 0;
        MUST(CKR_OK, p11->C_GetSlotList(CK_TRUE, NULL, &found));
        found = most;
        MUST(CKR_OK, p11->C_GetSlotList(CK_TRUE, slots, &found));
        pthread_t waiting;
        HOLDS(pthread_create(&waiting, NULL, wait_for_card, NULL) == 0);
        for (CK_ULONG index = 0; index < found; index++) keys += use_token(slots[index]);
        HOLDS(keys == (CK_ULONG)atoi(arguments[2]));
        MUST(CKR_OK, p11->C_Finalize(NULL));
        HOLDS(pthread_join(waiting, NULL) == 0);
        HOLDS(dlclose(library) == 0);
    }
    return 0;
}
