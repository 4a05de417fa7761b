/*
 * The function lists of the module, initialised statically in C, so that no entry is ever missing: a program calls through them
 * without a check.
 *
 * Functions that the module does not offer return CKR_FUNCTION_NOT_SUPPORTED (PKCS #11 3.0, section 5.1).
 */
#define _GNU_SOURCE
#include "functionlist.h"

#include <ccryptoki.h>
#include <dlfcn.h>
#include <string.h>

#define EXPORTED __attribute__((visibility("default")))

static CK_RV initToken(CK_SLOT_ID slot, CK_BYTE *pin, CK_ULONG length, CK_BYTE *label) {
    return CKR_FUNCTION_NOT_SUPPORTED;
}

static CK_RV getOperationState(CK_SESSION_HANDLE session, CK_BYTE *state, CK_ULONG *length) {
    return CKR_FUNCTION_NOT_SUPPORTED;
}

static CK_RV setOperationState(
    CK_SESSION_HANDLE session, CK_BYTE *state, CK_ULONG length, CK_OBJECT_HANDLE encryption,
    CK_OBJECT_HANDLE authentication) {
    return CKR_FUNCTION_NOT_SUPPORTED;
}

static CK_RV recoverInit(CK_SESSION_HANDLE session, CK_MECHANISM *mechanism, CK_OBJECT_HANDLE key) {
    return CKR_FUNCTION_NOT_SUPPORTED;
}

/* Two operations at once, and recovery: bytes in, bytes out. */
static CK_RV cipherUpdate(
    CK_SESSION_HANDLE session, CK_BYTE *input, CK_ULONG length, CK_BYTE *output, CK_ULONG *outputLength) {
    return CKR_FUNCTION_NOT_SUPPORTED;
}

static CK_RV messageInit(CK_SESSION_HANDLE session, CK_MECHANISM *mechanism, CK_OBJECT_HANDLE key) {
    return CKR_FUNCTION_NOT_SUPPORTED;
}

static CK_RV messageFinal(CK_SESSION_HANDLE session) { return CKR_FUNCTION_NOT_SUPPORTED; }

static CK_RV messageBegin(CK_SESSION_HANDLE session, void *parameter, CK_ULONG length) {
    return CKR_FUNCTION_NOT_SUPPORTED;
}

static CK_RV cipherMessage(
    CK_SESSION_HANDLE session, void *parameter, CK_ULONG parameterLength, CK_BYTE *associated, CK_ULONG associatedLength,
    CK_BYTE *input, CK_ULONG inputLength, CK_BYTE *output, CK_ULONG *outputLength) {
    return CKR_FUNCTION_NOT_SUPPORTED;
}

static CK_RV cipherMessageBegin(
    CK_SESSION_HANDLE session, void *parameter, CK_ULONG parameterLength, CK_BYTE *associated,
    CK_ULONG associatedLength) {
    return CKR_FUNCTION_NOT_SUPPORTED;
}

static CK_RV cipherMessageNext(
    CK_SESSION_HANDLE session, void *parameter, CK_ULONG parameterLength, CK_BYTE *input, CK_ULONG inputLength,
    CK_BYTE *output, CK_ULONG *outputLength, CK_FLAGS flags) {
    return CKR_FUNCTION_NOT_SUPPORTED;
}

static CK_RV signMessage(
    CK_SESSION_HANDLE session, void *parameter, CK_ULONG parameterLength, CK_BYTE *data, CK_ULONG dataLength,
    CK_BYTE *signature, CK_ULONG *signatureLength) {
    return CKR_FUNCTION_NOT_SUPPORTED;
}

static CK_RV verifyMessage(
    CK_SESSION_HANDLE session, void *parameter, CK_ULONG parameterLength, CK_BYTE *data, CK_ULONG dataLength,
    CK_BYTE *signature, CK_ULONG signatureLength) {
    return CKR_FUNCTION_NOT_SUPPORTED;
}

