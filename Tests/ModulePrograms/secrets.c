/* Secret keys of a keychain ("open") and of a session through the module's file: parameters with pointers in them, data that is longer than a
 * message, and results in the place of the data. */
#include "module.h"

#define OK(call) MUST(CKR_OK, call)
#define VALUE(value) &(value), sizeof(value)

static CK_SESSION_HANDLE session;
static CK_BBOOL yes = CK_TRUE, no = CK_FALSE;
static CK_OBJECT_CLASS secret_class = CKO_SECRET_KEY, data_class = CKO_DATA;
static CK_KEY_TYPE aes_type = CKK_AES, generic_type = CKK_GENERIC_SECRET;

static CK_OBJECT_HANDLE bring(CK_KEY_TYPE *type, CK_BYTE *value, CK_ULONG length) {
    CK_ATTRIBUTE template[] = {{CKA_CLASS, VALUE(secret_class)}, {CKA_KEY_TYPE, VALUE(*type)}, {CKA_VALUE, value, length}};
    CK_OBJECT_HANDLE key = 0;
    OK(p11->C_CreateObject(session, template, 3, &key));
    return key;
}

static CK_OBJECT_HANDLE generate(CK_BBOOL *kept) {
    CK_MECHANISM mechanism = {CKM_AES_KEY_GEN, NULL, 0};
    CK_ULONG length = 32;
    CK_ATTRIBUTE template[] = {{CKA_VALUE_LEN, VALUE(length)}, {CKA_TOKEN, VALUE(*kept)}};
    CK_OBJECT_HANDLE key = 0;
    OK(p11->C_GenerateKey(session, &mechanism, template, 2, &key));
    return key;
}

/* Test case 4 of the specification of GCM. */
static void gcm(void) {
    CK_BYTE key[] = {0xfe, 0xff, 0xe9, 0x92, 0x86, 0x65, 0x73, 0x1c, 0x6d, 0x6a, 0x8f, 0x94, 0x67, 0x30, 0x83, 0x08};
    CK_BYTE nonce[] = {0xca, 0xfe, 0xba, 0xbe, 0xfa, 0xce, 0xdb, 0xad, 0xde, 0xca, 0xf8, 0x88};
    CK_BYTE associated[] = {0xfe, 0xed, 0xfa, 0xce, 0xde, 0xad, 0xbe, 0xef, 0xfe, 0xed,
                            0xfa, 0xce, 0xde, 0xad, 0xbe, 0xef, 0xab, 0xad, 0xda, 0xd2};
    CK_BYTE plaintext[] = {0xd9, 0x31, 0x32, 0x25, 0xf8, 0x84, 0x06, 0xe5, 0xa5, 0x59, 0x09, 0xc5, 0xaf, 0xf5, 0x26,
                           0x9a, 0x86, 0xa7, 0xa9, 0x53, 0x15, 0x34, 0xf7, 0xda, 0x2e, 0x4c, 0x30, 0x3d, 0x8a, 0x31,
                           0x8a, 0x72, 0x1c, 0x3c, 0x0c, 0x95, 0x95, 0x68, 0x09, 0x53, 0x2f, 0xcf, 0x0e, 0x24, 0x49,
                           0xa6, 0xb5, 0x25, 0xb1, 0x6a, 0xed, 0xf5, 0xaa, 0x0d, 0xe6, 0x57, 0xba, 0x63, 0x7b, 0x39};
    CK_BYTE tag[] = {0x5b, 0xc9, 0x4f, 0xbc, 0x32, 0x21, 0xa5, 0xdb, 0x94, 0xfa, 0xe9, 0x5a, 0xe7, 0x12, 0x1a, 0x47};
    CK_GCM_PARAMS parameters = {nonce, sizeof nonce, sizeof nonce * 8, associated, sizeof associated, 128};
    CK_MECHANISM mechanism = {CKM_AES_GCM, &parameters, sizeof parameters}, cut = {CKM_AES_GCM, &parameters, 40};
    CK_OBJECT_HANDLE object = bring(&aes_type, key, sizeof key);
    CK_BYTE sealed[100], opened[100];
    CK_ULONG length = 0, part = sizeof sealed;
    OK(p11->C_EncryptInit(session, &mechanism, object));
    OK(p11->C_Encrypt(session, plaintext, sizeof plaintext, NULL, &length));
    HOLDS(length == sizeof plaintext + 16);
    length--;
    MUST(CKR_BUFFER_TOO_SMALL, p11->C_Encrypt(session, plaintext, sizeof plaintext, sealed, &length));
    OK(p11->C_Encrypt(session, plaintext, sizeof plaintext, sealed, &length));
    HOLDS(length == 76 && memcmp(sealed + 60, tag, 16) == 0);
    OK(p11->C_DecryptInit(session, &mechanism, object));
    memset(opened, 0xAA, sizeof opened);
    OK(p11->C_DecryptUpdate(session, sealed, 30, opened, &part));
    HOLDS(part == 0 && opened[0] == 0xAA);
    part = sizeof opened;
    OK(p11->C_DecryptUpdate(session, sealed + 30, 46, opened, &part));
    HOLDS(part == 0 && opened[0] == 0xAA);
    part = sizeof opened;
    OK(p11->C_DecryptFinal(session, opened, &part));
    HOLDS(part == sizeof plaintext && memcmp(opened, plaintext, part) == 0);
    sealed[3] ^= 1;
    OK(p11->C_DecryptInit(session, &mechanism, object));
    memset(opened, 0xAA, sizeof opened);
    part = sizeof opened;
    MUST(CKR_ENCRYPTED_DATA_INVALID, p11->C_Decrypt(session, sealed, length, opened, &part));
    HOLDS(opened[0] == 0xAA);
    MUST(CKR_MECHANISM_PARAM_INVALID, p11->C_EncryptInit(session, &cut, object));
    OK(p11->C_DestroyObject(session, object));
}

