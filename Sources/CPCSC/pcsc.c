#define _GNU_SOURCE
#include "cpcsc.h"

#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>

/* Nanoseconds after the start of a call in which it may still take libpcsclite's lock: a thousand times the usual time. */
enum { start_of_call = 2000000 };

/* Seconds that a fork waits for a service that does not answer. */
enum { patience = 5 };

static const long second = 1000000000L;

/* A wake-up that never comes. */
static const long never = (long)(~0UL >> 1);

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static unsigned context_calls;
static int is_forking;
static long last_start;

/* Held by the call that makes a context, so that the socket that appears meanwhile is its own. */
static pthread_mutex_t making = PTHREAD_MUTEX_INITIALIZER;

/* The calls that have a limit, and the thread that ends them. */
static struct cpcsc_call *calls;
static pthread_cond_t due;
static int is_watched;
static long wake_up;

/* Nanoseconds on the clock of CLOCK_MONOTONIC, for which 64 bits suffice for 292 years. */
static long now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * second + time.tv_nsec;
}

static struct timespec time_of(long nanoseconds) {
    return (struct timespec){.tv_sec = nanoseconds / second, .tv_nsec = nanoseconds % second};
}

static void make_condition(pthread_cond_t *condition) {
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(condition, &attributes);
    pthread_condattr_destroy(&attributes);
}

/* Forks */

