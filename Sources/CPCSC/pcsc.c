#define _GNU_SOURCE
#include "cpcsc.h"

#include <pthread.h>
#include <time.h>

/* Nanoseconds after the start of a call in which it may still take libpcsclite's lock: a thousand times the usual time. */
enum { start_of_call = 2000000 };

/* Seconds that a fork waits for a service that does not answer. */
enum { patience = 5 };

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static unsigned context_calls;
static int is_forking;
static struct timespec last_start;

static struct timespec now(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return time;
}

static long since(struct timespec start) {
    struct timespec time = now(CLOCK_MONOTONIC);
    return (time.tv_sec - start.tv_sec) > 1 ? start_of_call
                                            : (time.tv_sec - start.tv_sec) * 1000000000L + time.tv_nsec - start.tv_nsec;
}

static void before_fork(void) {
    pthread_mutex_lock(&mutex);
    is_forking = 1;
    struct timespec end = now(CLOCK_REALTIME);
    end.tv_sec += patience;
    while (context_calls > 0 && pthread_cond_timedwait(&changed, &mutex, &end) == 0) {}
    for (long left; (left = start_of_call - since(last_start)) > 0;) {
        struct timespec pause = {.tv_nsec = left};
        nanosleep(&pause, NULL);
    }
}

static void after_fork_in_parent(void) {
    is_forking = 0;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&mutex);
}

static void after_fork_in_child(void) {
    pthread_mutex_init(&mutex, NULL);
    pthread_cond_init(&changed, NULL);
    context_calls = 0;
    is_forking = 0;
}

static void meet_forks(void) { pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child); }

static void begin(unsigned calls) {
    pthread_once(&once, meet_forks);
    pthread_mutex_lock(&mutex);
    while (is_forking) pthread_cond_wait(&changed, &mutex);
    context_calls += calls;
    last_start = now(CLOCK_MONOTONIC);
    pthread_mutex_unlock(&mutex);
}

void cpcsc_begin_call(void) { begin(0); }

void cpcsc_begin_context_call(void) { begin(1); }

void cpcsc_end_context_call(void) {
    pthread_mutex_lock(&mutex);
    /* 0 where the call was begun in the parent of this process. */
    if (context_calls > 0) context_calls -= 1;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&mutex);
}
