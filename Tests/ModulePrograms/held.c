/* A card in use by another program, or by a thread that waits for a touch: calls that do not need the card do not wait, and a
 * login can end. */
#include <time.h>

#include "other-program.h"

static CK_SESSION_HANDLE session;
static CK_OBJECT_HANDLE key;

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec + time.tv_nsec / 1e9;
}

/* Another program's connection, with a transaction that lasts until it is ended. */
static SCARDHANDLE hold_card(void) {
    SCARDHANDLE card = connect_card(SCARD_SHARE_SHARED);
    MUST(SCARD_S_SUCCESS, (CK_ULONG)SCardBeginTransaction(card));
    return card;
}

/* Calls whose answers about the card are known already. */
static void ask_what_is_known(const CK_TOKEN_INFO *before) {
    double start = now();
    CK_SLOT_ID slot = first_slot();
    CK_SLOT_INFO slot_info;
    MUST(CKR_OK, p11->C_GetSlotInfo(slot, &slot_info));
    CK_TOKEN_INFO info;
    MUST(CKR_OK, p11->C_GetTokenInfo(slot, &info));
    HOLDS(memcmp(info.label, before->label, sizeof info.label) == 0);
    HOLDS(memcmp(info.serialNumber, before->serialNumber, sizeof info.serialNumber) == 0);
    HOLDS(info.flags == before->flags);
    HOLDS(info.firmwareVersion.major == before->firmwareVersion.major);
    CK_SESSION_INFO session_info;
    MUST(CKR_OK, p11->C_GetSessionInfo(session, &session_info));
    CK_SESSION_HANDLE other = open_session();
    MUST(CKR_OK, p11->C_CloseSession(other));
    HOLDS(now() - start < 3);
}

/* Whether the PIN counts as verified, by VERIFY without data in the caller's transaction. */
static int is_verified(SCARDHANDLE card) {
    const BYTE command[] = {0x00, 0x20, 0x00, 0x80};
    BYTE response[258];
    DWORD length = sizeof response;
    MUST(SCARD_S_SUCCESS, (CK_ULONG)SCardTransmit(card, SCARD_PCI_T1, command, 4, NULL, response, &length));
    HOLDS(length == 2);
    HOLDS(response[0] == 0x90 || (response[0] == 0x63 && (response[1] & 0xF0) == 0xC0));
    return response[0] == 0x90;
}

/* Releases the card and holds it again, until it has forgotten the PIN. */
static void await_lock(SCARDHANDLE card) {
    for (int tries = 0;; tries++) {
        MUST(SCARD_S_SUCCESS, (CK_ULONG)SCardEndTransaction(card, SCARD_LEAVE_CARD));
        HOLDS(tries < 20);
        usleep(300000);
        MUST(SCARD_S_SUCCESS, (CK_ULONG)SCardBeginTransaction(card));
        if (!is_verified(card)) return;
    }
}

static CK_STATE state(void) {
    CK_SESSION_INFO info;
    MUST(CKR_OK, p11->C_GetSessionInfo(session, &info));
    return info.state;
}

static void log_in(SCARDHANDLE held) {
    MUST(SCARD_S_SUCCESS, (CK_ULONG)SCardEndTransaction(held, SCARD_LEAVE_CARD));
    MUST(CKR_OK, p11->C_Login(session, CKU_USER, pin, 6));
    MUST(SCARD_S_SUCCESS, (CK_ULONG)SCardBeginTransaction(held));
    HOLDS(is_verified(held));
}

/* A login ends at once, and the card forgets the PIN as soon as the other program releases it. */
static void log_out(SCARDHANDLE held) {
    log_in(held);
    double start = now();
    MUST(CKR_OK, p11->C_Logout(session));
    HOLDS(now() - start < 3);
    HOLDS(state() == CKS_RW_PUBLIC_SESSION);
    HOLDS(is_verified(held));
    await_lock(held);

    /* Whatever uses the card next comes after the logout, which the card has not seen yet. */
    log_in(held);
    MUST(CKR_OK, p11->C_Logout(session));
    MUST(SCARD_S_SUCCESS, (CK_ULONG)SCardEndTransaction(held, SCARD_LEAVE_CARD));
    CK_MECHANISM_INFO mechanism;
    CK_TOKEN_INFO info;
    MUST(CKR_OK, p11->C_GetTokenInfo(first_slot(), &info));
    MUST(CKR_OK, p11->C_GetMechanismInfo(first_slot(), CKM_ECDSA, &mechanism));
    find(session, CKO_CERTIFICATE, 1);
    MUST(CKR_OK, p11->C_Login(session, CKU_USER, pin, 6));
    sleep(1);
    MUST(SCARD_S_SUCCESS, (CK_ULONG)SCardBeginTransaction(held));
    /* The late logout of the old login does not end the new one. */
    HOLDS(is_verified(held));

    start = now();
    MUST(CKR_OK, p11->C_CloseSession(session));
    HOLDS(now() - start < 3);
    await_lock(held);

    session = open_session();
    log_in(held);
    start = now();
    MUST(CKR_OK, p11->C_Finalize(NULL));
    HOLDS(now() - start < 3);
    HOLDS(is_verified(held));
    await_lock(held);
}