/* clang-format off */
#define FUNCTIONS \
    .C_Initialize = C_Initialize, \
    .C_Finalize = C_Finalize, \
    .C_GetInfo = C_GetInfo, \
    .C_GetFunctionList = C_GetFunctionList, \
    .C_GetSlotList = C_GetSlotList, \
    .C_GetSlotInfo = C_GetSlotInfo, \
    .C_GetTokenInfo = C_GetTokenInfo, \
    .C_GetMechanismList = C_GetMechanismList, \
    .C_GetMechanismInfo = C_GetMechanismInfo, \
    .C_InitToken = initToken, \
    .C_InitPIN = C_InitPIN, \
    .C_SetPIN = C_SetPIN, \
    .C_OpenSession = C_OpenSession, \
    .C_CloseSession = C_CloseSession, \
    .C_CloseAllSessions = C_CloseAllSessions, \
    .C_GetSessionInfo = C_GetSessionInfo, \
    .C_GetOperationState = getOperationState, \
    .C_SetOperationState = setOperationState, \
    .C_Login = C_Login, \
    .C_Logout = C_Logout, \
    .C_CreateObject = C_CreateObject, \
    .C_CopyObject = C_CopyObject, \
    .C_DestroyObject = C_DestroyObject, \
    .C_GetObjectSize = C_GetObjectSize, \
    .C_GetAttributeValue = C_GetAttributeValue, \
    .C_SetAttributeValue = C_SetAttributeValue, \
    .C_FindObjectsInit = C_FindObjectsInit, \
    .C_FindObjects = C_FindObjects, \
    .C_FindObjectsFinal = C_FindObjectsFinal, \
    .C_EncryptInit = C_EncryptInit, \
    .C_Encrypt = C_Encrypt, \
    .C_EncryptUpdate = C_EncryptUpdate, \
    .C_EncryptFinal = C_EncryptFinal, \
    .C_DecryptInit = C_DecryptInit, \
    .C_Decrypt = C_Decrypt, \
    .C_DecryptUpdate = C_DecryptUpdate, \
    .C_DecryptFinal = C_DecryptFinal, \
    .C_DigestInit = C_DigestInit, \
    .C_Digest = C_Digest, \
    .C_DigestUpdate = C_DigestUpdate, \
    .C_DigestKey = C_DigestKey, \
    .C_DigestFinal = C_DigestFinal, \
    .C_SignInit = C_SignInit, \
    .C_Sign = C_Sign, \
    .C_SignUpdate = C_SignUpdate, \
    .C_SignFinal = C_SignFinal, \
    .C_SignRecoverInit = recoverInit, \
    .C_SignRecover = cipherUpdate, \
    .C_VerifyInit = C_VerifyInit, \
    .C_Verify = C_Verify, \
    .C_VerifyUpdate = C_VerifyUpdate, \
    .C_VerifyFinal = C_VerifyFinal, \
    .C_VerifyRecoverInit = recoverInit, \
    .C_VerifyRecover = cipherUpdate, \
    .C_DigestEncryptUpdate = cipherUpdate, \
    .C_DecryptDigestUpdate = cipherUpdate, \
    .C_SignEncryptUpdate = cipherUpdate, \
    .C_DecryptVerifyUpdate = cipherUpdate, \
    .C_GenerateKey = C_GenerateKey, \
    .C_GenerateKeyPair = C_GenerateKeyPair, \
    .C_WrapKey = C_WrapKey, \
    .C_UnwrapKey = C_UnwrapKey, \
    .C_DeriveKey = C_DeriveKey, \
    .C_SeedRandom = C_SeedRandom, \
    .C_GenerateRandom = C_GenerateRandom, \
    .C_GetFunctionStatus = C_GetFunctionStatus, \
    .C_CancelFunction = C_CancelFunction, \
    .C_WaitForSlotEvent = C_WaitForSlotEvent
/* clang-format on */

static CK_FUNCTION_LIST functions = {.version = {2, 40}, FUNCTIONS};

static CK_FUNCTION_LIST_3_0 functions_3_0 = {
    .version = {3, 0},
    FUNCTIONS,
    .C_GetInterfaceList = C_GetInterfaceList,
    .C_GetInterface = C_GetInterface,
    .C_LoginUser = C_LoginUser,
    .C_SessionCancel = C_SessionCancel,
    .C_MessageEncryptInit = messageInit,
    .C_EncryptMessage = cipherMessage,
    .C_EncryptMessageBegin = cipherMessageBegin,
    .C_EncryptMessageNext = cipherMessageNext,
    .C_MessageEncryptFinal = messageFinal,
    .C_MessageDecryptInit = messageInit,
    .C_DecryptMessage = cipherMessage,
    .C_DecryptMessageBegin = cipherMessageBegin,
    .C_DecryptMessageNext = cipherMessageNext,
    .C_MessageDecryptFinal = messageFinal,
    .C_MessageSignInit = messageInit,
    .C_SignMessage = signMessage,
    .C_SignMessageBegin = messageBegin,
    .C_SignMessageNext = signMessage,
    .C_MessageSignFinal = messageFinal,
    .C_MessageVerifyInit = messageInit,
    .C_VerifyMessage = verifyMessage,
    .C_VerifyMessageBegin = messageBegin,
    .C_VerifyMessageNext = verifyMessage,
    .C_MessageVerifyFinal = messageFinal,
};

static CK_UTF8CHAR interface_name[] = "PKCS 11";

/* The first is the default, for a program that asks for no name and no version. */
static CK_INTERFACE interfaces[] = {
    {interface_name, &functions_3_0, 0},
    {interface_name, &functions, 0},
};

enum { interface_count = sizeof interfaces / sizeof *interfaces };

EXPORTED CK_RV C_GetFunctionList(CK_FUNCTION_LIST **list) {
    if (list == NULL) return CKR_ARGUMENTS_BAD;
    *list = &functions;
    return CKR_OK;
}

EXPORTED CK_RV C_GetInterfaceList(CK_INTERFACE *list, CK_ULONG *count) {
    if (count == NULL) return CKR_ARGUMENTS_BAD;
    CK_ULONG room = *count;
    *count = interface_count;
    if (list == NULL) return CKR_OK;
    if (room < interface_count) return CKR_BUFFER_TOO_SMALL;
    memcpy(list, interfaces, sizeof interfaces);
    return CKR_OK;
}

EXPORTED CK_RV C_GetInterface(CK_UTF8CHAR *name, CK_VERSION *version, CK_INTERFACE **interface, CK_FLAGS flags) {
    if (interface == NULL) return CKR_ARGUMENTS_BAD;
    for (int index = 0; index < interface_count; index++) {
        CK_INTERFACE *candidate = &interfaces[index];
        /* Every function list begins with its version. */
        const CK_VERSION *offered = candidate->pFunctionList;
        if (name != NULL && strcmp((const char *)name, (const char *)interface_name) != 0) continue;
        if (version != NULL && (version->major != offered->major || version->minor != offered->minor)) continue;
        if ((flags & candidate->flags) != flags) continue;
        *interface = candidate;
        return CKR_OK;
    }
    return CKR_ARGUMENTS_BAD;
}

const char *tokenkit_module_path(void) {
    Dl_info information;
    return dladdr(&functions, &information) != 0 ? information.dli_fname : NULL;
}
