/* The library's constant strings, which are no objects. */
#ifndef TOKENKIT_AUTHORIZATIONS_H
#define TOKENKIT_AUTHORIZATIONS_H

#include <stdint.h>

/* The places of the authorizations in the table, and so their bits in sets. */
typedef enum tokenkit_authorization {
    tokenkit_authorization_any,
    tokenkit_authorization_login,
    tokenkit_authorization_gen_key,
    tokenkit_authorization_delete,
    tokenkit_authorization_export_wrapped,
    tokenkit_authorization_export_clear,
    tokenkit_authorization_import_wrapped,
    tokenkit_authorization_import_clear,
    tokenkit_authorization_sign,
    tokenkit_authorization_encrypt,
    tokenkit_authorization_decrypt,
    tokenkit_authorization_mac,
    tokenkit_authorization_derive,
    tokenkit_authorization_keychain_create,
    tokenkit_authorization_keychain_delete,
    tokenkit_authorization_keychain_item_read,
    tokenkit_authorization_keychain_item_insert,
    tokenkit_authorization_keychain_item_modify,
    tokenkit_authorization_keychain_item_delete,
    tokenkit_authorization_change_acl,
    tokenkit_authorization_change_owner,
    tokenkit_authorization_partition_id,
    tokenkit_authorization_integrity,
    tokenkit_authorization_count,
} tokenkit_authorization;

/* The constant of a place below tokenkit_authorization_count; NULL for another one. */
const void *tokenkit_authorization_tag(uint32_t place);

/* The text of one of these constants; NULL for any other pointer. */
const char *tokenkit_constant_text(const void *reference);

#endif
