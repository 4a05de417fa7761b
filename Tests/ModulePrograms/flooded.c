/* A program that signs while another one floods the host that both share. The test starts and ends the flood at the program's
 * request. The program keeps the session's host, also when it initialises the module anew after the flood. */
#define _GNU_SOURCE
#include "module.h"
#include "host.h"
#include "signature.h"

/* The key with the id 01 on a card; the first key in a keychain. */
static CK_OBJECT_HANDLE key(CK_SESSION_HANDLE session, CK_OBJECT_CLASS class) {
    CK_BYTE id = 1;
    CK_ATTRIBUTE template[] = {{CKA_CLASS, &class, sizeof class}, {CKA_ID, &id, 1}};
    int is_card = strcmp(getenv("TOKENKIT_PKCS11_TOKENS"), "cards") == 0;
    CK_OBJECT_HANDLE object = 0;
    CK_ULONG count = 0;
    MUST(CKR_OK, p11->C_FindObjectsInit(session, template, is_card ? 2 : 1));
    MUST(CKR_OK, p11->C_FindObjects(session, &object, 1, &count));
    MUST(CKR_OK, p11->C_FindObjectsFinal(session));
    HOLDS(count == 1);
    return object;
}

static CK_SESSION_HANDLE log_in(void) {
    MUST(CKR_OK, p11->C_Initialize(NULL));
    CK_SESSION_HANDLE session = open_session();
    MUST(CKR_OK, p11->C_Login(session, CKU_USER, pin, 6));
    return session;
}

static void sign_once(CK_SESSION_HANDLE session, CK_OBJECT_HANDLE private_key) {
    static CK_BYTE number;
    CK_MECHANISM mechanism = {CKM_ECDSA, NULL, 0};
    CK_BYTE digest[32] = {++number}, signature[64];
    CK_ULONG length = sizeof signature;
    MUST(CKR_OK, p11->C_SignInit(session, &mechanism, private_key));
    MUST(CKR_OK, p11->C_Sign(session, digest, sizeof digest, signature, &length));
    HOLDS(is_signature(digest, signature, length));
}

int main(int count, char **arguments) {
    HOLDS(count == 2);
    load(arguments[1]);
    CK_SESSION_HANDLE session = log_in();
    CK_OBJECT_HANDLE private_key = key(session, CKO_PRIVATE_KEY);
    read_public_key(session, key(session, CKO_PUBLIC_KEY));
    sign_once(session, private_key);
    have("flood");
    double end = seconds() + 3;
    for (int round = 0; round < 50 || seconds() < end; round++) sign_once(session, private_key);
    have("end");
    sign_once(session, private_key);
    MUST(CKR_OK, p11->C_Finalize(NULL));
    session = log_in();
    sign_once(session, key(session, CKO_PRIVATE_KEY));
    have("look");
    MUST(CKR_OK, p11->C_Finalize(NULL));
    return 0;
}
