/* Provokes every return value that is possible, and prints each with its function, for the test to compare. The module shows a
 * card (RSA in 9A and 9D, P-256 in 9C, 9E and 82) and a keychain with the password "open". */
#include "module.h"

static int failures;
static CK_FUNCTION_LIST_3_0 *p30;

#define NAMED(code) {code, #code}
static const struct { CK_RV code; const char *name; } names[] = {
    NAMED(CKR_ACTION_PROHIBITED), NAMED(CKR_ARGUMENTS_BAD), NAMED(CKR_ATTRIBUTE_READ_ONLY),
    NAMED(CKR_ATTRIBUTE_SENSITIVE), NAMED(CKR_ATTRIBUTE_TYPE_INVALID), NAMED(CKR_ATTRIBUTE_VALUE_INVALID),
    NAMED(CKR_BUFFER_TOO_SMALL), NAMED(CKR_CANT_LOCK), NAMED(CKR_CRYPTOKI_ALREADY_INITIALIZED),
    NAMED(CKR_CRYPTOKI_NOT_INITIALIZED), NAMED(CKR_CURVE_NOT_SUPPORTED), NAMED(CKR_DATA_INVALID),
    NAMED(CKR_DATA_LEN_RANGE), NAMED(CKR_DEVICE_ERROR), NAMED(CKR_DEVICE_REMOVED), NAMED(CKR_DOMAIN_PARAMS_INVALID),
    NAMED(CKR_ENCRYPTED_DATA_INVALID), NAMED(CKR_ENCRYPTED_DATA_LEN_RANGE), NAMED(CKR_FUNCTION_CANCELED),
    NAMED(CKR_FUNCTION_FAILED), NAMED(CKR_FUNCTION_NOT_PARALLEL), NAMED(CKR_FUNCTION_REJECTED),
    NAMED(CKR_KEY_FUNCTION_NOT_PERMITTED), NAMED(CKR_KEY_HANDLE_INVALID), NAMED(CKR_KEY_INDIGESTIBLE),
    NAMED(CKR_KEY_NOT_WRAPPABLE),
    NAMED(CKR_KEY_SIZE_RANGE), NAMED(CKR_KEY_TYPE_INCONSISTENT), NAMED(CKR_KEY_UNEXTRACTABLE),
    NAMED(CKR_MECHANISM_INVALID), NAMED(CKR_MECHANISM_PARAM_INVALID), NAMED(CKR_NO_EVENT),
    NAMED(CKR_OBJECT_HANDLE_INVALID), NAMED(CKR_OK), NAMED(CKR_OPERATION_ACTIVE),
    NAMED(CKR_OPERATION_NOT_INITIALIZED), NAMED(CKR_PIN_INCORRECT), NAMED(CKR_PIN_INVALID), NAMED(CKR_PIN_LEN_RANGE),
    NAMED(CKR_PIN_LOCKED), NAMED(CKR_RANDOM_SEED_NOT_SUPPORTED), NAMED(CKR_SESSION_HANDLE_INVALID),
    NAMED(CKR_SESSION_PARALLEL_NOT_SUPPORTED), NAMED(CKR_SESSION_READ_ONLY),
    NAMED(CKR_SESSION_READ_ONLY_EXISTS), NAMED(CKR_SESSION_READ_WRITE_SO_EXISTS), NAMED(CKR_SIGNATURE_INVALID),
    NAMED(CKR_SIGNATURE_LEN_RANGE), NAMED(CKR_SLOT_ID_INVALID), NAMED(CKR_TEMPLATE_INCOMPLETE),
    NAMED(CKR_TEMPLATE_INCONSISTENT), NAMED(CKR_TOKEN_NOT_PRESENT), NAMED(CKR_TOKEN_NOT_RECOGNIZED),
    NAMED(CKR_TOKEN_WRITE_PROTECTED), NAMED(CKR_UNWRAPPING_KEY_HANDLE_INVALID),
    NAMED(CKR_UNWRAPPING_KEY_TYPE_INCONSISTENT), NAMED(CKR_USER_ALREADY_LOGGED_IN),
    NAMED(CKR_USER_ANOTHER_ALREADY_LOGGED_IN), NAMED(CKR_USER_NOT_LOGGED_IN),
    NAMED(CKR_USER_TYPE_INVALID), NAMED(CKR_WRAPPED_KEY_INVALID), NAMED(CKR_WRAPPED_KEY_LEN_RANGE),
    NAMED(CKR_WRAPPING_KEY_HANDLE_INVALID), NAMED(CKR_WRAPPING_KEY_TYPE_INCONSISTENT),
};

static const char *name_of(CK_RV code) {
    for (size_t index = 0; index < sizeof names / sizeof *names; index++)
        if (names[index].code == code) return names[index].name;
    return "another value";
}

/* Prints a value that is the wanted one; otherwise prints where it is not, and makes the program fail in the end. */
static void returned(const char *function, CK_RV wanted, CK_RV got, int line) {
    if (got == wanted) {
        printf("%s %s\n", function, name_of(got));
        return;
    }
    fprintf(stderr, "line %d: %s: %s (0x%lx), not %s\n", line, function, name_of(got), got, name_of(wanted));
    failures++;
}

#define RETURNED(function, code, got) returned(function, code, got, __LINE__)
#define GIVES(code, function, ...) RETURNED(#function, code, p11->function(__VA_ARGS__))
#define GIVES_3_0(code, function, ...) RETURNED(#function, code, p30->function(__VA_ARGS__))
#define OK(call) MUST(CKR_OK, call)
/* A call that failed has ended its operation. */
#define ENDED(function, ...) GIVES(CKR_OPERATION_NOT_INITIALIZED, function, __VA_ARGS__)
#define COUNT(array) (sizeof(array) / sizeof *(array))
#define VALUE(value) &(value), sizeof(value)

static CK_SLOT_ID card_slot, chain_slot;
static CK_SESSION_HANDLE card, chain, reader;
static CK_BYTE buffer[4096], block[256], yes = 1, no = 0;
static CK_ULONG room, number;
static CK_OBJECT_HANDLE made, other;
static CK_UTF8CHAR password[] = "open";
static CK_OBJECT_CLASS data_class = CKO_DATA, public_class = CKO_PUBLIC_KEY, secret_class = CKO_SECRET_KEY;
static CK_KEY_TYPE ec_type = CKK_EC;
static CK_BYTE p256[] = {0x06, 0x08, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07};
static CK_BYTE secp256k1[] = {0x06, 0x05, 0x2B, 0x81, 0x04, 0x00, 0x0A};
static CK_BYTE utf8_never[] = {0xFF};

static CK_MECHANISM rsa_pkcs = {CKM_RSA_PKCS, NULL, 0}, rsa_raw = {CKM_RSA_X_509, NULL, 0}, ecdsa = {CKM_ECDSA, NULL, 0},
                    rsa_sha256 = {CKM_SHA256_RSA_PKCS, NULL, 0}, ecdsa_sha256 = {CKM_ECDSA_SHA256, NULL, 0},
                    sha256 = {CKM_SHA256, NULL, 0}, aes = {CKM_AES_CBC, NULL, 0}, ec_pair = {CKM_EC_KEY_PAIR_GEN, NULL, 0},
                    rsa_pkcs_with = {CKM_RSA_PKCS, block, 1}, sha256_with = {CKM_SHA256, block, 1},
                    ec_pair_with = {CKM_EC_KEY_PAIR_GEN, block, 1}, pss_without = {CKM_RSA_PKCS_PSS, NULL, 0},
                    ecdh_without = {CKM_ECDH1_DERIVE, NULL, 0};
static CK_RSA_PKCS_OAEP_PARAMS oaep_parameters = {CKM_SHA256, CKG_MGF1_SHA256, CKZ_DATA_SPECIFIED, NULL, 0};
static CK_MECHANISM oaep = {CKM_RSA_PKCS_OAEP, &oaep_parameters, sizeof oaep_parameters};
static CK_BYTE point[65];
static CK_ECDH1_DERIVE_PARAMS ecdh_parameters = {CKD_NULL, 0, NULL, sizeof point, point};
static CK_MECHANISM ecdh = {CKM_ECDH1_DERIVE, &ecdh_parameters, sizeof ecdh_parameters};

static CK_MECHANISM aes_key = {CKM_AES_KEY_GEN, NULL, 0}, aes_key_with = {CKM_AES_KEY_GEN, block, 1},
                    aes_wrap = {CKM_AES_KEY_WRAP, NULL, 0};
static CK_ULONG aes_bytes = 16;

static CK_ATTRIBUTE aes_length[] = {{CKA_VALUE_LEN, VALUE(aes_bytes)}};
static CK_ATTRIBUTE any_data[] = {{CKA_CLASS, VALUE(data_class)}, {CKA_TOKEN, VALUE(yes)}, {CKA_VALUE, block, 4}};
static CK_ATTRIBUTE secret_key[] = {{CKA_CLASS, VALUE(secret_class)}, {CKA_VALUE, block, 32}};
static CK_ATTRIBUTE named_curve[] = {{CKA_EC_PARAMS, VALUE(p256)}}, kept[] = {{CKA_TOKEN, VALUE(yes)}};

#define EACH_OF_A_SLOT(code, slot)                                                \
    do {                                                                          \
        CK_SLOT_INFO slot_info;                                                   \
        CK_TOKEN_INFO token_info;                                                 \
        CK_MECHANISM_INFO mechanism_info;                                         \
        GIVES(code, C_GetSlotInfo, slot, &slot_info);                             \
        GIVES(code, C_GetTokenInfo, slot, &token_info);                           \
        GIVES(code, C_GetMechanismList, slot, NULL, &number);                     \
        GIVES(code, C_GetMechanismInfo, slot, CKM_ECDSA, &mechanism_info);        \
        GIVES(code, C_OpenSession, slot, CKF_SERIAL_SESSION, NULL, NULL, &number); \
        GIVES(code, C_CloseAllSessions, slot);                                    \
    } while (0)

