/* Clients and hosts of other versions of the wire: hellos that are written by hand, to the real host, and a host of the session that
 * tells the module of another version. The second argument is tokenkitd, the third the socket of the session's host, which the test
 * stops at the program's request. */
#define _GNU_SOURCE
#include "module.h"
#include "host.h"
#include "wire.h"
#include <sys/un.h>

/* Sources/Wire/Hello.swift */
enum { version = 1, served = 0, other_version = 1 };

static uint8_t fields[1 << 16];
static uint32_t end;

static void put(uint64_t value, int count) {
    memcpy(fields + end, &value, count);
    end += count;
}

static void put_variable(const char *name) {
    char text[4096];
    int length = snprintf(text, sizeof text, "%s=%s", name, getenv(name));
    put(length, 4);
    memcpy(fields + end, text, length);
    end += length;
}

/* Says the hello of a client of some versions, and checks the answer. The environment is this process's own. */
static void greet(int host, uint64_t oldest, uint64_t newest, int wanted) {
    static const char *const names[] = {"HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR", "PCSCLITE_CSOCK_NAME"};
    end = 0;
    put(oldest, 8), put(newest, 8), put(0, 8), put(0, 1), put(0, 4), put(sizeof names / sizeof *names, 4);
    for (size_t index = 0; index < sizeof names / sizeof *names; index++) put_variable(names[index]);
    HOLDS(give_message(host, hello, 0, fields, end, 0));
    struct header header;
    uint64_t answer[2];
    HOLDS(take_message(host, &header, (uint8_t *)answer, sizeof answer));
    HOLDS(header.kind == hello && header.fields == sizeof answer);
    HOLDS(answer[0] == (uint64_t)wanted && answer[1] == (wanted == served ? version : 0));
    /* A client that is not served is let go. */
    char byte;
    if (wanted == other_version) HOLDS(recv(host, &byte, 1, 0) == 0);
    close(host);
}

static struct sockaddr_un address = {.sun_family = AF_UNIX};

static int make_socket(void) {
    int made = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    HOLDS(made >= 0);
    return made;
}

static int connect_shared(const char *program) {
    (void)program;
    int host = make_socket();
    HOLDS(connect(host, (struct sockaddr *)&address, sizeof address) == 0);
    return host;
}

static int start_private(const char *program) {
    int pair[2];
    HOLDS(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
    signal(SIGCHLD, SIG_IGN);
    if (fork() == 0) {
        dup2(pair[1], 3);
        execl(program, program, "--private", NULL);
        _exit(127);
    }
    close(pair[1]);
    return pair[0];
}

static void greet_in_versions(int (*reach)(const char *), const char *program) {
    greet(reach(program), version, version, served);
    greet(reach(program), version - 1, version, served);
    greet(reach(program), version, version + 1, served);
    greet(reach(program), 0, ~0ULL, served);
    greet(reach(program), version - 1, version - 1, other_version);
    greet(reach(program), version + 1, version + 1, other_version);
    greet(reach(program), version + 1, ~0ULL, other_version);
    greet(reach(program), version + 1, version - 1, other_version);
}

/* A host of the session that speaks another version, whatever it says of that. */
static void *answer_hellos(void *argument) {
    uint64_t *answer = argument;
    int listener = (int)answer[2];
    for (;;) {
        int client = accept(listener, NULL, NULL);
        struct header header;
        if (take_message(client, &header, fields, sizeof fields)) {
            uint64_t oldest, newest;
            memcpy(&oldest, fields, 8), memcpy(&newest, fields + 8, 8);
            HOLDS(header.kind == hello && oldest == version && newest == version);
            give_message(client, hello, 0, answer, 16, 0);
        }
        close(client);
        answer[3]++;
    }
    return NULL;
}

static void meet(uint64_t code, uint64_t number) {
    static uint64_t answer[4];
    int listener = make_socket();
    unlink(address.sun_path);
    HOLDS(bind(listener, (struct sockaddr *)&address, sizeof address) == 0 && listen(listener, 8) == 0);
    memcpy(answer, (uint64_t[]){code, number, listener, 0}, sizeof answer);
    pthread_t thread;
    HOLDS(pthread_create(&thread, NULL, answer_hellos, answer) == 0);
    MUST(CKR_OK, p11->C_Initialize(NULL));
    CK_SESSION_HANDLE session = open_session();
    MUST(CKR_OK, p11->C_Login(session, CKU_USER, pin, 6));
    MUST(CKR_OK, sign(session, find(session, CKO_PRIVATE_KEY, 1)));
    HOLDS(answer[3] == 1 && find_hosts(NULL, 0) == 1);
    MUST(CKR_OK, p11->C_Finalize(NULL));
    pthread_cancel(thread);
    pthread_join(thread, NULL);
    close(listener);
    await_hosts(0);
}

int main(int count, char **arguments) {
    HOLDS(count == 4 && strlen(arguments[3]) < sizeof address.sun_path);
    strcpy(address.sun_path, arguments[3]);
    greet_in_versions(start_private, arguments[2]);
    greet_in_versions(connect_shared, arguments[2]);
    signal(SIGCHLD, SIG_DFL);

    /* The module has a host of its own where that of the session is older or newer. */
    mark_host();
    load(arguments[1]);
    have("stop");
    meet(other_version, 0);
    meet(served, version - 1);
    meet(served, version + 1);
    return 0;
}
