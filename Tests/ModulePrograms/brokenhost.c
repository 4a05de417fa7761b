/* A host that ends at once, as one whose library is missing; and then one that works. The second argument is the path at which the
 * module finds it, the third that of the working one. A shell script, which starts nothing, counts its starts. */
#define _GNU_SOURCE
#include "module.h"
#include "host.h"
#include <sys/stat.h>

static void install_broken(const char *path) {
    FILE *file = fopen("broken", "w");
    HOLDS(file != NULL && fputs("#!/bin/sh\necho >>\"$XDG_RUNTIME_DIR/starts\"\nexit 127\n", file) >= 0 && fclose(file) == 0);
    HOLDS(chmod("broken", 0700) == 0 && rename("broken", path) == 0);
}

static int count_starts(void) {
    struct stat status;
    return stat("starts", &status) == 0 ? (int)status.st_size : 0;
}

static CK_ULONG count_slots(void) {
    CK_ULONG slots = 99;
    MUST(CKR_OK, p11->C_GetSlotList(CK_TRUE, NULL, &slots));
    return slots;
}

int main(int count, char **arguments) {
    HOLDS(count == 4);
    mark_host();
    load(arguments[1]);
    install_broken(arguments[2]);
    int descriptors = open_descriptors();

    MUST(CKR_OK, p11->C_Initialize(NULL));
    enum { calls = 3000 };
    CK_SESSION_HANDLE session;
    double start = seconds();
    for (int call = 0; call < calls; call++) {
        HOLDS(count_slots() == 0);
        MUST(CKR_DEVICE_ERROR, p11->C_OpenSession(1, CKF_SERIAL_SESSION, NULL, NULL, &session));
    }
    /* Two starts after each pause, and each pause is twice as long as the one before it. */
    int starts = count_starts(), most = 2;
    for (double pause = 0.1, ends = pause; ends < seconds() - start; ends += pause *= 2) most += 2;
    fprintf(stderr, "%d starts, at most %d\n", starts, most);
    HOLDS(starts >= 2 && starts <= most);
    /* C_Initialize looks at once. */
    MUST(CKR_OK, p11->C_Finalize(NULL));
    MUST(CKR_OK, p11->C_Initialize(NULL));
    HOLDS(count_slots() == 0 && count_starts() == starts + 2);
    must_have_no_child();
    HOLDS(open_descriptors() == descriptors);

    /* It is repaired while the program runs, which need not start anew. */
    HOLDS(unlink(arguments[2]) == 0 && symlink(arguments[3], arguments[2]) == 0);
    for (int tries = 0; count_slots() == 0; tries++) {
        HOLDS(tries < 600);
        usleep(100000);
    }
    session = open_session();

    /* A program that has used a host is told of its loss, and not that the slots are gone. */
    install_broken(arguments[2]);
    HOLDS(kill(find_host(), SIGKILL) == 0);
    await_hosts(0);
    starts = count_starts();
    CK_ULONG slots;
    MUST(CKR_DEVICE_ERROR, p11->C_GetSlotList(CK_TRUE, NULL, &slots));
    HOLDS(count_starts() == starts + 2);
    MUST(CKR_OK, p11->C_Finalize(NULL));
    must_have_no_child();
    return 0;
}
