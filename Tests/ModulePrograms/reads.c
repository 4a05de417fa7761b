/* A listing that asks for one attribute after the other, each first for its length, as pkcs11-tool does: the host is asked once
 * for each object, and changes are seen all the same. */
#include "messages.h"

static CK_BYTE value[8192];

static CK_ULONG read_one(CK_SESSION_HANDLE session, CK_OBJECT_HANDLE object, CK_ATTRIBUTE_TYPE type) {
    CK_ATTRIBUTE attribute = {type, NULL, 0};
    MUST(CKR_OK, p11->C_GetAttributeValue(session, object, &attribute, 1));
    CK_ULONG length = attribute.ulValueLen;
    HOLDS(length <= sizeof value);
    attribute.pValue = value;
    MUST(CKR_OK, p11->C_GetAttributeValue(session, object, &attribute, 1));
    HOLDS(attribute.ulValueLen == length);
    return length;
}

static void list(CK_SESSION_HANDLE session, const CK_OBJECT_HANDLE *objects, CK_ULONG count) {
    static const CK_ATTRIBUTE_TYPE types[] = {
        CKA_CLASS, CKA_TOKEN, CKA_PRIVATE, CKA_LABEL, CKA_ID, CKA_KEY_TYPE, CKA_EC_PARAMS, CKA_DERIVE, CKA_LOCAL, CKA_MODIFIABLE};
    for (CK_ULONG index = 0; index < count; index++) {
        for (size_t type = 0; type < sizeof types / sizeof *types; type++) read_one(session, objects[index], types[type]);
    }
}

int main(int count, char **arguments) {
    HOLDS(count == 2);
    load(arguments[1]);
    MUST(CKR_OK, p11->C_Initialize(NULL));
    CK_SESSION_HANDLE session = open_session();
    MUST(CKR_OK, p11->C_Login(session, CKU_USER, password, 4));
    CK_BYTE curve[] = {0x06, 0x08, 0x2A, 0x86, 0x48, 0xCE, 0x3D, 0x03, 0x01, 0x07};
    CK_MECHANISM generation = {CKM_EC_KEY_PAIR_GEN, NULL, 0};
    CK_BBOOL yes = CK_TRUE;
    CK_ATTRIBUTE public_template[] = {{CKA_EC_PARAMS, curve, sizeof curve}};
    CK_ATTRIBUTE private_template[] = {{CKA_TOKEN, &yes, 1}, {CKA_LABEL, "before", 6}};
    CK_OBJECT_HANDLE public_key, private_key, objects[64];
    for (int index = 0; index < 20; index++) {
        MUST(CKR_OK, p11->C_GenerateKeyPair(session, &generation, public_template, 1, private_template, 2, &public_key, &private_key));
    }
    CK_KEY_TYPE type = CKK_EC;
    CK_ATTRIBUTE keys[] = {{CKA_KEY_TYPE, &type, sizeof type}};
    CK_ULONG found = 0;
    MUST(CKR_OK, p11->C_FindObjectsInit(session, keys, 1));
    MUST(CKR_OK, p11->C_FindObjects(session, objects, 64, &found));
    MUST(CKR_OK, p11->C_FindObjectsFinal(session));
    HOLDS(found == 40);

    /* On a busy machine a listing may now and then take longer than the attributes are kept. */
    int before = messages;
    list(session, objects, found);
    HOLDS(messages - before < 2 * (int)found);

    /* A read of a key's attribute before each signature, as in many programs, costs no message of its own. */
    CK_MECHANISM mechanism = {CKM_ECDSA, NULL, 0};
    before = messages;
    for (int round = 0; round < 20; round++) {
        CK_BYTE signature[64];
        CK_ULONG length = sizeof signature;
        read_one(session, private_key, CKA_KEY_TYPE);
        MUST(CKR_OK, p11->C_SignInit(session, &mechanism, private_key));
        MUST(CKR_OK, p11->C_Sign(session, value, 32, signature, &length));
    }
    HOLDS(messages - before < 20 * 2);

    /* Several attributes at once, some with too little room: from memory and, after a pause, from the host. */
    for (int pause = 0; pause < 2; pause++) {
        CK_BYTE label[16], id[1];
        CK_ATTRIBUTE some[] = {{CKA_LABEL, label, sizeof label}, {CKA_ID, id, 1}, {CKA_CLASS, NULL, 0}};
        if (pause) usleep(50000);
        MUST(CKR_BUFFER_TOO_SMALL, p11->C_GetAttributeValue(session, private_key, some, 3));
        HOLDS(some[0].ulValueLen == 6 && memcmp(label, "before", 6) == 0);
        HOLDS(some[1].ulValueLen == ~0UL && some[2].ulValueLen == sizeof(CK_OBJECT_CLASS));
    }

    /* A change by this program is seen at once, whichever session makes it. */
    HOLDS(read_one(session, private_key, CKA_LABEL) == 6 && memcmp(value, "before", 6) == 0);
    CK_SESSION_HANDLE other = open_session();
    CK_ATTRIBUTE change[] = {{CKA_LABEL, "after", 5}};
    MUST(CKR_OK, p11->C_SetAttributeValue(other, private_key, change, 1));
    HOLDS(read_one(session, private_key, CKA_LABEL) == 5 && memcmp(value, "after", 5) == 0);

    /* The end of a login, and of a session, is seen at once as well. */
    read_one(session, private_key, CKA_LABEL);
    MUST(CKR_OK, p11->C_Logout(other));
    CK_ATTRIBUTE gone = {CKA_LABEL, value, sizeof value};
    MUST(CKR_OBJECT_HANDLE_INVALID, p11->C_GetAttributeValue(session, private_key, &gone, 1));
    MUST(CKR_OK, p11->C_CloseSession(session));
    MUST(CKR_SESSION_HANDLE_INVALID, p11->C_GetAttributeValue(session, objects[0], &gone, 1));
    MUST(CKR_OK, p11->C_Finalize(NULL));
    return 0;
}
