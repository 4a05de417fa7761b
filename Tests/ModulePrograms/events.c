/* A thread that waits for slots: it is woken by a card that goes, and by the end of the module. */
#include "module.h"

static CK_RV waited;
static CK_SLOT_ID changed;

static void *wait_for_event(void *nothing) {
    waited = p11->C_WaitForSlotEvent(0, &changed, NULL);
    return nothing;
}

int main(int count, char **arguments) {
    HOLDS(count == 2);
    load(arguments[1]);
    MUST(CKR_OK, p11->C_Initialize(NULL));
    CK_SLOT_ID slot = first_slot();
    MUST(CKR_NO_EVENT, p11->C_WaitForSlotEvent(CKF_DONT_BLOCK, &changed, NULL));
    pthread_t thread;
    pthread_create(&thread, NULL, wait_for_event, NULL);
    /* The test takes the card out when it reads this. */
    puts("waiting");
    fflush(stdout);
    pthread_join(thread, NULL);
    MUST(CKR_OK, waited);
    HOLDS(changed == slot);
    CK_ULONG slots = 0;
    MUST(CKR_OK, p11->C_GetSlotList(CK_TRUE, NULL, &slots));
    HOLDS(slots == 0);

    pthread_create(&thread, NULL, wait_for_event, NULL);
    usleep(200000);
    MUST(CKR_OK, p11->C_Finalize(NULL));
    pthread_join(thread, NULL);
    MUST(CKR_CRYPTOKI_NOT_INITIALIZED, waited);
    return 0;
}
