/* Successive signatures with the same key and mechanism cost one message each, and the rules of C_SignInit hold all the same,
 * whatever is called between it and C_Sign. */
#include "messages.h"

static CK_MECHANISM plain = {CKM_ECDSA, NULL, 0}, hashing = {CKM_ECDSA_SHA256, NULL, 0};
static CK_BYTE data[2 << 20] = {1}, signature[64];

static CK_RV finish(CK_SESSION_HANDLE session) {
    CK_ULONG length = sizeof signature;
    return p11->C_Sign(session, data, 32, signature, &length);
}

/* Begins a signature of a key and mechanism that the host has accepted before, which costs no message. */
static void hold(CK_SESSION_HANDLE session, CK_MECHANISM *mechanism, CK_OBJECT_HANDLE key) {
    MUST(CKR_OK, p11->C_SignInit(session, mechanism, key));
    MUST(CKR_OK, finish(session));
    int before = messages;
    MUST(CKR_OK, p11->C_SignInit(session, mechanism, key));
    HOLDS(messages == before);
}

static void check(CK_SESSION_HANDLE session, CK_MECHANISM *mechanism, CK_OBJECT_HANDLE key, CK_ULONG count) {
    MUST(CKR_OK, p11->C_VerifyInit(session, mechanism, key));
    MUST(CKR_OK, p11->C_Verify(session, data, count, signature, sizeof signature));
}

