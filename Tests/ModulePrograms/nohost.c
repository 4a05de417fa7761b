/* Without a card service and a keychain no host is started, and functions return the values for unknown slots and sessions. */
#define _GNU_SOURCE
#include "module.h"
#include "host.h"

static void *end_it(void *nothing) {
    sleep(1);
    MUST(CKR_OK, p11->C_Finalize(NULL));
    return nothing;
}

int main(int count, char **arguments) {
    HOLDS(count == 2);
    mark_host();
    load(arguments[1]);
    MUST(CKR_OK, p11->C_Initialize(NULL));
    CK_ULONG slots = 1, length = 0;
    CK_SLOT_ID slot = 0;
    CK_SLOT_INFO slot_info;
    CK_TOKEN_INFO token_info;
    CK_SESSION_INFO session_info;
    CK_SESSION_HANDLE session;
    MUST(CKR_OK, p11->C_GetSlotList(CK_FALSE, NULL, &slots));
    HOLDS(slots == 0);
    MUST(CKR_SLOT_ID_INVALID, p11->C_GetSlotInfo(1, &slot_info));
    MUST(CKR_SLOT_ID_INVALID, p11->C_GetTokenInfo(1, &token_info));
    MUST(CKR_SLOT_ID_INVALID, p11->C_OpenSession(1, CKF_SERIAL_SESSION, NULL, NULL, &session));
    MUST(CKR_SESSION_HANDLE_INVALID, p11->C_GetSessionInfo(1, &session_info));
    MUST(CKR_SESSION_HANDLE_INVALID, p11->C_Login(1, CKU_USER, pin, 6));
    MUST(CKR_SESSION_HANDLE_INVALID, p11->C_Sign(1, pin, 6, NULL, &length));
    MUST(CKR_SESSION_HANDLE_INVALID, p11->C_CloseSession(1));
    MUST(CKR_NO_EVENT, p11->C_WaitForSlotEvent(CKF_DONT_BLOCK, &slot, NULL));
    pthread_t thread;
    pthread_create(&thread, NULL, end_it, NULL);
    MUST(CKR_CRYPTOKI_NOT_INITIALIZED, p11->C_WaitForSlotEvent(0, &slot, NULL));
    pthread_join(thread, NULL);
    HOLDS(find_hosts(NULL, 0) == 0);
    return 0;
}
