/* Shared by programs that check signatures of the module with libcrypto. */
#include <openssl/ec.h>
#include <openssl/ecdsa.h>
#include <openssl/obj_mac.h>

static EC_KEY *public_key;

/* Whether a signature with P-256 over a digest of 32 bytes is valid. */
static int is_signature(const CK_BYTE *digest, const CK_BYTE *signature, CK_ULONG length) {
    if (length != 64) return 0;
    ECDSA_SIG *pair = ECDSA_SIG_new();
    ECDSA_SIG_set0(pair, BN_bin2bn(signature, 32, NULL), BN_bin2bn(signature + 32, 32, NULL));
    int result = ECDSA_do_verify(digest, 32, pair, public_key);
    ECDSA_SIG_free(pair);
    return result == 1;
}

/* Reads the key with which signatures are checked. */
static void read_public_key(CK_SESSION_HANDLE session, CK_OBJECT_HANDLE key) {
    CK_BYTE point[67];
    CK_ATTRIBUTE attribute = {CKA_EC_POINT, point, sizeof point};
    MUST(CKR_OK, p11->C_GetAttributeValue(session, key, &attribute, 1));
    HOLDS(attribute.ulValueLen == 67);
    const CK_BYTE *bytes = point + 2;
    public_key = EC_KEY_new_by_curve_name(NID_X9_62_prime256v1);
    HOLDS(o2i_ECPublicKey(&public_key, &bytes, 65) != NULL);
}
