#define _GNU_SOURCE
#include "clinux.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

static long or_errno(long result) { return result < 0 ? -errno : result; }

long clinux_add_user_key(const char *description, const void *payload, size_t length, int32_t keyring) {
    return or_errno(syscall(SYS_add_key, "user", description, payload, length, keyring));
}

long clinux_keyring_id(int32_t keyring) {
    return or_errno(syscall(SYS_keyctl, KEYCTL_GET_KEYRING_ID, keyring, 0));
}

long clinux_search_user_key(int32_t keyring, const char *description) {
    return or_errno(syscall(SYS_keyctl, KEYCTL_SEARCH, keyring, "user", description, 0));
}

long clinux_read_key(int32_t key, void *buffer, size_t capacity) {
    return or_errno(syscall(SYS_keyctl, KEYCTL_READ, key, buffer, capacity));
}

long clinux_set_key_timeout(int32_t key, uint32_t seconds) {
    return or_errno(syscall(SYS_keyctl, KEYCTL_SET_TIMEOUT, key, seconds));
}

long clinux_set_key_permissions(int32_t key, uint32_t permissions) {
    return or_errno(syscall(SYS_keyctl, KEYCTL_SETPERM, key, permissions));
}

long clinux_revoke_key(int32_t key) { return or_errno(syscall(SYS_keyctl, KEYCTL_REVOKE, key)); }