int main(int count, char **arguments) {
    HOLDS(count == 2);
    load(arguments[1]);
    MUST(CKR_OK, p11->C_Initialize(NULL));
    CK_SESSION_HANDLE session = open_session(), other = open_session();
    MUST(CKR_OK, p11->C_Login(session, CKU_USER, password, 4));
    CK_BYTE curve[] = {0x06, 0x08, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07};
    CK_MECHANISM generation = {CKM_EC_KEY_PAIR_GEN, NULL, 0};
    CK_BBOOL yes = CK_TRUE;
    CK_ATTRIBUTE public_template[] = {{CKA_EC_PARAMS, curve, sizeof curve}}, private_template[] = {{CKA_TOKEN, &yes, 1}};
    CK_OBJECT_HANDLE public_key, key, other_public_key, other_key;
    MUST(CKR_OK, p11->C_GenerateKeyPair(session, &generation, public_template, 1, private_template, 1, &public_key, &key));
    MUST(CKR_OK, p11->C_GenerateKeyPair(session, &generation, public_template, 1, private_template, 1, &other_public_key, &other_key));

    MUST(CKR_OK, p11->C_SignInit(session, &plain, key));
    MUST(CKR_OK, finish(session));
    int before = messages;
    for (int round = 0; round < 20; round++) {
        MUST(CKR_OK, p11->C_SignInit(session, &plain, key));
        MUST(CKR_OK, finish(session));
    }
    HOLDS(messages - before == 20);
    check(session, &plain, public_key, 32);

    /* A question to the host before each signature costs only its own message. */
    before = messages;
    for (int round = 0; round < 5; round++) {
        CK_SESSION_INFO between;
        MUST(CKR_OK, p11->C_GetSessionInfo(session, &between));
        MUST(CKR_OK, p11->C_SignInit(session, &plain, key));
        MUST(CKR_OK, finish(session));
    }
    HOLDS(messages - before == 10);

    /* With another key or mechanism a signature begins anew. */
    hold(session, &plain, key);
    MUST(CKR_OK, p11->C_SignInit(session, &plain, other_key));
    MUST(CKR_OK, finish(session));
    check(session, &plain, other_public_key, 32);
    hold(session, &plain, key);
    MUST(CKR_OK, p11->C_SignInit(session, &hashing, key));
    MUST(CKR_OK, finish(session));
    check(session, &hashing, public_key, 32);

    /* A call for the length, too little room, and data that takes several messages. */
    hold(session, &plain, key);
    CK_ULONG length = 0;
    MUST(CKR_OK, p11->C_Sign(session, data, 32, NULL, &length));
    HOLDS(length == sizeof signature);
    length = 10;
    MUST(CKR_BUFFER_TOO_SMALL, p11->C_Sign(session, data, 32, signature, &length));
    MUST(CKR_OK, finish(session));
    MUST(CKR_OPERATION_NOT_INITIALIZED, finish(session));
    hold(session, &hashing, key);
    length = sizeof signature;
    MUST(CKR_OK, p11->C_Sign(session, data, sizeof data, signature, &length));
    check(session, &hashing, public_key, sizeof data);

    /* Data in parts by the program. A signature with a part cannot be begun anew. */
    hold(session, &hashing, key);
    MUST(CKR_OK, p11->C_SignUpdate(session, data, 16));
    MUST(CKR_OPERATION_ACTIVE, p11->C_SignInit(session, &hashing, key));
    MUST(CKR_OK, p11->C_SignUpdate(session, data + 16, 16));
    length = sizeof signature;
    MUST(CKR_OK, p11->C_SignFinal(session, signature, &length));
    check(session, &hashing, public_key, 32);

    /* Other calls of the session between C_SignInit and C_Sign. */
    hold(session, &plain, key);
    CK_SESSION_INFO information;
    MUST(CKR_OK, p11->C_GetSessionInfo(session, &information));
    check(session, &plain, public_key, 32);
    MUST(CKR_OK, finish(session));
    MUST(CKR_OPERATION_NOT_INITIALIZED, finish(session));

    /* A signature that is cancelled, or ended by an error. */
    hold(session, &plain, key);
    MUST(CKR_OK, p11->C_SignInit(session, NULL, 0));
    MUST(CKR_OPERATION_NOT_INITIALIZED, finish(session));
    hold(session, &plain, key);
    MUST(CKR_ARGUMENTS_BAD, p11->C_Sign(session, data, 32, signature, NULL));
    MUST(CKR_OPERATION_NOT_INITIALIZED, finish(session));

    /* Two sessions by turns. */
    hold(session, &plain, key);
    MUST(CKR_OK, p11->C_SignInit(other, &plain, other_key));
    MUST(CKR_OK, finish(other));
    check(other, &plain, other_public_key, 32);
    MUST(CKR_OK, finish(session));
    check(session, &plain, public_key, 32);

    /* In between, the key is destroyed or the user logged out, by another session or the same. */
    hold(session, &plain, other_key);
    MUST(CKR_OK, p11->C_DestroyObject(other, other_key));
    MUST(CKR_OPERATION_NOT_INITIALIZED, finish(session));
    MUST(CKR_KEY_HANDLE_INVALID, p11->C_SignInit(session, &plain, other_key));
    hold(session, &plain, key);
    MUST(CKR_OK, p11->C_Logout(other));
    MUST(CKR_OPERATION_NOT_INITIALIZED, finish(session));
    MUST(CKR_KEY_HANDLE_INVALID, p11->C_SignInit(session, &plain, key));
    MUST(CKR_OK, p11->C_Login(session, CKU_USER, password, 4));
    CK_OBJECT_CLASS class = CKO_PRIVATE_KEY;
    CK_ATTRIBUTE private_keys[] = {{CKA_CLASS, &class, sizeof class}};
    CK_ULONG found = 0;
    MUST(CKR_OK, p11->C_FindObjectsInit(session, private_keys, 1));
    MUST(CKR_OK, p11->C_FindObjects(session, &key, 1, &found));
    MUST(CKR_OK, p11->C_FindObjectsFinal(session));
    HOLDS(found == 1);
    hold(session, &plain, key);
    MUST(CKR_OK, p11->C_Logout(session));
    MUST(CKR_OPERATION_NOT_INITIALIZED, finish(session));
    MUST(CKR_OK, p11->C_Login(session, CKU_USER, password, 4));
    MUST(CKR_OK, p11->C_FindObjectsInit(session, private_keys, 1));
    MUST(CKR_OK, p11->C_FindObjects(session, &key, 1, &found));
    MUST(CKR_OK, p11->C_FindObjectsFinal(session));
    hold(session, &plain, key);

    /* A forked child has neither the session nor the signature. */
    pid_t child = fork();
    HOLDS(child >= 0);
    if (child == 0) {
        MUST(CKR_OK, p11->C_Initialize(NULL));
        MUST(CKR_SESSION_HANDLE_INVALID, finish(session));
        MUST(CKR_SESSION_HANDLE_INVALID, p11->C_SignInit(session, &plain, key));
        MUST(CKR_OK, p11->C_Finalize(NULL));
        _exit(0);
    }
    int status = 0;
    HOLDS(waitpid(child, &status, 0) == child && status == 0);

    MUST(CKR_OK, p11->C_CloseSession(session));
    MUST(CKR_SESSION_HANDLE_INVALID, finish(session));
    MUST(CKR_SESSION_HANDLE_INVALID, p11->C_SignInit(session, &plain, key));

    /* All sessions are closed amid a begun signature, or the module is finalised. Later signatures cost one message all the same. */
    for (int round = 0; round < 2; round++) {
        session = open_session();
        /* At first the other session is still logged in. */
        MUST(round == 0 ? CKR_USER_ALREADY_LOGGED_IN : CKR_OK, p11->C_Login(session, CKU_USER, password, 4));
        MUST(CKR_OK, p11->C_FindObjectsInit(session, private_keys, 1));
        MUST(CKR_OK, p11->C_FindObjects(session, &key, 1, &found));
        MUST(CKR_OK, p11->C_FindObjectsFinal(session));
        hold(session, &plain, key);
        if (round == 0) {
            MUST(CKR_OK, p11->C_CloseAllSessions(first_slot()));
            MUST(CKR_SESSION_HANDLE_INVALID, finish(session));
        } else {
            MUST(CKR_OK, p11->C_Finalize(NULL));
            MUST(CKR_OK, p11->C_Initialize(NULL));
        }
    }
    session = open_session();
    MUST(CKR_OK, p11->C_Login(session, CKU_USER, password, 4));
    MUST(CKR_OK, p11->C_FindObjectsInit(session, private_keys, 1));
    MUST(CKR_OK, p11->C_FindObjects(session, &key, 1, &found));
    MUST(CKR_OK, p11->C_FindObjectsFinal(session));
    hold(session, &plain, key);
    MUST(CKR_OK, p11->C_Finalize(NULL));
    return 0;
}
