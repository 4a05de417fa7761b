/* COUNT programs that have asked the module for its slots, and then do nothing:
 *
 *     idle MODULE COUNT
 *
 * They end without C_Finalize. */
#include "module.h"

int main(int count, char **arguments) {
    HOLDS(count == 3);
    load(arguments[1]);
    int ready[2], end[2];
    HOLDS(pipe(ready) == 0 && pipe(end) == 0);
    int total = atoi(arguments[2]);
    for (int index = 0; index < total; index++) {
        pid_t child = fork();
        HOLDS(child >= 0);
        char byte = 0;
        if (child == 0) {
            CK_ULONG slots = 0;
            close(end[1]);
            MUST(CKR_OK, p11->C_Initialize(NULL));
            MUST(CKR_OK, p11->C_GetSlotList(CK_FALSE, NULL, &slots));
            HOLDS(write(ready[1], &byte, 1) == 1);
            close(ready[1]);
            HOLDS(read(end[0], &byte, 1) == 0);
            _exit(0);
        }
        if (index == total - 1) close(ready[1]);
        HOLDS(read(ready[0], &byte, 1) == 1);
        if (index == 0) have("one");
    }
    have("all");
    close(end[1]);
    for (int index = 0, status = 0; index < total; index++) HOLDS(wait(&status) > 0 && status == 0);
    have("none");
    return 0;
}
