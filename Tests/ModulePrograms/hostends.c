/* Sixteen threads that call while their host is killed. Calls that had begun fail, at most one per thread, and the next ones
 * get a new host. The second argument is the number of kills, by turns while all threads call, and while one calls and the
 * others' connections are idle; or it is "starting", for hosts that are killed as they start, and the third is the number. */
#define _GNU_SOURCE
#include "module.h"
#include "host.h"
#include <stdatomic.h>

enum { threads = 16 };

static _Atomic int is_over, at_work, calling, all_failures;
static _Atomic int successes[threads], failures[threads];

static void call_once(int number) {
    CK_ULONG count = 0;
    CK_RV code = p11->C_GetSlotList(CK_TRUE, NULL, &count);
    if (code == CKR_OK && count > 0) {
        successes[number]++;
        return;
    }
    if (code != CKR_DEVICE_ERROR) fprintf(stderr, "0x%lx, %lu slots\n", code, count);
    HOLDS(code == CKR_DEVICE_ERROR);
    all_failures++;
    HOLDS(++failures[number] <= 1);
}

static void *work_on(void *argument) {
    int number = (int)(uintptr_t)argument;
    while (!is_over) {
        calling++;
        if (number < at_work) call_once(number);
        calling--;
        if (number >= at_work) usleep(1000);
    }
    return NULL;
}

static void await_successes(void) {
    int before[threads];
    for (int number = 0; number < at_work; number++) before[number] = successes[number];
    for (int number = 0; number < at_work; number++) {
        for (int tries = 0; successes[number] < before[number] + 3; tries++) {
            HOLDS(tries < 30000);
            usleep(1000);
        }
    }
}

static void be_killed(int times) {
    pthread_t thread[threads];
    MUST(CKR_OK, p11->C_Initialize(NULL));
    for (int number = 0; number < threads; number++) {
        HOLDS(pthread_create(&thread[number], NULL, work_on, (void *)(uintptr_t)number) == 0);
    }
    for (int time = 0; time < times; time++) {
        at_work = threads;
        await_successes();
        if (time % 2 == 1) {
            at_work = 1;
            while (calling > 1) usleep(100);
        }
        for (int number = 0; number < threads; number++) failures[number] = 0;
        kill(find_host(), SIGKILL);
        await_successes();
    }
    is_over = 1;
    for (int number = 0; number < threads; number++) pthread_join(thread[number], NULL);
    MUST(CKR_OK, p11->C_Finalize(NULL));
}

static void *kill_the_first(void *delay) {
    pid_t host;
    for (int tries = 0; (host = find_host()) == 0; tries++) HOLDS(tries < 100000);
    usleep((uintptr_t)delay);
    kill(host, SIGKILL);
    return NULL;
}

/* A host that is killed gives an error, and not the empty list of a program without a host. */
static void be_killed_while_starting(int times) {
    for (int time = 0; time < times; time++) {
        pthread_t killer;
        HOLDS(pthread_create(&killer, NULL, kill_the_first, (void *)(uintptr_t)(rand() % 8000)) == 0);
        MUST(CKR_OK, p11->C_Initialize(NULL));
        failures[0] = 0;
        call_once(0);
        call_once(0);
        pthread_join(killer, NULL);
        MUST(CKR_OK, p11->C_Finalize(NULL));
        await_hosts(0);
    }
}

int main(int count, char **arguments) {
    HOLDS(count >= 3);
    load(arguments[1]);
    mark_host();
    if (strcmp(arguments[2], "starting") == 0) be_killed_while_starting(atoi(arguments[3]));
    else be_killed(atoi(arguments[2]));
    must_have_no_child();
    await_hosts(0);
    printf("%d calls failed\n", (int)all_failures);
    return 0;
}