static CK_OBJECT_HANDLE find_key(void) {
    session = open_session();
    MUST(CKR_OK, p11->C_Login(session, CKU_USER, pin, 6));
    return find(session, CKO_PRIVATE_KEY, 1);
}

static void *use_key(void *result) {
    *(CK_RV *)result = sign(session, key);
    return NULL;
}

/* Threads that wait for the other program delay neither answers that are known nor C_Finalize. */
static void end_amid_waits(SCARDHANDLE held) {
    MUST(CKR_OK, p11->C_Initialize(NULL));
    MUST(SCARD_S_SUCCESS, (CK_ULONG)SCardEndTransaction(held, SCARD_LEAVE_CARD));
    key = find_key();
    CK_OBJECT_CLASS nothing = CKO_HW_FEATURE;
    CK_ATTRIBUTE unknown[] = {{CKA_CLASS, &nothing, sizeof nothing}};
    MUST(CKR_OK, p11->C_FindObjectsInit(session, NULL, 0));
    MUST(SCARD_S_SUCCESS, (CK_ULONG)SCardBeginTransaction(held));
    pthread_t threads[3];
    CK_RV signatures[3];
    for (int index = 0; index < 3; index++) pthread_create(&threads[index], NULL, use_key, &signatures[index]);
    sleep(1);
    double start = now();
    CK_ULONG mechanisms;
    CK_MECHANISM_INFO mechanism;
    MUST(CKR_OK, p11->C_GetMechanismList(first_slot(), NULL, &mechanisms));
    MUST(CKR_OK, p11->C_GetMechanismInfo(first_slot(), CKM_ECDSA, &mechanism));
    CK_SESSION_HANDLE other = open_session();
    find(other, CKO_CERTIFICATE, 1);
    MUST(CKR_OK, p11->C_FindObjectsInit(other, unknown, 1));
    MUST(CKR_OK, p11->C_Finalize(NULL));
    for (int index = 0; index < 3; index++) {
        pthread_join(threads[index], NULL);
        HOLDS(signatures[index] != CKR_OK && signatures[index] != CKR_GENERAL_ERROR);
    }
    /* A single thread would have waited for half a minute. */
    HOLDS(now() - start < 15);
}

/* A card that is not known, and that another program holds exclusively. */
static void ask_what_is_not_known(void) {
    SCARDHANDLE theirs = connect_card(SCARD_SHARE_EXCLUSIVE);
    MUST(CKR_OK, p11->C_Initialize(NULL));
    double start = now();
    CK_SLOT_INFO slot;
    MUST(CKR_OK, p11->C_GetSlotInfo(first_slot(), &slot));
    HOLDS(slot.flags & CKF_TOKEN_PRESENT);
    CK_TOKEN_INFO token;
    MUST(CKR_DEVICE_ERROR, p11->C_GetTokenInfo(first_slot(), &token));
    CK_ULONG mechanisms;
    MUST(CKR_OK, p11->C_GetMechanismList(first_slot(), NULL, &mechanisms));
    HOLDS(now() - start < 15);
    MUST(CKR_OK, p11->C_Finalize(NULL));
    MUST(SCARD_S_SUCCESS, (CK_ULONG)SCardDisconnect(theirs, SCARD_LEAVE_CARD));
}

int main(int count, char **arguments) {
    HOLDS(count == 2);
    load(arguments[1]);
    ask_what_is_not_known();
    MUST(CKR_OK, p11->C_Initialize(NULL));
    key = find_key();
    CK_TOKEN_INFO before;
    CK_ULONG mechanisms;
    MUST(CKR_OK, p11->C_GetMechanismList(first_slot(), NULL, &mechanisms));
    MUST(CKR_OK, p11->C_GetTokenInfo(first_slot(), &before));
    HOLDS(before.firmwareVersion.major == 5);

    SCARDHANDLE held = hold_card();
    /* The answer from before counts for a second. */
    sleep(2);
    ask_what_is_known(&before);
    MUST(SCARD_S_SUCCESS, (CK_ULONG)SCardEndTransaction(held, SCARD_LEAVE_CARD));
    MUST(CKR_OK, p11->C_GetTokenInfo(first_slot(), &before));

    pthread_t thread;
    CK_RV signature = CKR_GENERAL_ERROR;
    pthread_create(&thread, NULL, use_key, &signature);
    have("await");
    sleep(2);
    ask_what_is_known(&before);
    have("touch");
    pthread_join(thread, NULL);
    MUST(CKR_OK, signature);

    MUST(CKR_OK, p11->C_Logout(session));
    MUST(SCARD_S_SUCCESS, (CK_ULONG)SCardBeginTransaction(held));
    HOLDS(!is_verified(held));
    log_out(held);
    end_amid_waits(held);
    return 0;
}
