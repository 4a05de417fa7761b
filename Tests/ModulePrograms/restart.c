/* The service ends and comes back between two calls: sessions, handles and slots go on, and only the login is over. */
#include "module.h"

static CK_SESSION_HANDLE session;
static CK_OBJECT_HANDLE key, certificate;

static void restart(void) {
    have("stop");
    have("start");
}

static CK_STATE state(void) {
    CK_SESSION_INFO info;
    MUST(CKR_OK, p11->C_GetSessionInfo(session, &info));
    return info.state;
}

static CK_RV id(CK_OBJECT_HANDLE object) {
    CK_BYTE value;
    CK_ATTRIBUTE template[] = {{CKA_ID, &value, 1}};
    return p11->C_GetAttributeValue(session, object, template, 1);
}

/* Handles from before are valid in the next login. */
static void log_in_again(void) {
    MUST(CKR_OK, p11->C_Login(session, CKU_USER, pin, 6));
    HOLDS(state() == CKS_RW_USER_FUNCTIONS);
    MUST(CKR_OK, sign(session, key));
    MUST(CKR_OK, id(key));
    HOLDS(find(session, CKO_PRIVATE_KEY, 1) == key);
}

static CK_SLOT_ID changed;

static void *wait_for_event(void *result) {
    *(CK_RV *)result = p11->C_WaitForSlotEvent(0, &changed, NULL);
    return NULL;
}

/* The slots for a program that does not ask for the length of the list first. */
static CK_ULONG slots(CK_BBOOL with_token, CK_SLOT_ID *first) {
    CK_SLOT_ID slots[16];
    CK_ULONG count = 16;
    MUST(CKR_OK, p11->C_GetSlotList(with_token, slots, &count));
    *first = slots[0];
    return count;
}

/* A program that waited once, and was told that the service has ended, has the same slots when it is back. */
static void wait_once(void) {
    CK_SLOT_ID slot = first_slot(), first;
    CK_ULONG all = slots(CK_FALSE, &first);
    CK_RV waited = CKR_GENERAL_ERROR;
    pthread_t thread;
    pthread_create(&thread, NULL, wait_for_event, &waited);
    usleep(300000);
    have("stop");
    pthread_join(thread, NULL);
    MUST(CKR_OK, waited);
    HOLDS(changed == slot);
    HOLDS(slots(CK_TRUE, &first) == 0);
    HOLDS(slots(CK_FALSE, &first) == all && first == slot);
    have("start");
    HOLDS(slots(CK_TRUE, &first) == 1 && first == slot);
    HOLDS(slots(CK_FALSE, &first) == all && first == slot);
    MUST(CKR_OK, p11->C_WaitForSlotEvent(CKF_DONT_BLOCK, &changed, NULL));
    HOLDS(changed == slot);
}

/* A program that lists slots for the first time while there is no service, without asking for the length, finds the readers
 * later. */
static void list_before_the_service(void) {
    have("stop");
    CK_SLOT_ID first;
    MUST(CKR_OK, p11->C_Initialize(NULL));
    CK_ULONG without = slots(CK_FALSE, &first);
    HOLDS(slots(CK_TRUE, &first) == 0);
    have("start");
    HOLDS(slots(CK_FALSE, &first) > without);
    HOLDS(slots(CK_TRUE, &first) == 1);
    MUST(CKR_OK, p11->C_Finalize(NULL));
}

