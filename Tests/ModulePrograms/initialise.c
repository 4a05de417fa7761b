/* Threads that initialise the module at once: one of them succeeds, and each may call the module as soon as C_Initialize has
 * returned. A process has one such moment, so that there are many processes. */
#include "module.h"

enum { thread_count = 4 };

static pthread_barrier_t together;

static void *initialise(void *nothing) {
    pthread_barrier_wait(&together);
    CK_RV begun = p11->C_Initialize(NULL);
    HOLDS(begun == CKR_OK || begun == CKR_CRYPTOKI_ALREADY_INITIALIZED);
    CK_INFO info;
    MUST(CKR_OK, p11->C_GetInfo(&info));
    return nothing;
}

int main(int count, char **arguments) {
    HOLDS(count == 2);
    load(arguments[1]);
    for (int round = 0; round < 2000; round++) {
        pid_t child = fork();
        HOLDS(child >= 0);
        if (child == 0) {
            pthread_t threads[thread_count];
            pthread_barrier_init(&together, NULL, thread_count);
            for (int index = 0; index < thread_count; index++) HOLDS(pthread_create(&threads[index], NULL, initialise, NULL) == 0);
            for (int index = 0; index < thread_count; index++) pthread_join(threads[index], NULL);
            MUST(CKR_OK, p11->C_Finalize(NULL));
            _exit(0);
        }
        int status = 0;
        HOLDS(waitpid(child, &status, 0) == child && status == 0);
    }
    return 0;
}
