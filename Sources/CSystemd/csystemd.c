#include "csystemd.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct csystemd functions;
static const struct csystemd *loaded;

static void load(void) {
    void *library = dlopen("libsystemd.so.0", RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) return;
#define LOAD(name) \
    functions.name = (__typeof__(functions.name))dlsym(library, "sd_" #name); \
    if (functions.name == NULL) return;
    CSYSTEMD_FUNCTIONS(LOAD)
#undef LOAD
    loaded = &functions;
}

const struct csystemd *csystemd_load(void) {
    pthread_once(&once, load);
    return loaded;
}
