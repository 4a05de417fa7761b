/* Arguments that no program should give: each has its return value, and none ends the program. */
#include "module.h"

/* The memory of this process that is in use: statm of proc(5). */
static long resident_kilobytes(void) {
    long total = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    HOLDS(file != NULL && fscanf(file, "%ld %ld", &total, &resident) == 2);
    fclose(file);
    return resident * (sysconf(_SC_PAGESIZE) >> 10);
}

int main(int count, char **arguments) {
    HOLDS(count == 2);
    load(arguments[1]);
    MUST(CKR_OK, p11->C_Initialize(NULL));
    CK_SLOT_ID slot = first_slot();
    CK_SESSION_HANDLE session = open_session();
    CK_BYTE buffer[512] = {0};
    CK_ULONG length = sizeof buffer, huge = ~0UL;
    CK_OBJECT_HANDLE object = 0;

    MUST(CKR_ARGUMENTS_BAD, p11->C_GetSlotList(CK_TRUE, NULL, NULL));
    MUST(CKR_ARGUMENTS_BAD, p11->C_GetSlotInfo(slot, NULL));
    MUST(CKR_ARGUMENTS_BAD, p11->C_GetTokenInfo(slot, NULL));
    MUST(CKR_ARGUMENTS_BAD, p11->C_GetMechanismList(slot, NULL, NULL));
    MUST(CKR_ARGUMENTS_BAD, p11->C_GetMechanismInfo(slot, CKM_ECDSA, NULL));
    MUST(CKR_ARGUMENTS_BAD, p11->C_OpenSession(slot, CKF_SERIAL_SESSION, NULL, NULL, NULL));
    MUST(CKR_ARGUMENTS_BAD, p11->C_GetSessionInfo(session, NULL));
    MUST(CKR_ARGUMENTS_BAD, p11->C_WaitForSlotEvent(CKF_DONT_BLOCK, NULL, NULL));
    MUST(CKR_ARGUMENTS_BAD, p11->C_WaitForSlotEvent(CKF_DONT_BLOCK, &slot, &slot));
    MUST(CKR_ARGUMENTS_BAD, p11->C_Login(session, CKU_USER, NULL, 6));
    MUST(CKR_ARGUMENTS_BAD, p11->C_Login(session, CKU_USER, pin, huge));
    MUST(CKR_PIN_LEN_RANGE, p11->C_Login(session, CKU_USER, pin, 0));
    MUST(CKR_ARGUMENTS_BAD, p11->C_SetPIN(session, NULL, 0, NULL, 0));
    MUST(CKR_BUFFER_TOO_SMALL, (length = 0, p11->C_GetMechanismList(slot, (CK_MECHANISM_TYPE *)buffer, &length)));
    HOLDS(length > 10);

    MUST(CKR_ARGUMENTS_BAD, p11->C_FindObjectsInit(session, NULL, 1));
    CK_ATTRIBUTE bad = {CKA_LABEL, NULL, 5}, vast = {CKA_LABEL, buffer, huge};
    MUST(CKR_ATTRIBUTE_VALUE_INVALID, p11->C_FindObjectsInit(session, &bad, 1));
    MUST(CKR_ATTRIBUTE_VALUE_INVALID, p11->C_FindObjectsInit(session, &vast, 1));
    MUST(CKR_ARGUMENTS_BAD, p11->C_FindObjectsInit(session, &bad, huge));
    /* Values that are short enough each, and together more than a message holds; and more secrets than one call of the kernel sends. */
    static CK_BYTE much[1 << 24];
    static CK_ATTRIBUTE many[2000];
    for (int index = 0; index < 2000; index++) many[index] = (CK_ATTRIBUTE){CKA_LABEL, much, sizeof much};
    MUST(CKR_HOST_MEMORY, p11->C_FindObjectsInit(session, many, 2000));
    HOLDS(resident_kilobytes() < 200 << 10);
    for (int index = 0; index < 2000; index++) many[index] = (CK_ATTRIBUTE){CKA_PRIME_1, buffer, 16};
    MUST(CKR_OK, p11->C_FindObjectsInit(session, many, 2000));
    MUST(CKR_OK, p11->C_FindObjectsFinal(session));
    MUST(CKR_OK, p11->C_FindObjectsInit(session, NULL, 0));
    MUST(CKR_ARGUMENTS_BAD, p11->C_FindObjects(session, NULL, 5, &length));
    MUST(CKR_ARGUMENTS_BAD, p11->C_FindObjects(session, &object, 1, NULL));
    MUST(CKR_OK, p11->C_FindObjectsFinal(session));

    CK_OBJECT_HANDLE certificate = find(session, CKO_CERTIFICATE, 1);
    MUST(CKR_ARGUMENTS_BAD, p11->C_GetAttributeValue(session, certificate, NULL, 1));
    CK_ATTRIBUTE mixed[] = {
        {CKA_LABEL, buffer, 512}, {CKA_MODULUS, buffer, 512}, {CKA_VALUE, buffer, 1}, {CKA_ID, buffer, 512},
        {CKA_SUBJECT, NULL, 0}};
    MUST(CKR_ATTRIBUTE_TYPE_INVALID, p11->C_GetAttributeValue(session, certificate, mixed, 5));
    HOLDS(mixed[0].ulValueLen == 18 && mixed[1].ulValueLen == huge && mixed[2].ulValueLen == huge);
    HOLDS(mixed[3].ulValueLen == 1 && buffer[0] == 1 && mixed[4].ulValueLen > 0);
    CK_ATTRIBUTE small = {CKA_VALUE, buffer, 1};
    MUST(CKR_BUFFER_TOO_SMALL, p11->C_GetAttributeValue(session, certificate, &small, 1));
    MUST(CKR_OBJECT_HANDLE_INVALID, p11->C_GetAttributeValue(session, 0, mixed, 1));
    MUST(CKR_ARGUMENTS_BAD, p11->C_GetObjectSize(session, certificate, NULL));
    MUST(CKR_ACTION_PROHIBITED, p11->C_CopyObject(session, certificate, NULL, 0, &object));
    MUST(CKR_ARGUMENTS_BAD, p11->C_CreateObject(session, NULL, 0, NULL));

    MUST(CKR_OK, p11->C_Login(session, CKU_USER, pin, 6));
    CK_OBJECT_HANDLE key = find(session, CKO_PRIVATE_KEY, 1);
    CK_MECHANISM ecdsa = {CKM_ECDSA, NULL, 0}, loose = {CKM_ECDSA, NULL, 5};
    CK_MECHANISM wide = {CKM_RSA_PKCS_PSS, buffer, huge}, narrow = {CKM_RSA_PKCS_PSS, buffer, 1};
    CK_ECDH1_DERIVE_PARAMS parameters = {CKD_NULL, 0, NULL, huge, buffer};
    CK_MECHANISM derive = {CKM_ECDH1_DERIVE, &parameters, sizeof parameters};
    /* This parameter is not as long as the mechanism's structure, and its pointers are invalid. */
    CK_ULONG words[] = {CKD_NULL, 8, 8, 8, 8, 8};
    CK_MECHANISM long_derive = {CKM_ECDH1_DERIVE, words, sizeof words};
    MUST(CKR_ARGUMENTS_BAD, p11->C_SignInit(session, NULL, key));
    MUST(CKR_MECHANISM_PARAM_INVALID, p11->C_SignInit(session, &loose, key));
    MUST(CKR_MECHANISM_PARAM_INVALID, p11->C_SignInit(session, &wide, key));
    MUST(CKR_MECHANISM_PARAM_INVALID, p11->C_SignInit(session, &narrow, key));
    MUST(CKR_MECHANISM_PARAM_INVALID, p11->C_DeriveKey(session, &derive, key, NULL, 0, &object));
    MUST(CKR_MECHANISM_PARAM_INVALID, p11->C_DeriveKey(session, &long_derive, key, NULL, 0, &object));
    MUST(CKR_OK, p11->C_SignInit(session, &ecdsa, key));
    MUST(CKR_ARGUMENTS_BAD, p11->C_Sign(session, buffer, 32, buffer, NULL));
    MUST(CKR_OK, p11->C_SignInit(session, &ecdsa, key));
    MUST(CKR_OK, p11->C_Sign(session, buffer, 32, NULL, &length));
    HOLDS(length == 64);
    length = 63;
    MUST(CKR_BUFFER_TOO_SMALL, p11->C_Sign(session, buffer, 32, buffer, &length));
    HOLDS(length == 64);
    MUST(CKR_ARGUMENTS_BAD, p11->C_Sign(session, NULL, 32, buffer, &length));
    MUST(CKR_OK, p11->C_SignInit(session, &ecdsa, key));
    MUST(CKR_ARGUMENTS_BAD, p11->C_Sign(session, buffer, huge, buffer, &length));
    MUST(CKR_OK, p11->C_SignInit(session, &ecdsa, key));
    MUST(CKR_OK, p11->C_Sign(session, buffer, 32, buffer, &length));
    MUST(CKR_OPERATION_NOT_INITIALIZED, p11->C_Sign(session, buffer, 32, buffer, &length));

    MUST(CKR_RANDOM_SEED_NOT_SUPPORTED, p11->C_SeedRandom(session, buffer, 1));
    MUST(CKR_ARGUMENTS_BAD, p11->C_GenerateRandom(session, NULL, 1));
    MUST(CKR_ARGUMENTS_BAD, p11->C_GenerateRandom(session, buffer, huge));
    MUST(CKR_OK, p11->C_GenerateRandom(session, buffer, 0));
    MUST(CKR_OK, p11->C_GenerateRandom(session, buffer, 512));
    /* Programs accept any answer to C_SeedRandom, and draw random bytes after it. */
    MUST(CKR_OK, p11->C_GenerateRandom(session, buffer, 32));
    MUST(CKR_OK, p11->C_GenerateRandom(session, buffer + 32, 32));
    HOLDS(memcmp(buffer, buffer + 32, 32) != 0);
    /* An operation goes on after C_GetOperationState has failed. */
    MUST(CKR_OK, p11->C_SignInit(session, &ecdsa, find(session, CKO_PRIVATE_KEY, 1)));
    CK_ULONG state_length = 0;
    MUST(CKR_FUNCTION_NOT_SUPPORTED, p11->C_GetOperationState(session, NULL, &state_length));
    length = 64;
    MUST(CKR_OK, p11->C_Sign(session, buffer, 32, buffer, &length));
    MUST(CKR_FUNCTION_NOT_PARALLEL, p11->C_GetFunctionStatus(session));
    MUST(CKR_FUNCTION_NOT_PARALLEL, p11->C_CancelFunction(session));
    MUST(CKR_OK, p11->C_CloseAllSessions(slot));
    MUST(CKR_SESSION_HANDLE_INVALID, p11->C_CloseSession(session));
    MUST(CKR_OK, p11->C_Finalize(NULL));
    return 0;
}
