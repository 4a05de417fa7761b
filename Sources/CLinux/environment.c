#define _GNU_SOURCE
#include "clinux.h"

#include <stdlib.h>
#include <sys/auxv.h>

const char *clinux_getenv(const char *name) { return secure_getenv(name); }

int clinux_is_secure(void) { return getauxval(AT_SECURE) != 0; }