/* More data than a message holds, whole and in parts, with the result in the place of the data. */
static void much(CK_OBJECT_HANDLE key, CK_MECHANISM *mechanism, CK_ULONG count) {
    CK_BYTE *data = malloc(count + 64), *other = malloc(count + 64);
    HOLDS(data != NULL && other != NULL);
    for (CK_ULONG index = 0; index < count; index++) data[index] = (CK_BYTE)(index * 7 + index / 251);
    CK_ULONG length = 0, whole, first, second, last;
    OK(p11->C_EncryptInit(session, mechanism, key));
    OK(p11->C_Encrypt(session, data, count, NULL, &length));
    whole = length - 1;
    MUST(CKR_BUFFER_TOO_SMALL, p11->C_Encrypt(session, data, count, other, &whole));
    HOLDS(whole == length);
    OK(p11->C_Encrypt(session, data, count, other, &whole));
    HOLDS(whole == length);

    /* The same in two parts, each of several messages, over the data itself. */
    OK(p11->C_EncryptInit(session, mechanism, key));
    CK_ULONG half = count / 2 + 5;
    CK_BYTE *copy = malloc(count + 64);
    HOLDS(copy != NULL);
    memcpy(copy, data, count);
    first = 1;
    MUST(CKR_BUFFER_TOO_SMALL, p11->C_EncryptUpdate(session, copy, half, copy, &first));
    HOLDS(first > 1 && first <= half);
    first = half;
    OK(p11->C_EncryptUpdate(session, copy, half, copy, &first));
    CK_BYTE *rest = malloc(count + 64);
    HOLDS(rest != NULL);
    second = count + 64;
    OK(p11->C_EncryptUpdate(session, copy + half, count - half, rest, &second));
    last = count + 64 - second;
    OK(p11->C_EncryptFinal(session, rest + second, &last));
    HOLDS(first + second + last == whole);
    HOLDS(memcmp(copy, other, first) == 0 && memcmp(rest, other + first, second + last) == 0);

    OK(p11->C_DecryptInit(session, mechanism, key));
    length = count + 64;
    OK(p11->C_Decrypt(session, other, whole, other, &length));
    HOLDS(length == count && memcmp(other, data, count) == 0);
    free(data), free(other), free(copy), free(rest);
}

