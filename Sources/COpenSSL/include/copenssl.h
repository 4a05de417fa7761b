#pragma once

#include <openssl/asn1.h>
#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/decoder.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/objects.h>
#include <openssl/params.h>
#include <openssl/pem.h>
#include <openssl/pkcs12.h>
#include <openssl/provider.h>
#include <openssl/rand.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>

#include <stdint.h>

/// Returns its argument, and hides that from the optimiser, which then cannot turn a mask into a branch on the secret from which
/// the mask was computed. Swift has no such barrier.
static inline uintptr_t copenssl_value_barrier(uintptr_t value) {
    __asm__("" : "+r"(value));
    return value;
}

/// Makes a library context with the algorithms of the default provider, whose keys are not given to the program's engines. To be
/// called once; NULL where libcrypto cannot be used. The context is never freed.
OSSL_LIB_CTX *copenssl_make_context(void);

/// The object identifier of an algorithm, for which `EVP_PKEY_CTX_new_from_name` uses no engine; the name where it has none.
const char *copenssl_identifier(const char *name);

/// The name of an algorithm by its object identifier, as which it is known in that context.
const char *copenssl_name(const char *identifier);

/// Reads the DER of a `SubjectPublicKeyInfo` of the algorithm, given by its object identifier; NULL for any other DER.
/// `d2i_PUBKEY_ex` would prefer an engine that the program has made its default.
EVP_PKEY *copenssl_read_public_key(
    OSSL_LIB_CTX *context, const char *algorithm, const unsigned char *bytes, size_t count);
