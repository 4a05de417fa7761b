/* The memory by which a process grows that loads the module and asks it for its slots. The pages of the module's file, which its size bounds,
 * and of libc are left out: programs share them, and the kernel maps more of them than are used. */
#include "module.h"

static long own_memory(void) {
    char line[256];
    long kilobytes = -1;
    FILE *file = fopen("/proc/self/smaps_rollup", "r");
    HOLDS(file != NULL);
    while (fgets(line, sizeof line, file) != NULL && sscanf(line, "Anonymous: %ld kB", &kilobytes) != 1);
    fclose(file);
    HOLDS(kilobytes > 0);
    return kilobytes;
}

int main(int count, char **arguments) {
    HOLDS(count == 2);
    own_memory();
    /* Memory for what dlopen itself does. */
    HOLDS(dlopen("libnothing-of-this-name.so", RTLD_NOW) == NULL);
    long before = own_memory();
    load(arguments[1]);
    CK_ULONG slots = 0;
    MUST(CKR_OK, p11->C_Initialize(NULL));
    MUST(CKR_OK, p11->C_GetSlotList(CK_FALSE, NULL, &slots));
    HOLDS(slots > 0);
    MUST(CKR_OK, p11->C_Finalize(NULL));
    long grown = own_memory() - before;
    fprintf(stderr, "%ld KiB\n", grown);
    HOLDS(grown <= 100);
    return 0;
}
