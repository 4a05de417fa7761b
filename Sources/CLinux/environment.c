#define _GNU_SOURCE
#include "clinux.h"

#include <stdlib.h>

const char *clinux_getenv(const char *name) { return secure_getenv(name); }