static void codes(void) {
    CK_BYTE key[] = "Jefe", message[] = "what do ya want for nothing?", code[32];
    CK_BYTE expected[] = {0x5b, 0xdc, 0xc1, 0x46, 0xbf, 0x60, 0x75, 0x4e, 0x6a, 0x04};
    CK_ULONG bytes = sizeof expected, length = sizeof code;
    CK_MECHANISM whole = {CKM_SHA256_HMAC, NULL, 0}, general = {CKM_SHA256_HMAC_GENERAL, VALUE(bytes)};
    CK_OBJECT_HANDLE object = bring(&generic_type, key, 4);
    OK(p11->C_SignInit(session, &whole, object));
    OK(p11->C_Sign(session, message, sizeof message - 1, code, &length));
    HOLDS(length == 32 && memcmp(code, expected, sizeof expected) == 0);
    OK(p11->C_SignInit(session, &general, object));
    length = sizeof code;
    OK(p11->C_Sign(session, message, sizeof message - 1, code, &length));
    HOLDS(length == sizeof expected && memcmp(code, expected, length) == 0);
    OK(p11->C_VerifyInit(session, &general, object));
    OK(p11->C_VerifyUpdate(session, message, 10));
    OK(p11->C_VerifyUpdate(session, message + 10, sizeof message - 11));
    OK(p11->C_VerifyFinal(session, code, length));
    code[0] ^= 1;
    OK(p11->C_VerifyInit(session, &general, object));
    MUST(CKR_SIGNATURE_INVALID, p11->C_Verify(session, message, sizeof message - 1, code, length));

    CK_MECHANISM sha256 = {CKM_SHA256, NULL, 0};
    CK_BYTE digest[32], same[32], text[] = "JefeJefe";
    length = sizeof digest;
    OK(p11->C_DigestInit(session, &sha256));
    OK(p11->C_DigestKey(session, object));
    OK(p11->C_DigestUpdate(session, key, 4));
    OK(p11->C_DigestFinal(session, digest, &length));
    OK(p11->C_DigestInit(session, &sha256));
    length = sizeof same;
    OK(p11->C_Digest(session, text, 8, same, &length));
    HOLDS(memcmp(digest, same, 32) == 0);
}

static void wrapping(CK_OBJECT_HANDLE kept) {
    CK_MECHANISM kw = {CKM_AES_KEY_WRAP, NULL, 0};
    CK_BYTE wrapped[64], first[32], second[32];
    CK_ULONG length = 0;
    CK_OBJECT_HANDLE key = generate(&no), back = 0;
    OK(p11->C_WrapKey(session, &kw, kept, key, NULL, &length));
    HOLDS(length == 40);
    OK(p11->C_WrapKey(session, &kw, kept, key, wrapped, &length));
    CK_ATTRIBUTE template[] = {{CKA_CLASS, VALUE(secret_class)}, {CKA_KEY_TYPE, VALUE(aes_type)}, {CKA_TOKEN, VALUE(yes)}};
    OK(p11->C_UnwrapKey(session, &kw, kept, wrapped, length, template, 3, &back));
    CK_ATTRIBUTE one = {CKA_VALUE, VALUE(first)}, other = {CKA_VALUE, VALUE(second)};
    OK(p11->C_GetAttributeValue(session, key, &one, 1));
    OK(p11->C_GetAttributeValue(session, back, &other, 1));
    HOLDS(memcmp(first, second, 32) == 0);
    OK(p11->C_DestroyObject(session, back));
}

static void data(void) {
    CK_BYTE value[] = "what is noted", read[64], changed[] = "other";
    CK_ATTRIBUTE template[] = {{CKA_CLASS, VALUE(data_class)}, {CKA_VALUE, value, sizeof value}};
    CK_ATTRIBUTE got = {CKA_VALUE, VALUE(read)}, change = {CKA_VALUE, changed, sizeof changed};
    CK_OBJECT_HANDLE object = 0;
    OK(p11->C_CreateObject(session, template, 2, &object));
    OK(p11->C_SetAttributeValue(session, object, &change, 1));
    OK(p11->C_GetAttributeValue(session, object, &got, 1));
    HOLDS(got.ulValueLen == sizeof changed && memcmp(read, changed, sizeof changed) == 0);
    OK(p11->C_DestroyObject(session, object));
    MUST(CKR_OBJECT_HANDLE_INVALID, p11->C_GetAttributeValue(session, object, &got, 1));
}

int main(int count, char **arguments) {
    HOLDS(count == 2);
    load(arguments[1]);
    OK(p11->C_Initialize(NULL));
    session = open_session();
    OK(p11->C_Login(session, CKU_USER, (CK_UTF8CHAR *)"open", 4));
    gcm();
    codes();
    data();
    CK_OBJECT_HANDLE kept = generate(&yes);
    wrapping(kept);
    CK_BYTE vector[16] = {1};
    CK_AES_CTR_PARAMS counter = {128, {2}};
    CK_GCM_PARAMS sealing = {vector, 12, 96, NULL, 0, 96};
    CK_MECHANISM padded = {CKM_AES_CBC_PAD, VALUE(vector)}, ctr = {CKM_AES_CTR, VALUE(counter)},
                 gcm = {CKM_AES_GCM, VALUE(sealing)};
    much(kept, &padded, (5 << 20) + 3);
    much(kept, &ctr, (5 << 20) + 3);
    much(kept, &gcm, (5 << 20) + 3);
    OK(p11->C_Finalize(NULL));
    return 0;
}
