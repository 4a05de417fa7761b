/* The function lists: no entry is NULL, functions that are not offered say so, and none works before C_Initialize. */
#include "module.h"

static void no_entry_is_null(const void *list, size_t size) {
    /* The version comes first, then one pointer after the other. */
    void *const *entries = (void *const *)((const char *)list + sizeof(void *));
    for (size_t index = 0; index < size / sizeof(void *) - 1; index++) HOLDS(entries[index] != NULL);
}

int main(int count, char **arguments) {
    HOLDS(count == 2);
    void *library = load(arguments[1]);
    HOLDS(p11->version.major == 2 && p11->version.minor == 40);
    no_entry_is_null(p11, sizeof *p11);

    CK_C_GetInterface get = (CK_C_GetInterface)dlsym(library, "C_GetInterface");
    CK_C_GetInterfaceList get_all = (CK_C_GetInterfaceList)dlsym(library, "C_GetInterfaceList");
    CK_INTERFACE *interface = NULL, all[4];
    CK_VERSION three = {3, 0}, two = {2, 40}, nine = {9, 9};
    CK_UTF8CHAR name[] = "PKCS 11", other[] = "Vendor";
    MUST(CKR_OK, get(NULL, NULL, &interface, 0));
    CK_FUNCTION_LIST_3_0 *list = interface->pFunctionList;
    HOLDS(list->version.major == 3 && list->version.minor == 0);
    no_entry_is_null(list, sizeof *list);
    MUST(CKR_OK, get(name, &three, &interface, 0));
    HOLDS(interface->pFunctionList == list);
    MUST(CKR_OK, get(name, &two, &interface, 0));
    HOLDS(interface->pFunctionList == p11);
    MUST(CKR_ARGUMENTS_BAD, get(name, &nine, &interface, 0));
    MUST(CKR_ARGUMENTS_BAD, get(other, NULL, &interface, 0));
    MUST(CKR_ARGUMENTS_BAD, get(NULL, NULL, &interface, CKF_INTERFACE_FORK_SAFE));
    MUST(CKR_ARGUMENTS_BAD, get(NULL, NULL, NULL, 0));
    CK_ULONG room = 0;
    MUST(CKR_OK, get_all(NULL, &room));
    HOLDS(room == 2);
    room = 1;
    MUST(CKR_BUFFER_TOO_SMALL, get_all(all, &room));
    room = 4;
    MUST(CKR_OK, get_all(all, &room));
    HOLDS(room == 2 && all[0].pFunctionList == list && all[1].pFunctionList == p11);
    MUST(CKR_ARGUMENTS_BAD, get_all(all, NULL));
    MUST(CKR_ARGUMENTS_BAD, p11->C_GetFunctionList(NULL));

    /* Nothing but the lists works before the module is initialised. */
    CK_ULONG number = 0;
    MUST(CKR_CRYPTOKI_NOT_INITIALIZED, p11->C_Finalize(NULL));
    MUST(CKR_CRYPTOKI_NOT_INITIALIZED, p11->C_GetInfo(NULL));
    MUST(CKR_CRYPTOKI_NOT_INITIALIZED, p11->C_GetSlotList(CK_TRUE, NULL, &number));
    MUST(CKR_CRYPTOKI_NOT_INITIALIZED, p11->C_OpenSession(1, CKF_SERIAL_SESSION, NULL, NULL, &number));
    MUST(CKR_CRYPTOKI_NOT_INITIALIZED, p11->C_Login(1, CKU_USER, pin, 6));
    MUST(CKR_CRYPTOKI_NOT_INITIALIZED, p11->C_InitPIN(1, pin, 6));
    MUST(CKR_CRYPTOKI_NOT_INITIALIZED, p11->C_WaitForSlotEvent(0, &number, NULL));
    MUST(CKR_CRYPTOKI_NOT_INITIALIZED, p11->C_GetFunctionStatus(1));

    MUST(CKR_FUNCTION_NOT_SUPPORTED, p11->C_InitToken(1, pin, 6, pin));
    MUST(CKR_FUNCTION_NOT_SUPPORTED, p11->C_GetOperationState(1, NULL, &number));
    MUST(CKR_FUNCTION_NOT_SUPPORTED, p11->C_SetOperationState(1, pin, 6, 0, 0));
    MUST(CKR_FUNCTION_NOT_SUPPORTED, p11->C_SignRecoverInit(1, NULL, 1));
    MUST(CKR_FUNCTION_NOT_SUPPORTED, p11->C_SignRecover(1, pin, 6, NULL, &number));
    MUST(CKR_FUNCTION_NOT_SUPPORTED, p11->C_VerifyRecoverInit(1, NULL, 1));
    MUST(CKR_FUNCTION_NOT_SUPPORTED, p11->C_VerifyRecover(1, pin, 6, NULL, &number));
    MUST(CKR_FUNCTION_NOT_SUPPORTED, p11->C_DigestEncryptUpdate(1, pin, 6, NULL, &number));
    MUST(CKR_FUNCTION_NOT_SUPPORTED, p11->C_DecryptDigestUpdate(1, pin, 6, NULL, &number));
    MUST(CKR_FUNCTION_NOT_SUPPORTED, p11->C_SignEncryptUpdate(1, pin, 6, NULL, &number));
    MUST(CKR_FUNCTION_NOT_SUPPORTED, p11->C_DecryptVerifyUpdate(1, pin, 6, NULL, &number));
    MUST(CKR_FUNCTION_NOT_SUPPORTED, list->C_MessageSignInit(1, NULL, 1));
    MUST(CKR_FUNCTION_NOT_SUPPORTED, list->C_MessageVerifyFinal(1));
    MUST(CKR_FUNCTION_NOT_SUPPORTED, list->C_EncryptMessageBegin(1, NULL, 0, NULL, 0));
    return 0;
}