#define EACH_OF_A_SESSION(code, session)                                                            \
    do {                                                                                            \
        CK_SESSION_INFO info;                                                                       \
        CK_ATTRIBUTE label = {CKA_LABEL, buffer, sizeof buffer};                                    \
        room = sizeof buffer;                                                                       \
        GIVES(code, C_CloseSession, session);                                                       \
        GIVES(code, C_GetSessionInfo, session, &info);                                              \
        GIVES_3_0(code, C_SessionCancel, session, CKF_SIGN);                                        \
        GIVES(code, C_Login, session, CKU_USER, pin, 6);                                            \
        GIVES_3_0(code, C_LoginUser, session, CKU_USER, pin, 6, NULL, 0);                           \
        GIVES(code, C_Logout, session);                                                             \
        GIVES(code, C_InitPIN, session, pin, 6);                                                    \
        GIVES(code, C_SetPIN, session, pin, 6, pin, 6);                                             \
        GIVES(code, C_CreateObject, session, any_data, 3, &made);                                   \
        GIVES(code, C_CopyObject, session, 1, NULL, 0, &made);                                      \
        GIVES(code, C_DestroyObject, session, 1);                                                   \
        GIVES(code, C_GetObjectSize, session, 1, &number);                                          \
        GIVES(code, C_GetAttributeValue, session, 1, &label, 1);                                    \
        GIVES(code, C_SetAttributeValue, session, 1, any_data, 1);                                  \
        GIVES(code, C_FindObjectsInit, session, NULL, 0);                                           \
        GIVES(code, C_FindObjects, session, &made, 1, &number);                                     \
        GIVES(code, C_FindObjectsFinal, session);                                                   \
        GIVES(code, C_EncryptInit, session, &rsa_pkcs, 1);                                          \
        GIVES(code, C_Encrypt, session, block, 1, buffer, &room);                                   \
        GIVES(code, C_EncryptUpdate, session, block, 1, buffer, &room);                             \
        GIVES(code, C_EncryptFinal, session, buffer, &room);                                        \
        GIVES(code, C_DecryptInit, session, &rsa_pkcs, 1);                                          \
        GIVES(code, C_Decrypt, session, block, 1, buffer, &room);                                   \
        GIVES(code, C_DecryptUpdate, session, block, 1, buffer, &room);                             \
        GIVES(code, C_DecryptFinal, session, buffer, &room);                                        \
        GIVES(code, C_DigestInit, session, &sha256);                                                \
        GIVES(code, C_Digest, session, block, 1, buffer, &room);                                    \
        GIVES(code, C_DigestUpdate, session, block, 1);                                             \
        GIVES(code, C_DigestKey, session, 1);                                                       \
        GIVES(code, C_DigestFinal, session, buffer, &room);                                         \
        GIVES(code, C_SignInit, session, &rsa_pkcs, 1);                                             \
        GIVES(code, C_Sign, session, block, 1, buffer, &room);                                      \
        GIVES(code, C_SignUpdate, session, block, 1);                                               \
        GIVES(code, C_SignFinal, session, buffer, &room);                                           \
        GIVES(code, C_VerifyInit, session, &rsa_pkcs, 1);                                           \
        GIVES(code, C_Verify, session, block, 1, block, 256);                                       \
        GIVES(code, C_VerifyUpdate, session, block, 1);                                             \
        GIVES(code, C_VerifyFinal, session, block, 256);                                            \
        GIVES(code, C_GenerateKey, session, &aes_key, aes_length, 1, &made);                        \
        GIVES(code, C_GenerateKeyPair, session, &ec_pair, named_curve, 1, NULL, 0, &made, &other);  \
        GIVES(code, C_WrapKey, session, &rsa_pkcs, 1, 2, buffer, &room);                            \
        GIVES(code, C_UnwrapKey, session, &rsa_pkcs, 1, block, 256, NULL, 0, &made);                \
        GIVES(code, C_DeriveKey, session, &ecdh, 1, NULL, 0, &made);                                \
        GIVES(code, C_SeedRandom, session, block, 1);                                               \
        GIVES(code, C_GenerateRandom, session, buffer, 1);                                          \
    } while (0)

static void before_and_at_the_beginning(void *library) {
    CK_INFO info;
    CK_C_INITIALIZE_ARGS reserved = {.pReserved = &reserved};
    CK_C_INITIALIZE_ARGS locks = {.CreateMutex = (CK_CREATEMUTEX)1, .DestroyMutex = (CK_DESTROYMUTEX)1,
                                  .LockMutex = (CK_LOCKMUTEX)1, .UnlockMutex = (CK_UNLOCKMUTEX)1};
    CK_C_GetInterface get = (CK_C_GetInterface)dlsym(library, "C_GetInterface");
    CK_C_GetInterfaceList get_all = (CK_C_GetInterfaceList)dlsym(library, "C_GetInterfaceList");
    CK_INTERFACE *interface = NULL, all[1];
    OK(get(NULL, NULL, &interface, 0));
    p30 = interface->pFunctionList;

    GIVES(CKR_CRYPTOKI_NOT_INITIALIZED, C_Finalize, NULL);
    GIVES(CKR_CRYPTOKI_NOT_INITIALIZED, C_GetInfo, &info);
    GIVES(CKR_CRYPTOKI_NOT_INITIALIZED, C_GetSlotList, CK_TRUE, NULL, &number);
    GIVES(CKR_CRYPTOKI_NOT_INITIALIZED, C_WaitForSlotEvent, CKF_DONT_BLOCK, &number, NULL);
    EACH_OF_A_SLOT(CKR_CRYPTOKI_NOT_INITIALIZED, 1);
    EACH_OF_A_SESSION(CKR_CRYPTOKI_NOT_INITIALIZED, 1);

    GIVES(CKR_ARGUMENTS_BAD, C_Initialize, &reserved);
    GIVES(CKR_CANT_LOCK, C_Initialize, &locks);
    OK(p11->C_Initialize(NULL));
    GIVES(CKR_CRYPTOKI_ALREADY_INITIALIZED, C_Initialize, NULL);
    GIVES(CKR_ARGUMENTS_BAD, C_Finalize, &info);
    GIVES(CKR_ARGUMENTS_BAD, C_GetInfo, NULL);
    GIVES(CKR_ARGUMENTS_BAD, C_GetFunctionList, NULL);
    RETURNED("C_GetInterface", CKR_ARGUMENTS_BAD, get(NULL, NULL, NULL, 0));
    RETURNED("C_GetInterface", CKR_ARGUMENTS_BAD, get((CK_UTF8CHAR *)"other", NULL, &interface, 0));
    RETURNED("C_GetInterfaceList", CKR_ARGUMENTS_BAD, get_all(NULL, NULL));
    room = 1;
    RETURNED("C_GetInterfaceList", CKR_BUFFER_TOO_SMALL, get_all(all, &room));
}

static void slots(void) {
    CK_SLOT_ID ids[8];
    CK_TOKEN_INFO info;
    number = COUNT(ids);
    OK(p11->C_GetSlotList(CK_TRUE, NULL, &room));
    OK(p11->C_GetSlotList(CK_TRUE, ids, &number));
    HOLDS(number == 2);
    card_slot = ids[0], chain_slot = ids[1];

    /* A card that does not know PIV. Its answer counts until it is taken out. */
    have("fail");
    GIVES(CKR_TOKEN_NOT_RECOGNIZED, C_OpenSession, card_slot, CKF_SERIAL_SESSION, NULL, NULL, &number);
    /* It has the mechanisms that any card has. */
    OK(p11->C_GetMechanismList(card_slot, NULL, &number));
    HOLDS(number > 0);
    have("heal");
    GIVES(CKR_TOKEN_NOT_RECOGNIZED, C_GetTokenInfo, card_slot, &info);
    have("remove");
    have("insert");

    GIVES(CKR_ARGUMENTS_BAD, C_GetSlotList, CK_TRUE, NULL, NULL);
    room = 1;
    GIVES(CKR_BUFFER_TOO_SMALL, C_GetSlotList, CK_TRUE, ids, &room);
    GIVES(CKR_ARGUMENTS_BAD, C_GetSlotInfo, card_slot, NULL);
    GIVES(CKR_ARGUMENTS_BAD, C_GetTokenInfo, card_slot, NULL);
    GIVES(CKR_ARGUMENTS_BAD, C_WaitForSlotEvent, CKF_DONT_BLOCK, NULL, NULL);
    while (p11->C_WaitForSlotEvent(CKF_DONT_BLOCK, &number, NULL) == CKR_OK) {}
    GIVES(CKR_NO_EVENT, C_WaitForSlotEvent, CKF_DONT_BLOCK, &number, NULL);
    GIVES(CKR_ARGUMENTS_BAD, C_GetMechanismList, card_slot, NULL, NULL);
    room = 1;
    GIVES(CKR_BUFFER_TOO_SMALL, C_GetMechanismList, card_slot, ids, &room);
    GIVES(CKR_ARGUMENTS_BAD, C_GetMechanismInfo, card_slot, CKM_ECDSA, NULL);
    CK_MECHANISM_INFO mechanism_info;
    GIVES(CKR_MECHANISM_INVALID, C_GetMechanismInfo, card_slot, CKM_AES_CBC, &mechanism_info);
    EACH_OF_A_SLOT(CKR_SLOT_ID_INVALID, 0xFFFFF);
}

