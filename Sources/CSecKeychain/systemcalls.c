#define _DEFAULT_SOURCE
#include "systemcalls.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A group with the owner's number has the owner as its only member, as distributions with umask 002 make them. */
static int is_private(const struct stat *status) {
    return (status->st_mode & S_IWOTH) == 0 && ((status->st_mode & S_IWGRP) == 0 || status->st_gid == status->st_uid);
}

int32_t tokenkit_is_own(const char *path) {
    /* In memory of its own: threads of programs have small stacks. */
    char *real = realpath(path, NULL);
    struct stat status;
    int is_own = real != NULL && stat(real, &status) == 0 && is_private(&status);
    for (char *end = real; is_own && end != NULL;) {
        if (lstat(real, &status) != 0 || (status.st_uid != 0 && status.st_uid != geteuid())) is_own = 0;
        /* In a sticky folder only the owner of a file can replace it. */
        else if (S_ISDIR(status.st_mode) && !is_private(&status) && (status.st_mode & S_ISVTX) == 0) is_own = 0;
        end = strcmp(real, "/") == 0 ? NULL : strrchr(real, '/');
        if (end != NULL) end[end == real] = 0;
    }
    free(real);
    return is_own;
}

void tokenkit_wipe(void *memory, size_t count) { explicit_bzero(memory, count); }
