#include "copenssl.h"

#include <openssl/core.h>
#include <openssl/core_dispatch.h>
#include <string.h>

// A program may make an engine its default, as `openssl -engine pkcs11` does. OpenSSL 3 then hands that engine every RSA and
// EC key that has a provider's implementation, in any library context, and silently drops the parameters for providers. It
// finds the engine by the name of the key's implementation. So the default provider's implementations are offered here under a
// name by which no engine is found: the object identifier.

static const struct {
    const char *name;
    const char *identifier;
    /// Every name of the algorithm here. OpenSSL goes by the first.
    const char *names;
} keys[] = {
    {"RSA", "1.2.840.113549.1.1.1", "1.2.840.113549.1.1.1:RSA:rsaEncryption"},
    {"EC", "1.2.840.10045.2.1", "1.2.840.10045.2.1:EC:id-ecPublicKey"},
    {"X25519", "1.3.101.110", "1.3.101.110:X25519"},
    {"ED25519", "1.3.101.112", "1.3.101.112:ED25519"},
};
enum { key_count = sizeof keys / sizeof keys[0] };

const char *copenssl_identifier(const char *name) {
    for (size_t i = 0; i < key_count; i++)
        if (strcmp(keys[i].name, name) == 0) return keys[i].identifier;
    return name;
}

const char *copenssl_name(const char *identifier) {
    for (size_t i = 0; i < key_count; i++)
        if (strcmp(keys[i].identifier, identifier) == 0) return keys[i].name;
    return identifier;
}

/// The default provider, in a library context of its own.
struct source {
    OSSL_PROVIDER *provider;
    OSSL_ALGORITHM *key_managers;
};

static struct source source;

static int is_first(const char *name, const char *names) {
    size_t length = strlen(name);
    return strncmp(names, name, length) == 0 && names[length] == ':';
}

/// The default provider's key managers under their new names; NULL without memory.
static OSSL_ALGORITHM *renamed(const OSSL_ALGORITHM *algorithms) {
    size_t count = 0;
    while (algorithms[count].algorithm_names != NULL) count++;
    OSSL_ALGORITHM *copies = OPENSSL_zalloc((count + 1) * sizeof *copies);
    if (copies == NULL) return NULL;
    memcpy(copies, algorithms, count * sizeof *copies);
    for (size_t i = 0; i < count; i++)
        for (size_t key = 0; key < key_count; key++)
            if (is_first(keys[key].name, copies[i].algorithm_names)) copies[i].algorithm_names = keys[key].names;
    return copies;
}

static const OSSL_ALGORITHM *query(void *context, int operation, int *no_cache) {
    (void)context;
    if (operation != OSSL_OP_KEYMGMT) return OSSL_PROVIDER_query_operation(source.provider, operation, no_cache);
    *no_cache = 0;
    return source.key_managers;
}

static const OSSL_DISPATCH functions[] = {
    {OSSL_FUNC_PROVIDER_QUERY_OPERATION, (void (*)(void))query},
    {0, NULL},
};

static int start(const OSSL_CORE_HANDLE *handle, const OSSL_DISPATCH *in, const OSSL_DISPATCH **out, void **context) {
    (void)handle;
    (void)in;
    *out = functions;
    // The implementations are called with the default provider's own context.
    *context = OSSL_PROVIDER_get0_provider_ctx(source.provider);
    return 1;
}

OSSL_LIB_CTX *copenssl_make_context(void) {
    OSSL_LIB_CTX *inner = OSSL_LIB_CTX_new();
    source.provider = inner == NULL ? NULL : OSSL_PROVIDER_load(inner, "default");
    if (source.provider == NULL) return NULL;
    int no_cache = 0;
    const OSSL_ALGORITHM *managers = OSSL_PROVIDER_query_operation(source.provider, OSSL_OP_KEYMGMT, &no_cache);
    source.key_managers = managers == NULL ? NULL : renamed(managers);
    OSSL_LIB_CTX *context = source.key_managers == NULL ? NULL : OSSL_LIB_CTX_new();
    if (context == NULL || OSSL_PROVIDER_add_builtin(context, "tokenkit", start) != 1) return NULL;
    return OSSL_PROVIDER_load(context, "tokenkit") == NULL ? NULL : context;
}

EVP_PKEY *copenssl_read_public_key(
    OSSL_LIB_CTX *context, const char *algorithm, const unsigned char *bytes, size_t count) {
    EVP_PKEY *key = NULL;
    // The decoder keeps these pointers. They point to constants and to the caller's argument, which outlive it.
    OSSL_DECODER_CTX *decoder = OSSL_DECODER_CTX_new_for_pkey(
        &key, "DER", "SubjectPublicKeyInfo", algorithm, EVP_PKEY_PUBLIC_KEY, context, NULL);
    int read = decoder == NULL ? 0 : OSSL_DECODER_from_data(decoder, &bytes, &count);
    OSSL_DECODER_CTX_free(decoder);
    if (read == 1) return key;
    EVP_PKEY_free(key);
    return NULL;
}