static void sessions(void) {
    GIVES(CKR_ARGUMENTS_BAD, C_OpenSession, card_slot, CKF_SERIAL_SESSION, NULL, NULL, NULL);
    GIVES(CKR_SESSION_PARALLEL_NOT_SUPPORTED, C_OpenSession, card_slot, CKF_RW_SESSION, NULL, NULL, &number);
    OK(p11->C_OpenSession(card_slot, CKF_SERIAL_SESSION | CKF_RW_SESSION, NULL, NULL, &card));
    OK(p11->C_OpenSession(chain_slot, CKF_SERIAL_SESSION | CKF_RW_SESSION, NULL, NULL, &chain));
    OK(p11->C_OpenSession(chain_slot, CKF_SERIAL_SESSION, NULL, NULL, &reader));
    EACH_OF_A_SESSION(CKR_SESSION_HANDLE_INVALID, 4711);
    GIVES(CKR_ARGUMENTS_BAD, C_GetSessionInfo, card, NULL);
    GIVES(CKR_FUNCTION_NOT_PARALLEL, C_GetFunctionStatus, card);
    GIVES(CKR_FUNCTION_NOT_PARALLEL, C_CancelFunction, card);

    GIVES(CKR_ARGUMENTS_BAD, C_Login, card, CKU_USER, NULL, 6);
    GIVES_3_0(CKR_ARGUMENTS_BAD, C_LoginUser, card, CKU_USER, pin, 6, pin, 6);
    GIVES(CKR_USER_TYPE_INVALID, C_Login, chain, CKU_SO, pin, 6);
    GIVES_3_0(CKR_USER_TYPE_INVALID, C_LoginUser, card, 77, pin, 6, NULL, 0);
    GIVES(CKR_PIN_LEN_RANGE, C_Login, card, CKU_USER, pin, 3);
    GIVES(CKR_USER_NOT_LOGGED_IN, C_Logout, card);
    GIVES(CKR_ARGUMENTS_BAD, C_SetPIN, card, NULL, 0, NULL, 0);
    GIVES(CKR_PIN_LEN_RANGE, C_SetPIN, card, pin, 6, pin, 5);
    GIVES(CKR_PIN_INVALID, C_SetPIN, card, pin, 6, (CK_UTF8CHAR *)"abcdef", 6);
    GIVES(CKR_PIN_INCORRECT, C_SetPIN, chain, pin, 6, password, 4);
    GIVES(CKR_SESSION_READ_ONLY, C_SetPIN, reader, password, 4, password, 4);
    GIVES(CKR_PIN_INCORRECT, C_Login, chain, CKU_USER, pin, 6);
    GIVES_3_0(CKR_PIN_INCORRECT, C_LoginUser, chain, CKU_USER, pin, 6, NULL, 0);

    /* The security officer, with the management key that cards are delivered with. */
    CK_UTF8CHAR *key = (CK_UTF8CHAR *)"010203040506070801020304050607080102030405060708";
    CK_SESSION_HANDLE beside;
    GIVES(CKR_USER_NOT_LOGGED_IN, C_InitPIN, card, pin, 6);
    OK(p11->C_OpenSession(card_slot, CKF_SERIAL_SESSION, NULL, NULL, &beside));
    GIVES(CKR_SESSION_READ_ONLY_EXISTS, C_Login, card, CKU_SO, key, 48);
    GIVES_3_0(CKR_SESSION_READ_ONLY_EXISTS, C_LoginUser, card, CKU_SO, key, 48, NULL, 0);
    OK(p11->C_CloseSession(beside));
    OK(p11->C_Login(card, CKU_SO, key, 48));
    GIVES(CKR_USER_ANOTHER_ALREADY_LOGGED_IN, C_Login, card, CKU_USER, pin, 6);
    GIVES_3_0(CKR_USER_ANOTHER_ALREADY_LOGGED_IN, C_LoginUser, card, CKU_USER, pin, 6, NULL, 0);
    GIVES(CKR_SESSION_READ_WRITE_SO_EXISTS, C_OpenSession, card_slot, CKF_SERIAL_SESSION, NULL, NULL, &beside);
    GIVES(CKR_ARGUMENTS_BAD, C_InitPIN, card, NULL, 0);
    GIVES(CKR_PIN_LEN_RANGE, C_InitPIN, card, pin, 5);
    GIVES(CKR_PIN_INVALID, C_InitPIN, card, (CK_UTF8CHAR *)"abcdef", 6);
    OK(p11->C_Logout(card));
}

static CK_OBJECT_HANDLE create(CK_SESSION_HANDLE session, CK_ATTRIBUTE *attributes, CK_ULONG count) {
    CK_OBJECT_HANDLE object = 0;
    OK(p11->C_CreateObject(session, attributes, count, &object));
    return object;
}

/* The first object of a class. */
static CK_OBJECT_HANDLE first(CK_SESSION_HANDLE session, CK_OBJECT_CLASS class) {
    CK_ATTRIBUTE template = {CKA_CLASS, VALUE(class)};
    CK_OBJECT_HANDLE object = 0;
    OK(p11->C_FindObjectsInit(session, &template, 1));
    OK(p11->C_FindObjects(session, &object, 1, &number));
    OK(p11->C_FindObjectsFinal(session));
    HOLDS(number == 1);
    return object;
}

/* Before a login to the keychain. */
static void locked_keychain(void) {
    GIVES(CKR_USER_NOT_LOGGED_IN, C_CreateObject, chain, any_data, 3, &made);
    GIVES(CKR_USER_NOT_LOGGED_IN, C_GenerateKeyPair, chain, &ec_pair, named_curve, 1, kept, 1, &made, &other);
    /* Keys of a session need no login until they are to be kept. */
    CK_ATTRIBUTE kept_key[] = {{CKA_VALUE_LEN, VALUE(aes_bytes)}, kept[0]}, open[] = {{CKA_PRIVATE, VALUE(no)}};
    CK_BYTE encoded[67];
    CK_ATTRIBUTE own = {CKA_EC_POINT, VALUE(encoded)};
    CK_OBJECT_HANDLE key = 0;
    GIVES(CKR_USER_NOT_LOGGED_IN, C_GenerateKey, chain, &aes_key, kept_key, 2, &made);
    OK(p11->C_GenerateKey(chain, &aes_key, aes_length, 1, &key));
    GIVES(CKR_USER_NOT_LOGGED_IN, C_CopyObject, chain, key, kept, 1, &made);
    GIVES(CKR_USER_NOT_LOGGED_IN, C_UnwrapKey, chain, &aes_wrap, key, block, 24, kept, 1, &made);
    OK(p11->C_GenerateKeyPair(chain, &ec_pair, named_curve, 1, open, 1, &made, &other));
    OK(p11->C_GetAttributeValue(chain, made, &own, 1));
    memcpy(point, encoded + 2, sizeof point);
    GIVES(CKR_USER_NOT_LOGGED_IN, C_DeriveKey, chain, &ecdh, other, kept, 1, &made);
    OK(p11->C_Login(chain, CKU_USER, password, 4));
    GIVES(CKR_USER_ALREADY_LOGGED_IN, C_Login, chain, CKU_USER, password, 4);
    GIVES_3_0(CKR_USER_ALREADY_LOGGED_IN, C_LoginUser, chain, CKU_USER, password, 4, NULL, 0);
    OK(p11->C_Login(card, CKU_USER, pin, 6));
    GIVES(CKR_OPERATION_NOT_INITIALIZED, C_Login, card, CKU_CONTEXT_SPECIFIC, pin, 6);
    GIVES_3_0(CKR_OPERATION_NOT_INITIALIZED, C_LoginUser, card, CKU_CONTEXT_SPECIFIC, pin, 6, NULL, 0);
}

static void creating(void) {
    CK_ATTRIBUTE local[] = {{CKA_CLASS, VALUE(data_class)}, {CKA_LOCAL, VALUE(yes)}};
    CK_ATTRIBUTE foreign[] = {{CKA_CLASS, VALUE(data_class)}, {CKA_MODULUS, block, 1}};
    CK_ATTRIBUTE narrow[] = {{CKA_CLASS, VALUE(yes)}};
    CK_ATTRIBUTE token[] = {{CKA_TOKEN, VALUE(yes)}};
    CK_ATTRIBUTE twice[] = {{CKA_CLASS, VALUE(data_class)}, {CKA_LABEL, block, 1}, {CKA_LABEL, buffer, 2}};
    CK_ATTRIBUTE curve[] = {{CKA_CLASS, VALUE(public_class)}, {CKA_KEY_TYPE, VALUE(ec_type)},
                            {CKA_EC_PARAMS, VALUE(secp256k1)}, {CKA_EC_POINT, block, 65}};
    GIVES(CKR_ARGUMENTS_BAD, C_CreateObject, chain, any_data, 3, NULL);
    GIVES(CKR_ATTRIBUTE_READ_ONLY, C_CreateObject, chain, local, 2, &made);
    GIVES(CKR_ATTRIBUTE_TYPE_INVALID, C_CreateObject, chain, foreign, 2, &made);
    GIVES(CKR_ATTRIBUTE_VALUE_INVALID, C_CreateObject, chain, narrow, 1, &made);
    GIVES(CKR_TEMPLATE_INCOMPLETE, C_CreateObject, chain, token, 1, &made);
    GIVES(CKR_TEMPLATE_INCONSISTENT, C_CreateObject, chain, twice, 3, &made);
    GIVES(CKR_CURVE_NOT_SUPPORTED, C_CreateObject, chain, curve, 4, &made);
    curve[2].pValue = block;
    GIVES(CKR_DOMAIN_PARAMS_INVALID, C_CreateObject, chain, curve, 4, &made);
    GIVES(CKR_SESSION_READ_ONLY, C_CreateObject, reader, any_data, 3, &made);
    GIVES(CKR_TOKEN_WRITE_PROTECTED, C_CreateObject, card, any_data, 3, &made);
}

/* Attributes that cannot be read are marked, and the others are returned. PKCS #11 5.7.5. */
static void bad_attributes_spoil_no_other(CK_OBJECT_HANDLE certificate, CK_OBJECT_HANDLE private) {
    CK_BYTE exponent[256], modulus[256], trusted = 7, id = 7, small[1];
    CK_ATTRIBUTE of_key[] = {{CKA_PRIVATE_EXPONENT, VALUE(exponent)}, {CKA_MODULUS, VALUE(modulus)},
                             {CKA_EC_POINT, VALUE(exponent)}, {CKA_ID, VALUE(id)}};
    HOLDS(p11->C_GetAttributeValue(card, private, of_key, 4) != CKR_OK);
    HOLDS(of_key[0].ulValueLen == CK_UNAVAILABLE_INFORMATION && of_key[2].ulValueLen == CK_UNAVAILABLE_INFORMATION);
    HOLDS(of_key[1].ulValueLen == 256 && of_key[3].ulValueLen == 1 && id == 1);
    CK_ATTRIBUTE of_certificate[] = {{CKA_VALUE, VALUE(small)}, {CKA_TRUSTED, VALUE(trusted)},
                                     {CKA_MODULUS, NULL, 0}, {CKA_SUBJECT, NULL, 0}};
    HOLDS(p11->C_GetAttributeValue(card, certificate, of_certificate, 4) != CKR_OK);
    HOLDS(of_certificate[0].ulValueLen == CK_UNAVAILABLE_INFORMATION && trusted == CK_FALSE);
    HOLDS(of_certificate[2].ulValueLen == CK_UNAVAILABLE_INFORMATION && of_certificate[3].ulValueLen > 10);
}

