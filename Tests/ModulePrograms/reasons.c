/* What goes wrong with a card, a cause at a time; the log says which it was. */
#include "module.h"
#include <winscard.h>

static CK_UTF8CHAR wrong[] = "987654";

/* Keeps the card from everybody else, as a program does that wants it for itself. */
static void hold_card(void) {
    SCARDCONTEXT context;
    SCARDHANDLE card;
    char readers[256];
    DWORD length = sizeof readers, protocol;
    MUST(SCARD_S_SUCCESS, (CK_ULONG)SCardEstablishContext(SCARD_SCOPE_SYSTEM, NULL, NULL, &context));
    MUST(SCARD_S_SUCCESS, (CK_ULONG)SCardListReaders(context, NULL, readers, &length));
    MUST(SCARD_S_SUCCESS,
         (CK_ULONG)SCardConnect(context, readers, SCARD_SHARE_EXCLUSIVE, SCARD_PROTOCOL_ANY, &card, &protocol));
}

int main(int count, char **arguments) {
    HOLDS(count == 3);
    const char *cause = arguments[2];
    load(arguments[1]);
    MUST(CKR_OK, p11->C_Initialize(NULL));
    if (strcmp(cause, "held") == 0) {
        hold_card();
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
