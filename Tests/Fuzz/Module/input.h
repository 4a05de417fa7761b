/* The parts that the fuzzers of the module share: the input, whose bytes are consumed one after the other; memory of the exact
 * size, so that the address sanitizer sees each byte beyond it; the module with all its functions. */
#include "../../ModulePrograms/module.h"

#include <stdint.h>

static CK_FUNCTION_LIST_3_0 *all;

static const uint8_t *input;
static size_t left;
static void *owned[512];
static unsigned owned_count;

static uint8_t byte(void) {
    if (left == 0) return 0;
    left--;
    return *input++;
}

/* Memory of exactly this size with bytes of the input, freed at the end of the input. */
__attribute__((unused)) static void *memory(size_t size) {
    if (owned_count == sizeof owned / sizeof *owned) return NULL;
    uint8_t *bytes = malloc(size == 0 ? 1 : size);
    for (size_t index = 0; index < size; index++) bytes[index] = byte();
    return owned[owned_count++] = bytes;
}

/* The same for memory that is only written to, without bytes of the input. */
static void *space(size_t size) {
    if (owned_count == sizeof owned / sizeof *owned) return NULL;
    return owned[owned_count++] = malloc(size == 0 ? 1 : size);
}

static void free_owned(void) {
    while (owned_count > 0) free(owned[--owned_count]);
}

/* The place for an answer: a buffer that is NULL, too small or large enough, and its length, which may be missing. */
struct room {
    void *bytes;
    CK_ULONG *count;
};

static struct room room(void) {
    uint8_t choice = byte();
    if (choice == 0) return (struct room){NULL, NULL};
    CK_ULONG *count = space(sizeof *count);
    if (count == NULL) return (struct room){NULL, NULL};
    *count = choice & 1 ? 4096 : choice >> 2;
    return (struct room){choice & 2 ? NULL : space(*count), count};
}

/* The module that the environment names. */
static void load_all(void) {
    const char *path = getenv("MODULE");
    void *library = path == NULL ? NULL : dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        fprintf(stderr, "%s\n", path == NULL ? "MODULE names no module" : dlerror());
        exit(2);
    }
    CK_C_GetInterface get = (CK_C_GetInterface)dlsym(library, "C_GetInterface");
    CK_VERSION version = {3, 0};
    CK_INTERFACE *interface = NULL;
    HOLDS(get != NULL && get((CK_UTF8CHAR *)"PKCS 11", &version, &interface, 0) == CKR_OK && interface != NULL);
    all = interface->pFunctionList;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

#ifdef STANDALONE
/* Runs each file's bytes, with the module that is the first argument. */
static void run_files(int count, char **arguments) {
    HOLDS(count > 2 && setenv("MODULE", arguments[1], 1) == 0);
    static uint8_t bytes[1 << 16];
    for (int index = 2; index < count; index++) {
        FILE *file = fopen(arguments[index], "rb");
        HOLDS(file != NULL);
        size_t size = fread(bytes, 1, sizeof bytes, file);
        fclose(file);
        LLVMFuzzerTestOneInput(bytes, size);
    }
}
#endif