static void before_fork(void) {
    pthread_mutex_lock(&mutex);
    is_forking = 1;
    struct timespec end = time_of(now() + patience * second);
    while (context_calls > 0 && pthread_cond_timedwait(&changed, &mutex, &end) == 0) {}
    for (long left; (left = last_start + start_of_call - now()) > 0;) {
        struct timespec pause = time_of(left);
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
    pthread_mutex_init(&making, NULL);
    make_condition(&changed);
    make_condition(&due);
    context_calls = 0;
    is_forking = 0;
    calls = NULL;
    is_watched = 0;
}

static void prepare(void) {
    make_condition(&changed);
    make_condition(&due);
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

/* Sockets */

/* Whether a socket may be connected to the service: its peer has a name. Sockets that this process has accepted, and pairs, have a
   peer without one. */
static int may_lead_to_service(int number) {
    struct sockaddr_un peer;
    socklen_t length = sizeof peer;
    if (getpeername(number, (struct sockaddr *)&peer, &length) != 0) return 0;
    return peer.sun_family == AF_UNIX && length > offsetof(struct sockaddr_un, sun_path);
}

static void list_sockets(struct cpcsc_sockets *list) {
    list->count = 0;
    DIR *folder = opendir("/proc/self/fd");
    if (folder == NULL) {
        list->count = -1;
        return;
    }
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        int number = atoi(entry->d_name);
        struct stat status;
        if (entry->d_name[0] == '.' || fstat(number, &status) != 0 || !S_ISSOCK(status.st_mode)) continue;
        if (!may_lead_to_service(number)) continue;
        if (list->count == cpcsc_most_sockets) {
            list->count = -1;
            break;
        }
        list->sockets[list->count++] = (struct cpcsc_socket){number, status.st_ino};
    }
    closedir(folder);
}

/* The one socket that is new. Where there are several, a library that is not ours has made others. */
static struct cpcsc_socket new_socket(const struct cpcsc_sockets *former) {
    struct cpcsc_socket found = {-1, 0};
    struct cpcsc_sockets present;
    list_sockets(&present);
    if (former->count < 0 || present.count < 0) return found;
    for (int i = 0; i < present.count; i++) {
        int is_new = 1;
        for (int k = 0; k < former->count; k++) is_new &= former->sockets[k].inode != present.sockets[i].inode;
        if (!is_new) continue;
        if (found.number >= 0) return (struct cpcsc_socket){-1, 0};
        found = present.sockets[i];
    }
    return found;
}

static void shut_down(struct cpcsc_socket socket) {
    struct stat status;
    if (socket.number < 0 || fstat(socket.number, &status) != 0) return;
    if (S_ISSOCK(status.st_mode) && status.st_ino == socket.inode) shutdown(socket.number, SHUT_RDWR);
}

/* Limits */

static void *watch(void *unused) {
    (void)unused;
    pthread_mutex_lock(&mutex);
    for (;;) {
        wake_up = never;
        for (struct cpcsc_call *call = calls; call != NULL; call = call->next) {
            if (call->is_over) continue;
            if (call->deadline <= now()) {
                call->is_over = 1;
                shut_down(call->former != NULL ? new_socket(call->former) : call->socket);
            } else if (call->deadline < wake_up) {
                wake_up = call->deadline;
            }
        }
        struct timespec time = time_of(wake_up);
        pthread_cond_timedwait(&due, &mutex, &time);
    }
    return NULL;
}

/* Signals are for the program's own threads. A system without a thread to spare leaves calls without limits. */
static void start_watch(void) {
    pthread_t thread;
    pthread_attr_t attributes;
    sigset_t all, former;
    sigfillset(&all);
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_sigmask(SIG_SETMASK, &all, &former);
    is_watched = pthread_create(&thread, &attributes, watch, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &former, NULL);
    pthread_attr_destroy(&attributes);
    wake_up = 0;
}

static void begin(struct cpcsc_call *call, unsigned long milliseconds, unsigned contexts) {
    pthread_once(&once, prepare);
    pthread_mutex_lock(&mutex);
    while (is_forking) pthread_cond_wait(&changed, &mutex);
    context_calls += contexts;
    last_start = now();
    call->is_over = 0;
    call->has_limit = milliseconds != cpcsc_no_limit;
    if (call->has_limit) {
        call->deadline = last_start + (long)milliseconds * 1000000;
        call->next = calls;
        call->link = &calls;
        if (calls != NULL) calls->link = &call->next;
        calls = call;
        if (!is_watched) start_watch();
        else if (call->deadline < wake_up) pthread_cond_signal(&due);
    }
    pthread_mutex_unlock(&mutex);
}

static int end(struct cpcsc_call *call, unsigned contexts) {
    if (!call->has_limit && contexts == 0) return 0;
    pthread_mutex_lock(&mutex);
    if (call->has_limit) {
        *call->link = call->next;
        if (call->next != NULL) call->next->link = call->link;
    }
    if (contexts > 0) {
        /* 0 where the call was begun in the parent of this process. */
        if (context_calls > 0) context_calls -= contexts;
        pthread_cond_broadcast(&changed);
    }
    pthread_mutex_unlock(&mutex);
    return call->is_over;
}

void cpcsc_begin_call(struct cpcsc_call *call, struct cpcsc_socket socket, unsigned long milliseconds) {
    call->socket = socket;
    call->former = NULL;
    begin(call, milliseconds, 0);
}

int cpcsc_end_call(struct cpcsc_call *call) { return end(call, 0); }

void cpcsc_begin_making(struct cpcsc_call *call, struct cpcsc_sockets *former, unsigned long milliseconds) {
    pthread_once(&once, prepare);
    pthread_mutex_lock(&making);
    list_sockets(former);
    call->socket = (struct cpcsc_socket){-1, 0};
    call->former = former;
    begin(call, milliseconds, 1);
}

int cpcsc_end_making(struct cpcsc_call *call, struct cpcsc_socket *made) {
    *made = new_socket(call->former);
    int is_over = end(call, 1);
    pthread_mutex_unlock(&making);
    return is_over;
}

void cpcsc_begin_releasing(struct cpcsc_call *call, struct cpcsc_socket socket, unsigned long milliseconds) {
    call->socket = socket;
    call->former = NULL;
    begin(call, milliseconds, 1);
}

void cpcsc_end_releasing(struct cpcsc_call *call) { end(call, 1); }
