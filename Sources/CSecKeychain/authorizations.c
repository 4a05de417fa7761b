/* The constant strings. Programs compare them by address, as those of macOS, so that they have to be variables; and the library has no
 * initialiser that could make objects of them. */
#include "SecKeychain.h"
#include "authorizations.h"

#include <stddef.h>

static const char *const texts[tokenkit_authorization_count] = {
    [tokenkit_authorization_any] = "ACLAuthorizationAny",
    [tokenkit_authorization_login] = "ACLAuthorizationLogin",
    [tokenkit_authorization_gen_key] = "ACLAuthorizationGenKey",
    [tokenkit_authorization_delete] = "ACLAuthorizationDelete",
    [tokenkit_authorization_export_wrapped] = "ACLAuthorizationExportWrapped",
    [tokenkit_authorization_export_clear] = "ACLAuthorizationExportClear",
    [tokenkit_authorization_import_wrapped] = "ACLAuthorizationImportWrapped",
    [tokenkit_authorization_import_clear] = "ACLAuthorizationImportClear",
    [tokenkit_authorization_sign] = "ACLAuthorizationSign",
    [tokenkit_authorization_encrypt] = "ACLAuthorizationEncrypt",
    [tokenkit_authorization_decrypt] = "ACLAuthorizationDecrypt",
    [tokenkit_authorization_mac] = "ACLAuthorizationMAC",
    [tokenkit_authorization_derive] = "ACLAuthorizationDerive",
    [tokenkit_authorization_keychain_create] = "ACLAuthorizationKeychainCreate",
    [tokenkit_authorization_keychain_delete] = "ACLAuthorizationKeychainDelete",
    [tokenkit_authorization_keychain_item_read] = "ACLAuthorizationKeychainItemRead",
    [tokenkit_authorization_keychain_item_insert] = "ACLAuthorizationKeychainItemInsert",
    [tokenkit_authorization_keychain_item_modify] = "ACLAuthorizationKeychainItemModify",
    [tokenkit_authorization_keychain_item_delete] = "ACLAuthorizationKeychainItemDelete",
    [tokenkit_authorization_change_acl] = "ACLAuthorizationChangeACL",
    [tokenkit_authorization_change_owner] = "ACLAuthorizationChangeOwner",
    [tokenkit_authorization_partition_id] = "ACLAuthorizationPartitionID",
    [tokenkit_authorization_integrity] = "ACLAuthorizationIntegrity",
};

#define TAG(name, place) const CFStringRef kSecACLAuthorization##name = (CFStringRef)&texts[tokenkit_authorization_##place]
TAG(Any, any);
TAG(Login, login);
TAG(GenKey, gen_key);
TAG(Delete, delete);
TAG(ExportWrapped, export_wrapped);
TAG(ExportClear, export_clear);
TAG(ImportWrapped, import_wrapped);
TAG(ImportClear, import_clear);
TAG(Sign, sign);
TAG(Encrypt, encrypt);
TAG(Decrypt, decrypt);
TAG(MAC, mac);
TAG(Derive, derive);
TAG(KeychainCreate, keychain_create);
TAG(KeychainDelete, keychain_delete);
TAG(KeychainItemRead, keychain_item_read);
TAG(KeychainItemInsert, keychain_item_insert);
TAG(KeychainItemModify, keychain_item_modify);
TAG(KeychainItemDelete, keychain_item_delete);
TAG(ChangeACL, change_acl);
TAG(ChangeOwner, change_owner);
TAG(PartitionID, partition_id);
TAG(Integrity, integrity);

const void *tokenkit_authorization_tag(uint32_t place) {
    return place < tokenkit_authorization_count ? &texts[place] : NULL;
}

const char *tokenkit_constant_text(const void *reference) {
    for (size_t place = 0; place < tokenkit_authorization_count; place++) {
        if (reference == &texts[place]) return texts[place];
    }
    return NULL;
}
