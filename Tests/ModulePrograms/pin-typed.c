/* A program to which a person types the card's PIN: it is read from the standard input and wiped as soon as the module has it. The test looks
 * for it in the memory of this program and of the host at each request. */
#include "module.h"

static void have_searched(const char *moment) {
    char wish[64];
    snprintf(wish, sizeof wish, "%d %s", getpid(), moment);
    have(wish);
}

int main(int count, char **arguments) {
    HOLDS(count == 2);
    load(arguments[1]);
    MUST(CKR_OK, p11->C_Initialize(NULL));
    CK_SESSION_HANDLE session = open_session();
    CK_UTF8CHAR typed[8];
    HOLDS(read(0, typed, sizeof typed) == sizeof typed);
    MUST(CKR_OK, p11->C_Login(session, CKU_USER, typed, sizeof typed));
    explicit_bzero(typed, sizeof typed);
    have_searched("logged in");
    for (int round = 0; round < 3; round++) MUST(CKR_OK, sign(session, find(session, CKO_PRIVATE_KEY, 1)));
    have_searched("used");
    MUST(CKR_OK, p11->C_Logout(session));
    have_searched("logged out");
    have_searched("locked");
    MUST(CKR_OK, p11->C_Finalize(NULL));
    return 0;
}
