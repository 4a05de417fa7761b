// For p11_kit_set_progname, which p11-kit has had since 2012.
#define P11_KIT_FUTURE_UNSTABLE_API
#include "cp11kit.h"

#include <p11-kit-1/p11-kit/p11-kit.h>
#include <stdlib.h>

void *cp11kit_module(const char *program, const char *name) {
    p11_kit_set_progname(program);
    CK_FUNCTION_LIST **modules = p11_kit_modules_load(NULL, 0);
    if (modules == NULL) return NULL;
    CK_FUNCTION_LIST *found = p11_kit_module_for_name(modules, name);
    for (size_t i = 0; modules[i] != NULL; i++)
        if (modules[i] != found) p11_kit_module_release(modules[i]);
    free(modules);
    return found;
}
