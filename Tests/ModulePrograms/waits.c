/* Sixty-four threads that wait for a card to come or go, for which no other call has to wait. */
#define _GNU_SOURCE
#include "module.h"
#include <errno.h>
#include <stdatomic.h>
#include <time.h>

enum { threads = 64 };

static _Atomic int waiting, ended, events;

static void *await_event(void *nothing) {
    CK_SLOT_ID slot;
    waiting++;
    CK_RV code = p11->C_WaitForSlotEvent(0, &slot, NULL);
    HOLDS(code == CKR_OK || code == CKR_CRYPTOKI_NOT_INITIALIZED);
    if (code == CKR_OK) events++;
    ended++;
    return nothing;
}

static void *work(void *nothing) {
    CK_SESSION_HANDLE session = open_session();
    for (int round = 0; round < 5; round++) MUST(CKR_OK, sign(session, find(session, CKO_PRIVATE_KEY, 1)));
    return nothing;
}

/* Threads that have the connections which are left, and more. */
static void work_in_threads(void) {
    pthread_t thread[threads];
    for (int index = 0; index < threads; index++) HOLDS(pthread_create(&thread[index], NULL, work, NULL) == 0);
    for (int index = 0; index < threads; index++) pthread_join(thread[index], NULL);
}

int main(int count, char **arguments) {
    HOLDS(count == 2);
    load(arguments[1]);
    MUST(CKR_OK, p11->C_Initialize(NULL));
    CK_SESSION_HANDLE session = open_session();
    MUST(CKR_OK, p11->C_Login(session, CKU_USER, pin, 6));
    /* Events of the start. */
    CK_SLOT_ID slot;
    while (p11->C_WaitForSlotEvent(CKF_DONT_BLOCK, &slot, NULL) == CKR_OK);
    pthread_t thread[threads];
    for (int index = 0; index < threads; index++) HOLDS(pthread_create(&thread[index], NULL, await_event, NULL) == 0);
    while (waiting < threads) usleep(1000);
    /* Each thread is on its way into the host, or waits until one of those comes back. */
    usleep(300000);
    CK_OBJECT_HANDLE key = find(session, CKO_PRIVATE_KEY, 1);
    MUST(CKR_OK, sign(session, key));
    CK_ULONG slots = 0;
    MUST(CKR_OK, p11->C_GetSlotList(CK_TRUE, NULL, &slots));
    HOLDS(slots == 1);
    MUST(CKR_NO_EVENT, p11->C_WaitForSlotEvent(CKF_DONT_BLOCK, &slot, NULL));
    work_in_threads();
    HOLDS(ended == 0);
    /* One of them is told of each event. */
    have("remove");
    while (events < 1) usleep(1000);
    HOLDS(ended == 1);
    MUST(CKR_OK, p11->C_Finalize(NULL));
    for (int index = 0; index < threads; index++) pthread_join(thread[index], NULL);
    HOLDS(events == 1);
    return 0;
}