/* Without its service the reader is a slot without a token, and the session's card is out. */
static void ask_without_the_service(CK_SLOT_ID slot) {
    CK_SESSION_HANDLE other;
    CK_TOKEN_INFO token;
    CK_MECHANISM_INFO mechanism;
    CK_ULONG mechanisms;
    CK_OBJECT_CLASS classes[] = {CKO_CERTIFICATE, CKO_DATA, CKO_HW_FEATURE};
    MUST(CKR_TOKEN_NOT_PRESENT, p11->C_GetTokenInfo(slot, &token));
    MUST(CKR_TOKEN_NOT_PRESENT, p11->C_GetMechanismList(slot, NULL, &mechanisms));
    MUST(CKR_TOKEN_NOT_PRESENT, p11->C_GetMechanismInfo(slot, CKM_ECDSA, &mechanism));
    MUST(CKR_TOKEN_NOT_PRESENT, p11->C_OpenSession(slot, CKF_SERIAL_SESSION, NULL, NULL, &other));
    for (int index = 0; index < 3; index++) {
        CK_ATTRIBUTE template[] = {{CKA_CLASS, &classes[index], sizeof classes[index]}};
        MUST(CKR_DEVICE_REMOVED, p11->C_FindObjectsInit(session, template, 1));
    }
    MUST(CKR_DEVICE_REMOVED, p11->C_Login(session, CKU_USER, pin, 6));
    MUST(CKR_OK, id(certificate));
}

/* A PIN for one use of a key that needs it each time does not count after a restart, because the card may be another one. */
static void sign_with_the_pin_of_before(void) {
    CK_MECHANISM mechanism = {CKM_ECDSA, NULL, 0};
    CK_BYTE digest[32] = {1}, signature[256];
    CK_ULONG length = sizeof signature;
    CK_OBJECT_HANDLE always = find(session, CKO_PRIVATE_KEY, 2);
    MUST(CKR_OK, p11->C_SignInit(session, &mechanism, always));
    MUST(CKR_OK, p11->C_Login(session, CKU_CONTEXT_SPECIFIC, pin, 6));
    restart();
    MUST(CKR_USER_NOT_LOGGED_IN, p11->C_Sign(session, digest, sizeof digest, signature, &length));
    MUST(CKR_OPERATION_NOT_INITIALIZED, p11->C_Sign(session, digest, sizeof digest, signature, &length));
    log_in_again();
}

int main(int count, char **arguments) {
    HOLDS(count == 2);
    load(arguments[1]);
    list_before_the_service();
    MUST(CKR_OK, p11->C_Initialize(NULL));
    session = open_session();
    certificate = find(session, CKO_CERTIFICATE, 1);
    MUST(CKR_OK, p11->C_Login(session, CKU_USER, pin, 6));
    key = find(session, CKO_PRIVATE_KEY, 1);
    MUST(CKR_OK, sign(session, key));

    /* The state is asked for first. */
    restart();
    HOLDS(state() == CKS_RW_PUBLIC_SESSION);
    HOLDS(find(session, CKO_CERTIFICATE, 1) == certificate);
    MUST(CKR_USER_NOT_LOGGED_IN, sign(session, key));
    MUST(CKR_OBJECT_HANDLE_INVALID, id(key));
    log_in_again();

    /* A signature comes first. */
    restart();
    MUST(CKR_USER_NOT_LOGGED_IN, sign(session, key));
    HOLDS(state() == CKS_RW_PUBLIC_SESSION);
    MUST(CKR_USER_NOT_LOGGED_IN, sign(session, key));
    log_in_again();

    /* A search comes first. */
    restart();
    HOLDS(find(session, CKO_CERTIFICATE, 1) == certificate);
    HOLDS(state() == CKS_RW_PUBLIC_SESSION);
    log_in_again();

    /* A login comes first, by a program that has not noticed the restart. */
    restart();
    log_in_again();

    /* A restart amid a signature, with calls while there is no service. */
    CK_MECHANISM mechanism = {CKM_ECDSA, NULL, 0};
    CK_BYTE digest[32] = {1}, signature[256];
    CK_ULONG length = sizeof signature;
    CK_SLOT_ID slot = first_slot();
    MUST(CKR_OK, p11->C_SignInit(session, &mechanism, key));
    have("stop");
    HOLDS(state() == CKS_RW_PUBLIC_SESSION);
    ask_without_the_service(slot);
    have("start");
    MUST(CKR_USER_NOT_LOGGED_IN, p11->C_Sign(session, digest, sizeof digest, signature, &length));
    log_in_again();

    sign_with_the_pin_of_before();
    wait_once();
    log_in_again();
    MUST(CKR_OK, p11->C_Finalize(NULL));
    return 0;
}
