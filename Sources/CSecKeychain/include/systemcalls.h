/* Calls of the C library that Swift does not see, beside those of CThinClient. */
#ifndef TOKENKIT_SYSTEMCALLS_H
#define TOKENKIT_SYSTEMCALLS_H

#include <stddef.h>
#include <stdint.h>

/* Whether a path leads to a file that no user but this one and root can write or replace. A statically linked program may lie in a
 * folder for all users, such as /tmp, where others could put a host beside it. */
int32_t tokenkit_is_own(const char *path);

/* explicit_bzero(3). */
void tokenkit_wipe(void *memory, size_t count);

#endif
