/* Hides CKM_RSA_X_509 of another module, like tokens that pad by themselves. */
#include <dlfcn.h>
#include <stddef.h>

#include "ccryptoki.h"

static CK_FUNCTION_LIST *behind;
static CK_FUNCTION_LIST list;

static CK_RV mechanism_info(CK_SLOT_ID slot, CK_MECHANISM_TYPE type, CK_MECHANISM_INFO *info) {
    if (type == CKM_RSA_X_509) return CKR_MECHANISM_INVALID;
    return behind->C_GetMechanismInfo(slot, type, info);
}

static CK_RV sign_init(CK_SESSION_HANDLE session, CK_MECHANISM *mechanism, CK_OBJECT_HANDLE key) {
    if (mechanism->mechanism == CKM_RSA_X_509) return CKR_MECHANISM_INVALID;
    return behind->C_SignInit(session, mechanism, key);
}

static CK_RV decrypt_init(CK_SESSION_HANDLE session, CK_MECHANISM *mechanism, CK_OBJECT_HANDLE key) {
    if (mechanism->mechanism == CKM_RSA_X_509) return CKR_MECHANISM_INVALID;
    return behind->C_DecryptInit(session, mechanism, key);
}

CK_RV C_GetFunctionList(CK_FUNCTION_LIST **result) {
    void *library = dlopen(BEHIND, RTLD_NOW);
    CK_C_GetFunctionList get = library == NULL ? NULL : (CK_C_GetFunctionList)dlsym(library, "C_GetFunctionList");
    if (get == NULL) return CKR_GENERAL_ERROR;
    CK_RV code = get(&behind);
    if (code != CKR_OK) return code;
    list = *behind;
    list.C_GetMechanismInfo = mechanism_info;
    list.C_SignInit = sign_init;
    list.C_DecryptInit = decrypt_init;
    *result = &list;
    return CKR_OK;
}