static void objects(void) {
    CK_OBJECT_HANDLE password_object = create(chain, any_data, 3), key = create(chain, secret_key, 2);
    CK_OBJECT_HANDLE certificate = find(card, CKO_CERTIFICATE, 1), private = find(card, CKO_PRIVATE_KEY, 1);
    CK_OBJECT_HANDLE profile = first(chain, CKO_PROFILE), card_key = create(card, secret_key, 2);
    CK_ATTRIBUTE value = {CKA_VALUE, block, 4}, modulus = {CKA_MODULUS, block, 1}, label = {CKA_LABEL, block, 1},
                 to_token = {CKA_TOKEN, VALUE(yes)}, wide = {CKA_TOKEN, block, 4},
                 bad_label = {CKA_LABEL, VALUE(utf8_never)}, exponent = {CKA_PRIVATE_EXPONENT, buffer, 256},
                 none = {CKA_VALUE, NULL, 5};
    CK_ATTRIBUTE labels[] = {{CKA_LABEL, block, 1}, {CKA_LABEL, block, 2}};
    block[0] = 'a';

    GIVES(CKR_ARGUMENTS_BAD, C_CopyObject, chain, key, NULL, 0, NULL);
    value.ulValueLen = 1;
    GIVES(CKR_ATTRIBUTE_READ_ONLY, C_CopyObject, chain, key, &value, 1, &made);
    GIVES(CKR_ATTRIBUTE_TYPE_INVALID, C_CopyObject, chain, key, &modulus, 1, &made);
    GIVES(CKR_ATTRIBUTE_VALUE_INVALID, C_CopyObject, chain, key, &wide, 1, &made);
    GIVES(CKR_OBJECT_HANDLE_INVALID, C_CopyObject, chain, 4711, NULL, 0, &made);
    GIVES(CKR_SESSION_READ_ONLY, C_CopyObject, reader, password_object, &label, 1, &made);
    GIVES(CKR_TEMPLATE_INCONSISTENT, C_CopyObject, chain, password_object, labels, 2, &made);
    GIVES(CKR_TOKEN_WRITE_PROTECTED, C_CopyObject, card, card_key, &to_token, 1, &made);
    GIVES(CKR_ACTION_PROHIBITED, C_CopyObject, card, certificate, NULL, 0, &made);

    GIVES(CKR_OBJECT_HANDLE_INVALID, C_DestroyObject, chain, 4711);
    GIVES(CKR_SESSION_READ_ONLY, C_DestroyObject, reader, password_object);
    GIVES(CKR_TOKEN_WRITE_PROTECTED, C_DestroyObject, card, certificate);
    GIVES(CKR_ACTION_PROHIBITED, C_DestroyObject, chain, profile);

    GIVES(CKR_ARGUMENTS_BAD, C_GetObjectSize, card, certificate, NULL);
    GIVES(CKR_OBJECT_HANDLE_INVALID, C_GetObjectSize, card, 4711, &number);

    GIVES(CKR_ARGUMENTS_BAD, C_GetAttributeValue, card, certificate, NULL, 1);
    GIVES(CKR_ATTRIBUTE_SENSITIVE, C_GetAttributeValue, card, private, &exponent, 1);
    GIVES(CKR_ATTRIBUTE_TYPE_INVALID, C_GetAttributeValue, card, certificate, &modulus, 1);
    value.ulValueLen = 1;
    GIVES(CKR_BUFFER_TOO_SMALL, C_GetAttributeValue, card, certificate, &value, 1);
    GIVES(CKR_OBJECT_HANDLE_INVALID, C_GetAttributeValue, card, 4711, &value, 1);
    bad_attributes_spoil_no_other(certificate, private);

    GIVES(CKR_ARGUMENTS_BAD, C_SetAttributeValue, chain, password_object, NULL, 0);
    modulus.ulValueLen = value.ulValueLen = 1;
    GIVES(CKR_ATTRIBUTE_READ_ONLY, C_SetAttributeValue, chain, password_object, &value, 1);
    GIVES(CKR_ATTRIBUTE_TYPE_INVALID, C_SetAttributeValue, chain, password_object, &modulus, 1);
    GIVES(CKR_ATTRIBUTE_VALUE_INVALID, C_SetAttributeValue, chain, password_object, &bad_label, 1);
    GIVES(CKR_OBJECT_HANDLE_INVALID, C_SetAttributeValue, chain, 4711, &label, 1);
    GIVES(CKR_SESSION_READ_ONLY, C_SetAttributeValue, reader, password_object, &label, 1);
    GIVES(CKR_TEMPLATE_INCONSISTENT, C_SetAttributeValue, chain, password_object, labels, 2);
    GIVES(CKR_TOKEN_WRITE_PROTECTED, C_SetAttributeValue, card, certificate, &label, 1);
    GIVES(CKR_ACTION_PROHIBITED, C_SetAttributeValue, chain, key, &label, 1);

    GIVES(CKR_ARGUMENTS_BAD, C_FindObjectsInit, card, NULL, 1);
    GIVES(CKR_ATTRIBUTE_VALUE_INVALID, C_FindObjectsInit, card, &none, 1);
    GIVES(CKR_OPERATION_NOT_INITIALIZED, C_FindObjects, card, &made, 1, &number);
    GIVES(CKR_OPERATION_NOT_INITIALIZED, C_FindObjectsFinal, card);
    OK(p11->C_FindObjectsInit(card, NULL, 0));
    GIVES(CKR_ARGUMENTS_BAD, C_FindObjects, card, &made, 1, NULL);
    OK(p11->C_FindObjectsFinal(card));
}

/* A public key of the session that permits no operation. */
static CK_OBJECT_HANDLE idle_key(void) {
    CK_BYTE modulus[256], exponent[8];
    CK_KEY_TYPE rsa_type = CKK_RSA;
    CK_ATTRIBUTE numbers[] = {{CKA_MODULUS, VALUE(modulus)}, {CKA_PUBLIC_EXPONENT, VALUE(exponent)}};
    OK(p11->C_GetAttributeValue(card, find(card, CKO_PUBLIC_KEY, 1), numbers, 2));
    CK_ATTRIBUTE template[] = {{CKA_CLASS, VALUE(public_class)}, {CKA_KEY_TYPE, VALUE(rsa_type)}, numbers[0], numbers[1],
                               {CKA_ENCRYPT, VALUE(no)}, {CKA_VERIFY, VALUE(no)}, {CKA_WRAP, VALUE(no)}};
    return create(card, template, COUNT(template));
}

