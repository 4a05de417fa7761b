/* A program that shares the session's host with others. At its request the test replaces or kills the host while the program
 * uses it. */
#include "module.h"

static CK_UTF8CHAR password[] = "open";

static CK_STATE state_of(CK_SESSION_HANDLE session) {
    CK_SESSION_INFO info;
    MUST(CKR_OK, p11->C_GetSessionInfo(session, &info));
    return info.state;
}

static CK_SESSION_HANDLE log_in(void) {
    CK_SESSION_HANDLE session = open_session();
    /* Logins of other programs do not count for this one. */
    HOLDS(state_of(session) == CKS_RW_PUBLIC_SESSION);
    MUST(CKR_OK, p11->C_Login(session, CKU_USER, password, 4));
    HOLDS(state_of(session) == CKS_RW_USER_FUNCTIONS);
    return session;
}

static void *look(void *session) {
    for (int round = 0; round < 50; round++) HOLDS(state_of((CK_SESSION_HANDLE)session) == CKS_RW_USER_FUNCTIONS);
    return NULL;
}

/* More threads than there are connections so far. */
static void look_in_threads(CK_SESSION_HANDLE session) {
    pthread_t threads[8];
    for (int index = 0; index < 8; index++) pthread_create(&threads[index], NULL, look, (void *)session);
    for (int index = 0; index < 8; index++) pthread_join(threads[index], NULL);
}

int main(int count, char **arguments) {
    HOLDS(count == 3);
    load(arguments[1]);
    MUST(CKR_OK, p11->C_Initialize(NULL));
    CK_SESSION_HANDLE session = log_in();
    if (strcmp(arguments[2], "use") == 0) {
        have("other");
        HOLDS(state_of(session) == CKS_RW_USER_FUNCTIONS);
    } else if (strcmp(arguments[2], "replace") == 0) {
        have("replace");
        HOLDS(state_of(session) == CKS_RW_USER_FUNCTIONS);
        look_in_threads(session);
        MUST(CKR_OK, p11->C_Finalize(NULL));
        MUST(CKR_OK, p11->C_Initialize(NULL));
        log_in();
    } else if (strcmp(arguments[2], "kill") == 0) {
        have("kill");
        CK_SESSION_INFO info;
        CK_RV result = p11->C_GetSessionInfo(session, &info);
        HOLDS(result == CKR_SESSION_HANDLE_INVALID || result == CKR_DEVICE_ERROR);
        /* The handles of the killed host are invalid for the next one. */
        CK_SESSION_HANDLE next = log_in();
        HOLDS(next != session);
        MUST(CKR_SESSION_HANDLE_INVALID, p11->C_GetSessionInfo(session, &info));
        look_in_threads(next);
    }
    MUST(CKR_OK, p11->C_Finalize(NULL));
    return 0;
}
