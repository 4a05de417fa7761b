/* Failures of a card, one cause at a time, which the log names. */
#include "other-program.h"

static CK_UTF8CHAR wrong[] = "987654";

int main(int count, char **arguments) {
    HOLDS(count == 3);
    const char *cause = arguments[2];
    load(arguments[1]);
    MUST(CKR_OK, p11->C_Initialize(NULL));
    if (strcmp(cause, "held") == 0) {
        connect_card(SCARD_SHARE_EXCLUSIVE);
        CK_SESSION_HANDLE session = 0;
        MUST(CKR_DEVICE_ERROR, p11->C_OpenSession(first_slot(), CKF_SERIAL_SESSION, NULL, NULL, &session));
        return 0;
    }
    CK_SESSION_HANDLE session = open_session();
    if (strcmp(cause, "wrong") == 0) {
        MUST(CKR_PIN_INCORRECT, p11->C_Login(session, CKU_USER, wrong, 6));
        return 0;
    }
    if (strcmp(cause, "blocked") == 0) {
        MUST(CKR_PIN_LOCKED, p11->C_Login(session, CKU_USER, wrong, 6));
        return 0;
    }
    MUST(CKR_OK, p11->C_Login(session, CKU_USER, pin, 6));
    CK_OBJECT_HANDLE key = find(session, CKO_PRIVATE_KEY, 1);
    if (strcmp(cause, "untouched") == 0) {
        MUST(CKR_FUNCTION_REJECTED, sign(session, key));
        return 0;
    }
    HOLDS(strcmp(cause, "gone") == 0);
    have("remove");
    MUST(CKR_DEVICE_REMOVED, sign(session, key));
    return 0;
}