/* The values of every function that begins an operation. The last arguments are those after the mechanism. */
#define BEGINNING(function, fitting, wrong_parameter, ...)                             \
    do {                                                                               \
        GIVES(CKR_ARGUMENTS_BAD, function, card, NULL, ##__VA_ARGS__);                 \
        GIVES(CKR_MECHANISM_INVALID, function, card, &aes, ##__VA_ARGS__);             \
        GIVES(CKR_MECHANISM_PARAM_INVALID, function, card, wrong_parameter, ##__VA_ARGS__); \
        OK(p11->function(card, fitting, ##__VA_ARGS__));                               \
        OK(p11->function(card, NULL, ##__VA_ARGS__));                                  \
    } while (0)

static void encrypting(void) {
    CK_OBJECT_HANDLE public = find(card, CKO_PUBLIC_KEY, 1), private = find(card, CKO_PRIVATE_KEY, 1);
    BEGINNING(C_EncryptInit, &rsa_pkcs, &rsa_pkcs_with, public);
    GIVES(CKR_KEY_HANDLE_INVALID, C_EncryptInit, card, &rsa_pkcs, 4711);
    GIVES(CKR_KEY_TYPE_INCONSISTENT, C_EncryptInit, card, &rsa_pkcs, private);
    GIVES(CKR_KEY_FUNCTION_NOT_PERMITTED, C_EncryptInit, card, &rsa_pkcs, idle_key());
    oaep_parameters.source = 7;
    GIVES(CKR_MECHANISM_PARAM_INVALID, C_EncryptInit, card, &oaep, public);
    oaep_parameters.source = 0;
    OK(p11->C_EncryptInit(card, &oaep, public));
    oaep_parameters.pSourceData = block, oaep_parameters.ulSourceDataLen = 1;
    GIVES(CKR_MECHANISM_PARAM_INVALID, C_EncryptInit, card, &oaep, public);
    oaep_parameters = (CK_RSA_PKCS_OAEP_PARAMS){CKM_SHA256, CKG_MGF1_SHA256, CKZ_DATA_SPECIFIED, NULL, 0};
    OK(p11->C_EncryptInit(card, &oaep, public));
    OK(p30->C_SessionCancel(card, CKF_ENCRYPT));

    room = sizeof buffer;
    GIVES(CKR_OPERATION_NOT_INITIALIZED, C_Encrypt, card, block, 1, buffer, &room);
    GIVES(CKR_OPERATION_NOT_INITIALIZED, C_EncryptUpdate, card, block, 1, buffer, &room);
    GIVES(CKR_OPERATION_NOT_INITIALIZED, C_EncryptFinal, card, buffer, &room);
    OK(p11->C_EncryptInit(card, &rsa_pkcs, public));
    GIVES(CKR_ARGUMENTS_BAD, C_Encrypt, card, NULL, 1, buffer, &room);
    ENDED(C_Encrypt, card, block, 1, buffer, &room);
    OK(p11->C_EncryptInit(card, &rsa_pkcs, public));
    room = 1;
    GIVES(CKR_BUFFER_TOO_SMALL, C_Encrypt, card, block, 1, buffer, &room);
    GIVES(CKR_DATA_LEN_RANGE, C_Encrypt, card, block, 250, buffer, &room);
    OK(p11->C_EncryptInit(card, &rsa_raw, public));
    memset(block, 0xFF, sizeof block);
    GIVES(CKR_DATA_INVALID, C_Encrypt, card, block, 256, buffer, &room);
    memset(block, 0, sizeof block);

    OK(p11->C_EncryptInit(card, &rsa_pkcs, public));
    GIVES(CKR_ARGUMENTS_BAD, C_EncryptUpdate, card, NULL, 1, buffer, &room);
    ENDED(C_EncryptUpdate, card, block, 1, buffer, &room);
    OK(p11->C_EncryptInit(card, &rsa_pkcs, public));
    GIVES(CKR_ARGUMENTS_BAD, C_EncryptFinal, card, buffer, NULL);
    ENDED(C_EncryptFinal, card, buffer, &room);
    OK(p11->C_EncryptInit(card, &rsa_pkcs, public));
    OK(p11->C_EncryptUpdate(card, block, 250, buffer, &room));
    GIVES(CKR_OPERATION_ACTIVE, C_EncryptInit, card, &rsa_pkcs, public);
    room = 1;
    GIVES(CKR_BUFFER_TOO_SMALL, C_EncryptFinal, card, buffer, &room);
    GIVES(CKR_DATA_LEN_RANGE, C_EncryptFinal, card, buffer, &room);
    OK(p11->C_EncryptInit(card, &rsa_pkcs, public));
    GIVES(CKR_DATA_LEN_RANGE, C_EncryptUpdate, card, buffer, 257, buffer, &room);
    OK(p11->C_EncryptInit(card, &rsa_pkcs, public));
    OK(p11->C_EncryptUpdate(card, block, 1, buffer, &room));
    GIVES(CKR_OPERATION_ACTIVE, C_Encrypt, card, block, 1, buffer, &room);
}

static void decrypting(void) {
    CK_OBJECT_HANDLE public = find(card, CKO_PUBLIC_KEY, 3), private = find(card, CKO_PRIVATE_KEY, 3);
    BEGINNING(C_DecryptInit, &rsa_pkcs, &rsa_pkcs_with, private);
    GIVES(CKR_KEY_HANDLE_INVALID, C_DecryptInit, card, &rsa_pkcs, 4711);
    GIVES(CKR_KEY_TYPE_INCONSISTENT, C_DecryptInit, card, &rsa_pkcs, public);
    GIVES(CKR_KEY_FUNCTION_NOT_PERMITTED, C_DecryptInit, card, &rsa_pkcs, find(card, CKO_PRIVATE_KEY, 2));

    room = sizeof buffer;
    GIVES(CKR_OPERATION_NOT_INITIALIZED, C_Decrypt, card, block, 256, buffer, &room);
    GIVES(CKR_OPERATION_NOT_INITIALIZED, C_DecryptUpdate, card, block, 256, buffer, &room);
    GIVES(CKR_OPERATION_NOT_INITIALIZED, C_DecryptFinal, card, buffer, &room);
    CK_BYTE ciphertext[256];
    CK_ULONG length = sizeof ciphertext;
    OK(p11->C_EncryptInit(card, &rsa_pkcs, public));
    OK(p11->C_Encrypt(card, block, 10, ciphertext, &length));
    OK(p11->C_DecryptInit(card, &rsa_pkcs, private));
    GIVES(CKR_ARGUMENTS_BAD, C_Decrypt, card, NULL, 256, buffer, &room);
    ENDED(C_Decrypt, card, ciphertext, 256, buffer, &room);
    OK(p11->C_DecryptInit(card, &rsa_pkcs, private));
    room = 1;
    GIVES(CKR_BUFFER_TOO_SMALL, C_Decrypt, card, ciphertext, 256, buffer, &room);
    OK(p11->C_Decrypt(card, ciphertext, 256, buffer, &room));
    for (CK_ULONG wrong = 255; wrong <= 257; wrong += 2) {
        OK(p11->C_DecryptInit(card, &rsa_pkcs, private));
        GIVES(CKR_ENCRYPTED_DATA_LEN_RANGE, C_Decrypt, card, buffer, wrong, buffer, &room);
    }
    room = sizeof buffer;
    OK(p11->C_DecryptInit(card, &oaep, private));
    GIVES(CKR_ENCRYPTED_DATA_INVALID, C_Decrypt, card, ciphertext, 256, buffer, &room);

    OK(p11->C_DecryptInit(card, &rsa_pkcs, private));
    GIVES(CKR_ARGUMENTS_BAD, C_DecryptUpdate, card, NULL, 1, buffer, &room);
    ENDED(C_DecryptUpdate, card, ciphertext, 256, buffer, &room);
    OK(p11->C_DecryptInit(card, &rsa_pkcs, private));
    GIVES(CKR_ARGUMENTS_BAD, C_DecryptFinal, card, buffer, NULL);
    ENDED(C_DecryptFinal, card, buffer, &room);
    OK(p11->C_DecryptInit(card, &rsa_pkcs, private));
    OK(p11->C_DecryptUpdate(card, ciphertext, 256, buffer, &room));
    GIVES(CKR_OPERATION_ACTIVE, C_DecryptInit, card, &rsa_pkcs, private);
    room = 1;
    GIVES(CKR_BUFFER_TOO_SMALL, C_DecryptFinal, card, buffer, &room);
    GIVES(CKR_ENCRYPTED_DATA_LEN_RANGE, C_DecryptUpdate, card, ciphertext, 1, buffer, &room);
    OK(p11->C_DecryptInit(card, &rsa_pkcs, private));
    OK(p11->C_DecryptUpdate(card, ciphertext, 255, buffer, &room));
    room = sizeof buffer;
    GIVES(CKR_ENCRYPTED_DATA_LEN_RANGE, C_DecryptFinal, card, buffer, &room);
    OK(p11->C_DecryptInit(card, &oaep, private));
    OK(p11->C_DecryptUpdate(card, ciphertext, 256, buffer, &room));
    room = sizeof buffer;
    GIVES(CKR_ENCRYPTED_DATA_INVALID, C_DecryptFinal, card, buffer, &room);
    OK(p11->C_DecryptInit(card, &rsa_pkcs, private));
    OK(p11->C_DecryptUpdate(card, ciphertext, 1, buffer, &room));
    GIVES(CKR_OPERATION_ACTIVE, C_Decrypt, card, ciphertext, 256, buffer, &room);

    /* The login ends while the operation goes on. */
    CK_SESSION_HANDLE second;
    OK(p11->C_OpenSession(card_slot, CKF_SERIAL_SESSION, NULL, NULL, &second));
    OK(p11->C_DecryptInit(card, &rsa_pkcs, private));
    OK(p11->C_DecryptInit(second, &rsa_pkcs, private));
    OK(p11->C_DecryptUpdate(second, ciphertext, 256, buffer, &room));
    have("remove");
    have("insert");
    room = sizeof buffer;
    GIVES(CKR_USER_NOT_LOGGED_IN, C_Decrypt, card, ciphertext, 256, buffer, &room);
    GIVES(CKR_USER_NOT_LOGGED_IN, C_DecryptFinal, second, buffer, &room);
    OK(p11->C_CloseSession(second));
    OK(p11->C_Login(card, CKU_USER, pin, 6));
}

static void digesting(void) {
    BEGINNING(C_DigestInit, &sha256, &sha256_with);
    GIVES(CKR_OPERATION_NOT_INITIALIZED, C_Digest, card, block, 1, buffer, &room);
    GIVES(CKR_OPERATION_NOT_INITIALIZED, C_DigestUpdate, card, block, 1);
    GIVES(CKR_OPERATION_NOT_INITIALIZED, C_DigestFinal, card, buffer, &room);
    CK_OBJECT_HANDLE key = create(card, secret_key, 2);
    GIVES(CKR_OPERATION_NOT_INITIALIZED, C_DigestKey, card, key);
    OK(p11->C_DigestInit(card, &sha256));
    GIVES(CKR_KEY_HANDLE_INVALID, C_DigestKey, card, 4711);
    ENDED(C_DigestKey, card, key);
    OK(p11->C_DigestInit(card, &sha256));
    OK(p11->C_DigestKey(card, key));
    GIVES(CKR_KEY_INDIGESTIBLE, C_DigestKey, card, find(card, CKO_PUBLIC_KEY, 1));
    OK(p11->C_DigestInit(card, &sha256));
    GIVES(CKR_ARGUMENTS_BAD, C_Digest, card, NULL, 1, buffer, &room);
    ENDED(C_Digest, card, block, 1, buffer, &room);
    OK(p11->C_DigestInit(card, &sha256));
    GIVES(CKR_ARGUMENTS_BAD, C_Digest, card, block, 1, buffer, NULL);
    ENDED(C_Digest, card, block, 1, buffer, &room);
    OK(p11->C_DigestInit(card, &sha256));
    GIVES(CKR_ARGUMENTS_BAD, C_DigestUpdate, card, NULL, 1);
    ENDED(C_DigestUpdate, card, block, 1);
    OK(p11->C_DigestInit(card, &sha256));
    GIVES(CKR_ARGUMENTS_BAD, C_DigestFinal, card, buffer, NULL);
    ENDED(C_DigestFinal, card, buffer, &room);
    OK(p11->C_DigestInit(card, &sha256));
    room = 1;
    GIVES(CKR_BUFFER_TOO_SMALL, C_Digest, card, block, 1, buffer, &room);
    GIVES(CKR_OPERATION_ACTIVE, C_DigestFinal, card, buffer, &room);
    ENDED(C_DigestFinal, card, buffer, &room);
    OK(p11->C_DigestInit(card, &sha256));
    OK(p11->C_DigestUpdate(card, block, 1));
    GIVES(CKR_OPERATION_ACTIVE, C_DigestInit, card, &sha256);
    room = 1;
    GIVES(CKR_BUFFER_TOO_SMALL, C_DigestFinal, card, buffer, &room);
    GIVES(CKR_OPERATION_ACTIVE, C_Digest, card, block, 1, buffer, &room);
    ENDED(C_Digest, card, block, 1, buffer, &room);
}

static void signing(void) {
    CK_OBJECT_HANDLE rsa = find(card, CKO_PRIVATE_KEY, 1), always = find(card, CKO_PRIVATE_KEY, 2);
    BEGINNING(C_SignInit, &rsa_pkcs, &pss_without, rsa);
    GIVES(CKR_KEY_HANDLE_INVALID, C_SignInit, card, &rsa_pkcs, 4711);
    GIVES(CKR_KEY_TYPE_INCONSISTENT, C_SignInit, card, &ecdsa, rsa);
    CK_ATTRIBUTE never[] = {{CKA_SIGN, VALUE(no)}};
    OK(p11->C_GenerateKeyPair(chain, &ec_pair, named_curve, 1, never, 1, &made, &other));
    GIVES(CKR_KEY_FUNCTION_NOT_PERMITTED, C_SignInit, chain, &ecdsa, other);

    room = sizeof buffer;
    GIVES(CKR_OPERATION_NOT_INITIALIZED, C_Sign, card, block, 1, buffer, &room);
    GIVES(CKR_OPERATION_NOT_INITIALIZED, C_SignUpdate, card, block, 1);
    GIVES(CKR_OPERATION_NOT_INITIALIZED, C_SignFinal, card, buffer, &room);
    OK(p11->C_SignInit(card, &rsa_pkcs, rsa));
    GIVES(CKR_ARGUMENTS_BAD, C_Sign, card, NULL, 1, buffer, &room);
    ENDED(C_Sign, card, block, 1, buffer, &room);
    OK(p11->C_SignInit(card, &rsa_pkcs, rsa));
    room = 1;
    GIVES(CKR_BUFFER_TOO_SMALL, C_Sign, card, block, 1, buffer, &room);
    GIVES(CKR_DATA_LEN_RANGE, C_Sign, card, block, 250, buffer, &room);
    OK(p11->C_SignInit(card, &rsa_raw, rsa));
    memset(block, 0xFF, sizeof block);
    GIVES(CKR_DATA_INVALID, C_Sign, card, block, 256, buffer, &room);
    memset(block, 0, sizeof block);

    OK(p11->C_SignInit(card, &rsa_pkcs, rsa));
    GIVES(CKR_ARGUMENTS_BAD, C_SignUpdate, card, NULL, 1);
    ENDED(C_SignUpdate, card, block, 1);
    OK(p11->C_SignInit(card, &rsa_pkcs, rsa));
    GIVES(CKR_ARGUMENTS_BAD, C_SignFinal, card, buffer, NULL);
    ENDED(C_SignFinal, card, buffer, &room);
    OK(p11->C_SignInit(card, &rsa_pkcs, rsa));
    OK(p11->C_SignUpdate(card, block, 250));
    GIVES(CKR_OPERATION_ACTIVE, C_SignInit, card, &rsa_pkcs, rsa);
    room = 1;
    GIVES(CKR_BUFFER_TOO_SMALL, C_SignFinal, card, buffer, &room);
    GIVES(CKR_DATA_LEN_RANGE, C_SignFinal, card, buffer, &room);
    OK(p11->C_SignInit(card, &rsa_pkcs, rsa));
    GIVES(CKR_DATA_LEN_RANGE, C_SignUpdate, card, buffer, sizeof buffer);
    OK(p11->C_SignInit(card, &rsa_pkcs, rsa));
    OK(p11->C_SignUpdate(card, block, 1));
    GIVES(CKR_OPERATION_ACTIVE, C_Sign, card, block, 1, buffer, &room);

    /* The login counts for one signature. */
    OK(p11->C_SignInit(card, &ecdsa, always));
    room = sizeof buffer;
    OK(p11->C_Sign(card, block, 32, buffer, &room));
    OK(p11->C_SignInit(card, &ecdsa, always));
    GIVES(CKR_USER_NOT_LOGGED_IN, C_Sign, card, block, 32, buffer, &room);
    OK(p11->C_SignInit(card, &ecdsa_sha256, always));
    OK(p11->C_SignUpdate(card, block, 32));
    GIVES(CKR_USER_NOT_LOGGED_IN, C_SignFinal, card, buffer, &room);
}

static void verifying(void) {
    CK_OBJECT_HANDLE public = find(card, CKO_PUBLIC_KEY, 1), private = find(card, CKO_PRIVATE_KEY, 1);
    BEGINNING(C_VerifyInit, &rsa_pkcs, &pss_without, public);
    GIVES(CKR_KEY_HANDLE_INVALID, C_VerifyInit, card, &rsa_pkcs, 4711);
    GIVES(CKR_KEY_TYPE_INCONSISTENT, C_VerifyInit, card, &rsa_pkcs, private);
    GIVES(CKR_KEY_FUNCTION_NOT_PERMITTED, C_VerifyInit, card, &rsa_pkcs, idle_key());
    /* Numbers that no signature has. */
    CK_BYTE digest[32] = {1}, beyond[256];
    CK_OBJECT_HANDLE ec_public = find(card, CKO_PUBLIC_KEY, 4);
    for (int fill = 0; fill <= 0xFF; fill += 0xFF) {
        memset(beyond, fill, sizeof beyond);
        OK(p11->C_VerifyInit(card, &rsa_raw, public));
        GIVES(CKR_SIGNATURE_INVALID, C_Verify, card, digest, 32, beyond, 256);
        OK(p11->C_VerifyInit(card, &rsa_pkcs, public));
        GIVES(CKR_SIGNATURE_INVALID, C_Verify, card, digest, 32, beyond, 256);
        OK(p11->C_VerifyInit(card, &ecdsa, ec_public));
        GIVES(CKR_SIGNATURE_INVALID, C_Verify, card, digest, 32, beyond, 64);
    }

    GIVES(CKR_OPERATION_NOT_INITIALIZED, C_Verify, card, block, 1, block, 256);
    GIVES(CKR_OPERATION_NOT_INITIALIZED, C_VerifyUpdate, card, block, 1);
    GIVES(CKR_OPERATION_NOT_INITIALIZED, C_VerifyFinal, card, block, 256);
    OK(p11->C_VerifyInit(card, &rsa_sha256, public));
    GIVES(CKR_ARGUMENTS_BAD, C_Verify, card, NULL, 1, block, 256);
    ENDED(C_Verify, card, block, 1, block, 256);
    OK(p11->C_VerifyInit(card, &rsa_sha256, public));
    GIVES(CKR_SIGNATURE_INVALID, C_Verify, card, block, 1, block, 256);
    OK(p11->C_VerifyInit(card, &rsa_sha256, public));
    GIVES(CKR_SIGNATURE_LEN_RANGE, C_Verify, card, block, 1, block, 255);
    OK(p11->C_VerifyInit(card, &rsa_raw, public));
    GIVES(CKR_DATA_LEN_RANGE, C_Verify, card, buffer, 257, block, 256);

    OK(p11->C_VerifyInit(card, &rsa_sha256, public));
    GIVES(CKR_ARGUMENTS_BAD, C_VerifyUpdate, card, NULL, 1);
    ENDED(C_VerifyUpdate, card, block, 1);
    OK(p11->C_VerifyInit(card, &rsa_sha256, public));
    GIVES(CKR_ARGUMENTS_BAD, C_VerifyFinal, card, NULL, 256);
    ENDED(C_VerifyFinal, card, block, 256);
    OK(p11->C_VerifyInit(card, &rsa_sha256, public));
    OK(p11->C_VerifyUpdate(card, block, 1));
    GIVES(CKR_OPERATION_ACTIVE, C_VerifyInit, card, &rsa_sha256, public);
    GIVES(CKR_SIGNATURE_INVALID, C_VerifyFinal, card, block, 256);
    OK(p11->C_VerifyInit(card, &rsa_sha256, public));
    GIVES(CKR_SIGNATURE_LEN_RANGE, C_VerifyFinal, card, block, 1);
    OK(p11->C_VerifyInit(card, &rsa_raw, public));
    OK(p11->C_VerifyUpdate(card, buffer, 257));
    GIVES(CKR_DATA_LEN_RANGE, C_VerifyFinal, card, block, 256);
    OK(p11->C_VerifyInit(card, &rsa_raw, public));
    GIVES(CKR_DATA_LEN_RANGE, C_VerifyUpdate, card, buffer, sizeof buffer);
    OK(p11->C_VerifyInit(card, &rsa_sha256, public));
    OK(p11->C_VerifyUpdate(card, block, 1));
    GIVES(CKR_OPERATION_ACTIVE, C_Verify, card, block, 1, block, 256);
}

static void generating(void) {
    CK_ATTRIBUTE local[] = {{CKA_EC_PARAMS, VALUE(p256)}, {CKA_LOCAL, VALUE(yes)}};
    CK_ATTRIBUTE foreign[] = {{CKA_EC_PARAMS, VALUE(p256)}, {CKA_APPLICATION, block, 1}};
    CK_ATTRIBUTE twice[] = {{CKA_EC_PARAMS, VALUE(p256)}, {CKA_LABEL, block, 1}, {CKA_LABEL, buffer, 2}};
    CK_ATTRIBUTE curve[] = {{CKA_EC_PARAMS, VALUE(secp256k1)}}, nonsense[] = {{CKA_EC_PARAMS, block, 9}};
    CK_ATTRIBUTE bad_label[] = {{CKA_LABEL, VALUE(utf8_never)}, kept[0]};
#define PAIR(code, session, mechanism, template, count, private_template, private_count) \
    GIVES(code, C_GenerateKeyPair, session, mechanism, template, count, private_template, private_count, &made, &other)
    GIVES(CKR_ARGUMENTS_BAD, C_GenerateKeyPair, chain, &ec_pair, named_curve, 1, NULL, 0, NULL, NULL);
    PAIR(CKR_ATTRIBUTE_READ_ONLY, chain, &ec_pair, local, 2, NULL, 0);
    PAIR(CKR_ATTRIBUTE_TYPE_INVALID, chain, &ec_pair, foreign, 2, NULL, 0);
    PAIR(CKR_ATTRIBUTE_VALUE_INVALID, chain, &ec_pair, named_curve, 1, bad_label, 2);
    PAIR(CKR_CURVE_NOT_SUPPORTED, chain, &ec_pair, curve, 1, NULL, 0);
    PAIR(CKR_DOMAIN_PARAMS_INVALID, chain, &ec_pair, nonsense, 1, NULL, 0);
    PAIR(CKR_MECHANISM_INVALID, chain, &aes, named_curve, 1, NULL, 0);
    PAIR(CKR_MECHANISM_PARAM_INVALID, chain, &ec_pair_with, named_curve, 1, NULL, 0);
    PAIR(CKR_SESSION_READ_ONLY, reader, &ec_pair, named_curve, 1, kept, 1);
    PAIR(CKR_TEMPLATE_INCOMPLETE, chain, &ec_pair, NULL, 0, NULL, 0);
    PAIR(CKR_TEMPLATE_INCONSISTENT, chain, &ec_pair, twice, 3, NULL, 0);
    PAIR(CKR_TOKEN_WRITE_PROTECTED, card, &ec_pair, named_curve, 1, kept, 1);
    PAIR(CKR_MECHANISM_INVALID, card, &ec_pair, named_curve, 1, NULL, 0);

    /* A read-only session of a keychain stores no unwrapped or derived key. */
    CK_ULONG bits = 2048;
    CK_ATTRIBUTE length[] = {{CKA_MODULUS_BITS, VALUE(bits)}};
    CK_MECHANISM rsa_pair = {CKM_RSA_PKCS_KEY_PAIR_GEN, NULL, 0};
    OK(p11->C_GenerateKeyPair(reader, &rsa_pair, length, 1, NULL, 0, &made, &other));
    GIVES(CKR_SESSION_READ_ONLY, C_UnwrapKey, reader, &rsa_pkcs, other, block, 256, kept, 1, &made);
    OK(p11->C_GenerateKeyPair(reader, &ec_pair, named_curve, 1, NULL, 0, &made, &other));
    GIVES(CKR_SESSION_READ_ONLY, C_DeriveKey, reader, &ecdh, other, kept, 1, &made);
}

static void generating_secrets(void) {
    CK_ULONG odd = 15;
    CK_ATTRIBUTE local[] = {aes_length[0], {CKA_LOCAL, VALUE(yes)}}, foreign[] = {aes_length[0], {CKA_MODULUS, block, 1}},
                 wrong[] = {{CKA_VALUE_LEN, VALUE(odd)}}, data[] = {aes_length[0], {CKA_CLASS, VALUE(data_class)}},
                 kept_key[] = {aes_length[0], kept[0]};
    GIVES(CKR_ARGUMENTS_BAD, C_GenerateKey, chain, &aes_key, aes_length, 1, NULL);
    GIVES(CKR_ATTRIBUTE_READ_ONLY, C_GenerateKey, chain, &aes_key, local, 2, &made);
    GIVES(CKR_ATTRIBUTE_TYPE_INVALID, C_GenerateKey, chain, &aes_key, foreign, 2, &made);
    GIVES(CKR_ATTRIBUTE_VALUE_INVALID, C_GenerateKey, chain, &aes_key, wrong, 1, &made);
    GIVES(CKR_MECHANISM_INVALID, C_GenerateKey, chain, &sha256, aes_length, 1, &made);
    GIVES(CKR_MECHANISM_INVALID, C_GenerateKey, card, &aes_key, aes_length, 1, &made);
    GIVES(CKR_MECHANISM_PARAM_INVALID, C_GenerateKey, chain, &aes_key_with, aes_length, 1, &made);
    GIVES(CKR_SESSION_READ_ONLY, C_GenerateKey, reader, &aes_key, kept_key, 2, &made);
    GIVES(CKR_TEMPLATE_INCOMPLETE, C_GenerateKey, chain, &aes_key, NULL, 0, &made);
    GIVES(CKR_TEMPLATE_INCONSISTENT, C_GenerateKey, chain, &aes_key, data, 2, &made);
    GIVES(CKR_TOKEN_WRITE_PROTECTED, C_GenerateKey, card, &aes_key, kept_key, 2, &made);

    /* The output of a part is returned with the part, if there is room. */
    CK_BYTE vector[16] = {0};
    CK_MECHANISM cbc = {CKM_AES_CBC, vector, sizeof vector};
    OK(p11->C_GenerateKey(chain, &aes_key, aes_length, 1, &made));
    OK(p11->C_EncryptInit(chain, &cbc, made));
    room = 15;
    GIVES(CKR_BUFFER_TOO_SMALL, C_EncryptUpdate, chain, block, 16, buffer, &room);
    HOLDS(room == 16);
    OK(p11->C_DecryptInit(chain, &cbc, made));
    room = 15;
    GIVES(CKR_BUFFER_TOO_SMALL, C_DecryptUpdate, chain, block, 16, buffer, &room);
    HOLDS(room == 16);
    OK(p30->C_SessionCancel(chain, CKF_ENCRYPT | CKF_DECRYPT));
}

/* A secret key of an invalid template, by C_UnwrapKey or C_DeriveKey. */
#define MAKING(function, mechanism, ...)                                                                          \
    do {                                                                                                          \
        CK_ATTRIBUTE local = {CKA_LOCAL, VALUE(yes)}, foreign = {CKA_MODULUS, block, 1},                          \
                     narrow = {CKA_SENSITIVE, block, 2}, data = {CKA_CLASS, VALUE(data_class)},                   \
                     on_token = {CKA_TOKEN, VALUE(yes)};                                                          \
        GIVES(CKR_ARGUMENTS_BAD, function, card, mechanism, __VA_ARGS__, NULL, 0, NULL);                          \
        GIVES(CKR_ATTRIBUTE_READ_ONLY, function, card, mechanism, __VA_ARGS__, &local, 1, &made);                 \
        GIVES(CKR_ATTRIBUTE_TYPE_INVALID, function, card, mechanism, __VA_ARGS__, &foreign, 1, &made);            \
        GIVES(CKR_ATTRIBUTE_VALUE_INVALID, function, card, mechanism, __VA_ARGS__, &narrow, 1, &made);            \
        GIVES(CKR_TEMPLATE_INCONSISTENT, function, card, mechanism, __VA_ARGS__, &data, 1, &made);                \
        GIVES(CKR_TOKEN_WRITE_PROTECTED, function, card, mechanism, __VA_ARGS__, &on_token, 1, &made);            \
        GIVES(CKR_MECHANISM_INVALID, function, card, &aes, __VA_ARGS__, NULL, 0, &made);                          \
    } while (0)

static void wrapping(void) {
    CK_OBJECT_HANDLE public = find(card, CKO_PUBLIC_KEY, 3), private = find(card, CKO_PRIVATE_KEY, 3);
    CK_OBJECT_HANDLE ec_public = find(card, CKO_PUBLIC_KEY, 4), ec_private = find(card, CKO_PRIVATE_KEY, 4);
    CK_ATTRIBUTE fixed[] = {{CKA_CLASS, VALUE(secret_class)}, {CKA_VALUE, block, 32}, {CKA_EXTRACTABLE, VALUE(no)}};
    CK_ATTRIBUTE vast[] = {{CKA_CLASS, VALUE(secret_class)}, {CKA_VALUE, buffer, 250}};
    CK_OBJECT_HANDLE key = create(card, secret_key, 2), large = create(card, vast, 2);
    room = sizeof buffer;
    GIVES(CKR_ARGUMENTS_BAD, C_WrapKey, card, &rsa_pkcs, public, key, buffer, NULL);
    GIVES(CKR_KEY_HANDLE_INVALID, C_WrapKey, card, &rsa_pkcs, public, 4711, buffer, &room);
    GIVES(CKR_KEY_NOT_WRAPPABLE, C_WrapKey, card, &rsa_pkcs, public, private, buffer, &room);
    GIVES(CKR_KEY_SIZE_RANGE, C_WrapKey, card, &rsa_pkcs, public, large, buffer, &room);
    GIVES(CKR_KEY_UNEXTRACTABLE, C_WrapKey, card, &rsa_pkcs, public, create(card, fixed, 3), buffer, &room);
    GIVES(CKR_MECHANISM_INVALID, C_WrapKey, card, &aes, public, key, buffer, &room);
    GIVES(CKR_MECHANISM_PARAM_INVALID, C_WrapKey, card, &rsa_pkcs_with, public, key, buffer, &room);
    GIVES(CKR_WRAPPING_KEY_HANDLE_INVALID, C_WrapKey, card, &rsa_pkcs, 4711, key, buffer, &room);
    GIVES(CKR_WRAPPING_KEY_TYPE_INCONSISTENT, C_WrapKey, card, &rsa_pkcs, ec_public, key, buffer, &room);
    GIVES(CKR_KEY_FUNCTION_NOT_PERMITTED, C_WrapKey, card, &rsa_pkcs, idle_key(), key, buffer, &room);
    room = 1;
    GIVES(CKR_BUFFER_TOO_SMALL, C_WrapKey, card, &rsa_pkcs, public, key, buffer, &room);

    MAKING(C_UnwrapKey, &rsa_pkcs, private, block, 256);
    GIVES(CKR_MECHANISM_PARAM_INVALID, C_UnwrapKey, card, &rsa_pkcs_with, private, block, 256, NULL, 0, &made);
    GIVES(CKR_UNWRAPPING_KEY_HANDLE_INVALID, C_UnwrapKey, card, &rsa_pkcs, 4711, block, 256, NULL, 0, &made);
    GIVES(CKR_UNWRAPPING_KEY_TYPE_INCONSISTENT, C_UnwrapKey, card, &rsa_pkcs, ec_private, block, 256, NULL, 0, &made);
    GIVES(CKR_WRAPPED_KEY_LEN_RANGE, C_UnwrapKey, card, &rsa_pkcs, private, block, 255, NULL, 0, &made);
    block[255] = 1;
    GIVES(CKR_WRAPPED_KEY_INVALID, C_UnwrapKey, card, &oaep, private, block, 256, NULL, 0, &made);
}

static void deriving(void) {
    CK_OBJECT_HANDLE key = find(card, CKO_PRIVATE_KEY, 4), rsa = find(card, CKO_PRIVATE_KEY, 1);
    CK_BYTE encoded[67];
    CK_ATTRIBUTE own = {CKA_EC_POINT, encoded, sizeof encoded};
    OK(p11->C_GetAttributeValue(card, find(card, CKO_PUBLIC_KEY, 4), &own, 1));
    MAKING(C_DeriveKey, &ecdh, key);
    GIVES(CKR_KEY_HANDLE_INVALID, C_DeriveKey, card, &ecdh, 4711, NULL, 0, &made);
    GIVES(CKR_KEY_TYPE_INCONSISTENT, C_DeriveKey, card, &ecdh, rsa, NULL, 0, &made);
    GIVES(CKR_MECHANISM_PARAM_INVALID, C_DeriveKey, card, &ecdh_without, key, NULL, 0, &made);
    /* A point that is on no curve. */
    memset(point, 4, sizeof point);
    GIVES(CKR_MECHANISM_PARAM_INVALID, C_DeriveKey, card, &ecdh, key, NULL, 0, &made);
    memcpy(point, encoded + 2, sizeof point);
    OK(p11->C_DeriveKey(card, &ecdh, key, NULL, 0, &made));

    GIVES(CKR_ARGUMENTS_BAD, C_SeedRandom, card, NULL, 1);
    GIVES(CKR_RANDOM_SEED_NOT_SUPPORTED, C_SeedRandom, card, block, 1);
    GIVES(CKR_ARGUMENTS_BAD, C_GenerateRandom, card, NULL, 1);
}

/* Operations with private keys of the card, begun in two sessions. */
static CK_SESSION_HANDLE parts;
static CK_OBJECT_HANDLE signer, opener, agreer;

static void begin_on_card(void) {
    OK(p30->C_SessionCancel(parts, CKF_SIGN | CKF_DECRYPT));
    OK(p11->C_SignInit(card, &rsa_pkcs, signer));
    OK(p11->C_DecryptInit(card, &rsa_pkcs, opener));
    OK(p11->C_SignInit(parts, &rsa_sha256, signer));
    OK(p11->C_SignUpdate(parts, block, 1));
    OK(p11->C_DecryptInit(parts, &rsa_pkcs, opener));
    OK(p11->C_DecryptUpdate(parts, block, 256, buffer, &room));
    room = sizeof buffer;
}

#define EACH_ON_CARD(code)                                                                          \
    do {                                                                                            \
        GIVES(code, C_UnwrapKey, card, &rsa_pkcs, opener, block, 256, NULL, 0, &made);              \
        room = sizeof buffer;                                                                       \
        GIVES(code, C_Sign, card, block, 1, buffer, &room);                                         \
        GIVES(code, C_SignFinal, parts, buffer, &room);                                             \
        GIVES(code, C_Decrypt, card, block, 256, buffer, &room);                                    \
        GIVES(code, C_DecryptFinal, parts, buffer, &room);                                          \
        GIVES(code, C_DeriveKey, card, &ecdh, agreer, NULL, 0, &made);                              \
    } while (0)

static void find_keys(void) {
    signer = find(card, CKO_PRIVATE_KEY, 1), opener = find(card, CKO_PRIVATE_KEY, 3);
    agreer = find(card, CKO_PRIVATE_KEY, 4);
}

static void failing_card(void) {
    OK(p11->C_OpenSession(card_slot, CKF_SERIAL_SESSION | CKF_RW_SESSION, NULL, NULL, &parts));
    find_keys();
    CK_OBJECT_HANDLE object = create(card, secret_key, 2), data = 0;
    CK_BYTE name[] = "Card Holder Unique Identifier";
    CK_ATTRIBUTE chuid[] = {{CKA_LABEL, name, sizeof name - 1}}, value = {CKA_VALUE, buffer, sizeof buffer};
    OK(p11->C_FindObjectsInit(card, NULL, 0));
    OK(p11->C_FindObjectsFinal(card));
    OK(p11->C_FindObjectsInit(card, chuid, 1));
    OK(p11->C_FindObjects(card, &data, 1, &number));
    OK(p11->C_FindObjectsFinal(card));
    HOLDS(number == 1);

    begin_on_card();
    have("refuse");
    GIVES(CKR_FUNCTION_REJECTED, C_Sign, card, block, 1, buffer, &room);
    GIVES(CKR_FUNCTION_REJECTED, C_SignFinal, parts, buffer, &room);
    have("heal");
    begin_on_card();
    have("fail");
    EACH_ON_CARD(CKR_DEVICE_ERROR);
    GIVES(CKR_DEVICE_ERROR, C_GetAttributeValue, card, data, &value, 1);
    GIVES(CKR_DEVICE_ERROR, C_SetPIN, card, pin, 6, pin, 6);
    OK(p11->C_Logout(card));
    GIVES(CKR_DEVICE_ERROR, C_Login, card, CKU_USER, pin, 6);
    GIVES_3_0(CKR_DEVICE_ERROR, C_LoginUser, card, CKU_USER, pin, 6, NULL, 0);
    have("heal");

    OK(p11->C_Login(card, CKU_USER, pin, 6));
    find_keys();
    begin_on_card();
    have("remove");
    EACH_ON_CARD(CKR_DEVICE_REMOVED);
    value.ulValueLen = sizeof buffer;
    GIVES(CKR_DEVICE_REMOVED, C_GetAttributeValue, card, data, &value, 1);
    GIVES(CKR_DEVICE_REMOVED, C_Login, card, CKU_USER, pin, 6);
    GIVES_3_0(CKR_DEVICE_REMOVED, C_LoginUser, card, CKU_USER, pin, 6, NULL, 0);
    GIVES(CKR_DEVICE_REMOVED, C_SetPIN, card, pin, 6, pin, 6);
    GIVES(CKR_DEVICE_REMOVED, C_CreateObject, card, secret_key, 2, &made);
    GIVES(CKR_DEVICE_REMOVED, C_CopyObject, card, object, NULL, 0, &made);
    GIVES(CKR_DEVICE_REMOVED, C_GenerateKey, card, &aes_key, aes_length, 1, &made);
    GIVES(CKR_DEVICE_REMOVED, C_GenerateKeyPair, card, &ec_pair, named_curve, 1, NULL, 0, &made, &other);
    GIVES(CKR_DEVICE_REMOVED, C_FindObjectsInit, card, NULL, 0);
    CK_TOKEN_INFO info;
    CK_MECHANISM_INFO mechanism_info;
    GIVES(CKR_TOKEN_NOT_PRESENT, C_GetTokenInfo, card_slot, &info);
    GIVES(CKR_TOKEN_NOT_PRESENT, C_GetMechanismList, card_slot, NULL, &number);
    GIVES(CKR_TOKEN_NOT_PRESENT, C_GetMechanismInfo, card_slot, CKM_ECDSA, &mechanism_info);
    GIVES(CKR_TOKEN_NOT_PRESENT, C_OpenSession, card_slot, CKF_SERIAL_SESSION, NULL, NULL, &number);
    have("insert");

    /* The last try is kept. */
    GIVES(CKR_PIN_INCORRECT, C_Login, card, CKU_USER, (CK_UTF8CHAR *)"111111", 6);
    GIVES_3_0(CKR_PIN_INCORRECT, C_LoginUser, card, CKU_USER, (CK_UTF8CHAR *)"222222", 6, NULL, 0);
    while (p11->C_Login(card, CKU_USER, (CK_UTF8CHAR *)"333333", 6) == CKR_PIN_INCORRECT)
        if (p11->C_Login(card, CKU_USER, (CK_UTF8CHAR *)"444444", 6) != CKR_PIN_INCORRECT) break;
    GIVES(CKR_PIN_LOCKED, C_Login, card, CKU_USER, (CK_UTF8CHAR *)"555555", 6);
    GIVES_3_0(CKR_PIN_LOCKED, C_LoginUser, card, CKU_USER, (CK_UTF8CHAR *)"555555", 6, NULL, 0);
    GIVES(CKR_PIN_LOCKED, C_SetPIN, card, (CK_UTF8CHAR *)"555555", 6, pin, 6);
}

/* The module asks for the PIN by itself, and the person will not give it. */
static void unwilling_person(void) {
    OK(p11->C_Initialize(NULL));
    card_slot = first_slot();
    OK(p11->C_OpenSession(card_slot, CKF_SERIAL_SESSION | CKF_RW_SESSION, NULL, NULL, &card));
    OK(p11->C_OpenSession(card_slot, CKF_SERIAL_SESSION | CKF_RW_SESSION, NULL, NULL, &parts));
    signer = find(card, CKO_PRIVATE_KEY, 1), opener = find(card, CKO_PRIVATE_KEY, 3);
    begin_on_card();
    GIVES(CKR_FUNCTION_CANCELED, C_Login, card, CKU_USER, NULL, 0);
    GIVES_3_0(CKR_FUNCTION_CANCELED, C_LoginUser, card, CKU_USER, NULL, 0, NULL, 0);
    CK_BYTE encoded[67];
    CK_ATTRIBUTE peer = {CKA_EC_POINT, VALUE(encoded)};
    OK(p11->C_GetAttributeValue(card, find(card, CKO_PUBLIC_KEY, 4), &peer, 1));
    memcpy(point, encoded + 2, sizeof point);
    GIVES(CKR_FUNCTION_CANCELED, C_DeriveKey, card, &ecdh, find(card, CKO_PRIVATE_KEY, 5), NULL, 0, &made);
    GIVES(CKR_FUNCTION_CANCELED, C_UnwrapKey, card, &rsa_pkcs, opener, block, 256, NULL, 0, &made);
    room = sizeof buffer;
    GIVES(CKR_FUNCTION_CANCELED, C_Sign, card, block, 1, buffer, &room);
    GIVES(CKR_FUNCTION_CANCELED, C_SignFinal, parts, buffer, &room);
    GIVES(CKR_FUNCTION_CANCELED, C_Decrypt, card, block, 256, buffer, &room);
    GIVES(CKR_FUNCTION_CANCELED, C_DecryptFinal, parts, buffer, &room);
}

int main(int count, char **arguments) {
    HOLDS(count == 3);
    void *library = load(arguments[1]);
    block[255] = 1;
    if (strcmp(arguments[2], "unwilling") == 0) {
        CK_C_GetInterface get = (CK_C_GetInterface)dlsym(library, "C_GetInterface");
        CK_INTERFACE *interface = NULL;
        OK(get(NULL, NULL, &interface, 0));
        p30 = interface->pFunctionList;
        unwilling_person();
    } else {
        before_and_at_the_beginning(library);
        slots();
        sessions();
        locked_keychain();
        creating();
        objects();
        encrypting();
        decrypting();
        digesting();
        signing();
        verifying();
        generating();
        generating_secrets();
        wrapping();
        deriving();
        failing_card();
    }
    OK(p11->C_Finalize(NULL));
    return failures != 0;
}
