/* A program of the same user that floods the host of a session with connections.
 *
 *     flood SOCKET SECONDS [COUNT]
 *
 * It has COUNT (1000) connections open at a time: idle ones, garbage, half messages, messages that promise the longest fields, and
 * clients that ask nothing, by turns. Until the time is over it closes one after the other and opens others in their place. A line
 * "flooding" says that all have been opened once; the last line has the connections that the host took and did not take, and the
 * most threads and descriptors that the host had. */
#define _GNU_SOURCE
#include "module.h"
#include "host.h"
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>

struct header {
    uint8_t kind, zero[3];
    uint32_t number, fields, secrets;
};

enum { hello = 1, request = 3, maximum_fields = 1 << 20, maximum_count = 4096 };
enum way { idle, garbage, half_header, half_hello, promise, silent_client, way_count };

static struct sockaddr_un address = {.sun_family = AF_UNIX};
static char host[16];
static long taken, refused, most_threads, most_descriptors;

/* The greeting of a program, as the module sends it. */
static uint8_t greeting[1 << 16];
static size_t greeting_length;

static void put(uint64_t number, int count) {
    memcpy(greeting + greeting_length, &number, count);
    greeting_length += count;
}

static void put_variable(const char *name) {
    const char *value = getenv(name);
    char text[4096];
    int length = snprintf(text, sizeof text, "%s=%s", name, value == NULL ? "" : value);
    HOLDS(length < (int)sizeof text);
    put(length, 4);
    memcpy(greeting + greeting_length, text, length);
    greeting_length += length;
}

static void make_greeting(void) {
    static const char *const names[] = {"HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR",
                                        "PCSCLITE_CSOCK_NAME", "TOKENKIT_MODULES"};
    int count = 0;
    for (size_t index = 0; index < sizeof names / sizeof *names; index++) count += getenv(names[index]) != NULL;
    put(1, 8), put(1, 8), put(0, 8), put(0, 1), put(0, 4), put(count, 4);
    for (size_t index = 0; index < sizeof names / sizeof *names; index++) {
        if (getenv(names[index]) != NULL) put_variable(names[index]);
    }
}

static void say(int to, const void *bytes, size_t count) { send(to, bytes, count, MSG_NOSIGNAL | MSG_DONTWAIT); }

static void speak(int to, enum way way) {
    struct header header = {hello, {0}, 0, greeting_length, 0};
    uint8_t bytes[256];
    switch (way) {
    case garbage:
        for (size_t index = 0; index < sizeof bytes; index++) bytes[index] = rand();
        say(to, bytes, 1 + rand() % sizeof bytes);
        break;
    case half_header: say(to, &header, 1 + rand() % (sizeof header - 1)); break;
    case half_hello:
        say(to, &header, sizeof header);
        say(to, greeting, rand() % greeting_length);
        break;
    case promise:
        header = (struct header){rand() % 2 ? hello : request, {0}, 0, rand() % 2 ? maximum_fields : ~0u, rand() % 2 ? ~0u : 0};
        say(to, &header, sizeof header);
        say(to, bytes, sizeof bytes);
        break;
    case silent_client:
        say(to, &header, sizeof header);
        say(to, greeting, greeting_length);
        break;
    default: break;
    }
}

/* Returns a connection; -1 if the host's queue is full. */
static int connect_once(enum way way) {
    int descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    HOLDS(descriptor >= 0);
    if (connect(descriptor, (struct sockaddr *)&address, sizeof address) != 0) {
        HOLDS(errno == EAGAIN);
        close(descriptor);
        refused++;
        return -1;
    }
    taken++;
    speak(descriptor, way);
    return descriptor;
}

static void look_at_host(void) {
    char content[4096], path[64];
    HOLDS(read_process(host, "status", content, sizeof content) > 0);
    long threads = atol(strstr(content, "Threads:") + 8), descriptors = -2;
    snprintf(path, sizeof path, "/proc/%s/fd", host);
    DIR *folder = opendir(path);
    HOLDS(folder != NULL);
    while (readdir(folder) != NULL) descriptors++;
    closedir(folder);
    if (threads > most_threads) most_threads = threads;
    if (descriptors > most_descriptors) most_descriptors = descriptors;
}

/* Finds the process that listens. */
static void find_listener(void) {
    struct ucred peer;
    socklen_t size = sizeof peer;
    int descriptor = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    HOLDS(descriptor >= 0 && connect(descriptor, (struct sockaddr *)&address, sizeof address) == 0);
    HOLDS(getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0);
    snprintf(host, sizeof host, "%d", peer.pid);
    close(descriptor);
}

int main(int count, char **arguments) {
    HOLDS(count >= 3 && strlen(arguments[1]) < sizeof address.sun_path);
    strcpy(address.sun_path, arguments[1]);
    double time = atof(arguments[2]);
    int wanted = count > 3 ? atoi(arguments[3]) : 1000;
    HOLDS(wanted > 0 && wanted <= maximum_count);
    struct rlimit files;
    HOLDS(getrlimit(RLIMIT_NOFILE, &files) == 0);
    files.rlim_cur = files.rlim_max;
    HOLDS(setrlimit(RLIMIT_NOFILE, &files) == 0);
    srand(20);
    make_greeting();
    find_listener();
    static int own[maximum_count];
    /* The first connections wait while the queue is full. */
    for (int index = 0; index < wanted; index++) {
        while ((own[index] = connect_once(index % way_count)) < 0) usleep(1000);
    }
    look_at_host();
    puts("flooding");
    fflush(stdout);
    double end = seconds() + time, look = seconds();
    while (seconds() < end) {
        int index = rand() % wanted;
        if (own[index] >= 0) close(own[index]);
        own[index] = connect_once(rand() % way_count);
        if (seconds() < look) continue;
        look_at_host();
        look = seconds() + 0.1;
    }
    look_at_host();
    printf("%ld %ld %ld %ld\n", taken, refused, most_threads, most_descriptors);
    return 0;
}
