/* A client that attacks the real host, which it starts itself: the first argument is tokenkitd, the second the way. The host
 * answers honest requests all the while, and ends by itself with status 0 when its client is gone. */
#define _GNU_SOURCE
#include "module.h"
#include "host.h"
#include <sys/socket.h>

enum { hello = 1, connection = 2, request = 3, answer = 4, working = 5 };
enum { get_slot_list = 4, open_session_call = 12, login = 18, generate_random = 64, wait_for_slot_event = 67 };

struct header {
    uint8_t kind, zero[3];
    uint32_t number, fields, secrets;
};

static const char *program;
static pid_t host;
static int control = -1;

static int take(int from, void *bytes, size_t count) { return recv(from, bytes, count, MSG_WAITALL) == (ssize_t)count; }
static int give(int to, const void *bytes, size_t count) { return send(to, bytes, count, MSG_NOSIGNAL) == (ssize_t)count; }

static uint8_t fields[1 << 16];
static size_t end;

static void put(uint64_t number, int count) {
    memcpy(fields + end, &number, count);
    end += count;
}

static void start(uint64_t first_handle) {
    int pair[2];
    HOLDS(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
    host = fork();
    HOLDS(host >= 0);
    if (host == 0) {
        dup2(pair[1], 3);
        execl(program, program, "--private", NULL);
        _exit(127);
    }
    close(pair[1]);
    control = pair[0];
    end = 0;
    put(1, 8), put(1, 8), put(first_handle, 8), put(0, 1), put(0, 4), put(0, 4);
    struct header header = {hello, {0}, 0, end, 0};
    HOLDS(give(control, &header, sizeof header) && give(control, fields, end));
    if (first_handle > 1ULL << 63) return;
    uint8_t greeting[16];
    HOLDS(take(control, &header, sizeof header) && header.kind == hello && header.fields == 16 && take(control, greeting, 16));
}

static void finish(void) {
    if (control >= 0) close(control);
    control = -1;
    int status = -1;
    for (int tries = 0; waitpid(host, &status, WNOHANG) == 0; tries++) {
        HOLDS(tries < 2000);
        usleep(5000);
    }
    if (status != 0) fprintf(stderr, "the host ended with status 0x%x\n", status);
    HOLDS(status == 0);
}

static void hand_over(const int *descriptors, int count) {
    struct header header = {connection, {0}, 0, 0, 0};
    struct iovec part = {&header, sizeof header};
    char space[CMSG_SPACE(sizeof(int) * 64)] = {0};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = space, .msg_controllen = CMSG_SPACE(sizeof(int) * count)};
    struct cmsghdr *ancillary = CMSG_FIRSTHDR(&message);
    *ancillary = (struct cmsghdr){CMSG_LEN(sizeof(int) * count), SOL_SOCKET, SCM_RIGHTS};
    memcpy(CMSG_DATA(ancillary), descriptors, sizeof(int) * count);
    sendmsg(control, &message, MSG_NOSIGNAL);
}

/* A new connection to the host. If `theirs` is not NULL, it gets the host's end, which is kept open. */
static int connect_again(int *theirs) {
    int pair[2];
    HOLDS(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) == 0);
    hand_over(&pair[1], 1);
    if (theirs != NULL) *theirs = pair[1];
    else close(pair[1]);
    return pair[0];
}

/* Begins the fields of a call. */
static void begin_call(uint64_t function, const uint64_t *numbers, uint32_t count) {
    end = 0;
    put(function, 8);
    put(count, 4);
    for (uint32_t index = 0; index < count; index++) put(numbers[index], 8);
}

static int send_call(int to, const void *secrets, uint32_t count) {
    struct header header = {request, {0}, 7, end, count};
    return give(to, &header, sizeof header) && give(to, fields, end) && (count == 0 || give(to, secrets, count));
}

/* Receives the code and the first number of an answer, and skips the rest. */
static int take_answer(int from, uint64_t *code, uint64_t *first) {
    static uint8_t rest[(1 << 20) + 1];
    struct header header;
    do {
        if (!take(from, &header, sizeof header)) return 0;
    } while (header.kind == working);
    HOLDS(header.kind == answer && header.number == 7 && header.fields >= 20);
    HOLDS(take(from, rest, header.fields));
    memcpy(code, rest, 8);
    if (first != NULL && header.fields >= 24) memcpy(first, rest + 16, 8);
    while (header.secrets > 0) {
        size_t part = header.secrets < sizeof rest ? header.secrets : sizeof rest;
        HOLDS(take(from, rest, part));
        header.secrets -= part;
    }
    return 1;
}

static uint64_t ask(int to, uint64_t function, const uint64_t *numbers, uint32_t count, const char *secrets, uint64_t *first) {
    uint64_t code;
    begin_call(function, numbers, count);
    put(0, 1), put(0, 4);
    HOLDS(send_call(to, secrets, secrets == NULL ? 0 : strlen(secrets)) && take_answer(to, &code, first));
    return code;
}

/* Whether an honest request on a new connection is answered within 10 s. */
static int is_served(void) {
    int own = connect_again(NULL);
    struct timeval time = {10, 0};
    setsockopt(own, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time);
    uint64_t code;
    begin_call(get_slot_list, (uint64_t[]){1, 1}, 2);
    put(0, 1), put(0, 4);
    int has_answer = send_call(own, NULL, 0) && take_answer(own, &code, NULL);
    close(own);
    return has_answer && code == CKR_OK;
}

static void must_serve(void) { HOLDS(is_served()); }

/* The host's resident memory in kB. */
static long memory(void) {
    char process[16], content[4096];
    snprintf(process, sizeof process, "%d", host);
    HOLDS(read_process(process, "status", content, sizeof content) > 0);
    return atol(strstr(content, "VmRSS:") + 6);
}

/* The host's processor time in hundredths of a second. */
static long work(void) {
    char process[16], content[4096];
    long user, system;
    snprintf(process, sizeof process, "%d", host);
    HOLDS(read_process(process, "stat", content, sizeof content) > 0);
    HOLDS(sscanf(strrchr(content, ')') + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %ld %ld", &user, &system) == 2);
    return user + system;
}

/* Bytes that are not messages, or messages that are not calls. */
static void garbage(void) {
    start(0);
    for (int round = 0; round < 1000; round++) {
        int own = connect_again(NULL);
        uint8_t bytes[512];
        for (size_t index = 0; index < sizeof bytes; index++) bytes[index] = rand();
        if (round % 2 == 0) {
            uint32_t length = rand() % 400;
            struct header header = {rand() % 4 == 0 ? rand() % 8 : request, {0}, rand(), length, rand() % 3 == 0 ? rand() % 64 : 0};
            /* Half of them begin with a function. */
            if (rand() % 2 == 0) memcpy(bytes + sizeof header, (uint64_t[]){rand() % 80}, 8);
            memcpy(bytes, &header, sizeof header);
        }
        give(own, bytes, 1 + rand() % sizeof bytes);
        if (rand() % 2 == 0) shutdown(own, SHUT_WR);
        close(own);
        if (round % 100 == 0) must_serve();
    }
    must_serve();
    finish();
}

static uint64_t any(void) {
    static const uint64_t edges[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 64, 0x7FFFFFFF, 0xFFFFFFFF, 1ULL << 62, ~0ULL >> 1, 1ULL << 63, ~0ULL - 1, ~0ULL};
    return edges[rand() % (rand() % 2 ? 9 : 17)];
}

/* Well-formed calls with random arguments, in a session with a login. */
static void calls(void) {
    static const uint64_t mechanisms[] = {0, 1, 3, 0xD, 0x9, 0x40, 0x250, 0x1040, 0x1041, 0x1044, 0x1050, 0x1080, 0x1082, 0x1087, 0x220};
    static const uint64_t types[] = {0, 1, 2, 3, 0x11, 0x80, 0x81, 0x100, 0x102, 0x103, 0x104, 0x120, 0x121, 0x122, 0x123, 0x161, 0x162, 0x180, 0x181, 0x1234};
    start(1ULL << 63);
    uint64_t slot = 0, session = 0;
    int own = connect_again(NULL), answered = 0, succeeded = 0;
    HOLDS(ask(own, get_slot_list, (uint64_t[]){1, 1}, 2, NULL, &slot) == CKR_OK);
    HOLDS(ask(own, open_session_call, (uint64_t[]){slot, 6}, 2, NULL, &session) == CKR_OK && session > 1ULL << 63);
    HOLDS(ask(own, login, (uint64_t[]){session, 1, 6}, 3, "123456", NULL) == CKR_OK);
    for (int round = 0; round < 6000; round++) {
        uint64_t numbers[12], function = rand() % 72;
        uint32_t count = rand() % 8;
        for (uint32_t index = 0; index < count; index++) numbers[index] = any();
        if (count > 0 && rand() % 8 != 0) numbers[0] = function < 13 ? slot : session;
        if (count > 1 && rand() % 2 == 0) numbers[1] = (1ULL << 63) + rand() % 30;
        /* Leaves out C_Finalize, C_SetPIN and C_Login, and lets C_WaitForSlotEvent not block. */
        if (function == 1 || function == 11 || function == login) continue;
        if (function == wait_for_slot_event) count = 1, numbers[0] = 1;
        begin_call(function, numbers, count);
        int has_mechanism = rand() % 2;
        put(has_mechanism, 1);
        if (has_mechanism) {
            put(rand() % 8 == 0 ? any() : mechanisms[rand() % 15], 8);
            int parameter = rand() % 3;
            if (parameter == 0) put(0, 1);
            else if (parameter == 1) put(1, 1), put(0, 1);
            else {
                put(1, 1), put(1, 1);
                uint32_t parts = rand() % 4;
                put(parts, 4);
                for (uint32_t index = 0; index < parts; index++) put(any(), 8);
                parts = rand() % 4;
                put(parts, 4);
                for (uint32_t index = 0; index < parts; index++) {
                    uint32_t length = rand() % 70;
                    put(length, 4);
                    for (uint32_t byte = 0; byte < length; byte++) put(rand(), 1);
                }
            }
        }
        uint32_t templates = rand() % 3, secrets = rand() % 3 == 0 ? rand() % 80 : 0;
        put(templates, 4);
        for (uint32_t index = 0; index < templates; index++) {
            uint32_t attributes = rand() % 4;
            put(attributes, 4);
            for (uint32_t attribute = 0; attribute < attributes; attribute++) {
                uint64_t type = types[rand() % 20];
                int is_secret = type == 0x11 || (type >= 0x123 && type <= 0x128);
                put(type, 8), put(is_secret, 1);
                if (is_secret) {
                    put(rand() % 4 == 0 ? any() : (uint64_t)rand() % 40, 8);
                } else {
                    uint32_t length = rand() % 2 ? 8 : rand() % 20;
                    put(length, 4);
                    for (uint32_t byte = 0; byte < length; byte++) put(rand() % 3 ? 0 : rand(), 1);
                }
            }
        }
        uint8_t bytes[80];
        for (size_t index = 0; index < sizeof bytes; index++) bytes[index] = rand();
        uint64_t code;
        if (!send_call(own, bytes, secrets) || !take_answer(own, &code, NULL)) {
            close(own);
            own = connect_again(NULL);
        } else {
            answered++;
            succeeded += code == CKR_OK;
            /* After a call that ends the session or the login, both are made anew. */
            if (function == 13 || function == 14 || function == 19) {
                ask(own, open_session_call, (uint64_t[]){slot, 6}, 2, NULL, &session);
                ask(own, login, (uint64_t[]){session, 1, 6}, 3, "123456", NULL);
            }
        }
    }
    printf("%d answers, %d of success\n", answered, succeeded);
    close(own);
    finish();
}

/* Messages that announce the most secrets that are allowed, which do not come. */
static void promises(void) {
    enum { count = 100 };
    int own[count];
    start(0);
    must_serve();
    long before = memory();
    for (int index = 0; index < count; index++) {
        own[index] = connect_again(NULL);
        struct header header = {request, {0}, 7, 1000, 16 << 20};
        HOLDS(give(own[index], &header, sizeof header));
        memset(fields, 0, 1000);
        give(own[index], fields, 1000);
    }
    usleep(500000);
    must_serve();
    printf("%ld kB more\n", memory() - before);
    HOLDS(memory() - before < 100000);
    for (int index = 0; index < count; index++) close(own[index]);
    must_serve();
    finish();
}

/* Options that the client sets on its copy of the host's descriptor do not keep the host busy. */
static void settings(void) {
    start(0);
    must_serve();
    int theirs, own = connect_again(&theirs), other = connect_again(NULL);
    HOLDS(fcntl(theirs, F_SETFL, O_NONBLOCK) == 0);
    struct timeval time = {0, 1};
    HOLDS(setsockopt(theirs, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time) == 0);
    HOLDS(ask(own, get_slot_list, (uint64_t[]){1, 1}, 2, NULL, NULL) == CKR_OK);
    long before = work();
    usleep(1000000);
    HOLDS(work() - before < 30);
    HOLDS(ask(own, get_slot_list, (uint64_t[]){1, 1}, 2, NULL, NULL) == CKR_OK);
    close(own), close(other), close(theirs);
    finish();
}

/* Descriptors that are not sockets, several, too many, or none; half messages; and more connections than are allowed. */
static void descriptors(void) {
    start(0);
    int others[] = {open("/dev/null", O_RDWR), open("/dev/zero", O_RDWR), open("/proc/self/stat", O_RDONLY), dup(0)};
    for (int index = 0; index < 4; index++) hand_over(&others[index], 1);
    must_serve();
    finish();
    for (int count = 2; count <= 64; count *= 2) {
        start(0);
        int several[64];
        for (int index = 0; index < count; index++) several[index] = others[0];
        hand_over(several, count);
        finish();
    }
    start(0);
    HOLDS(give(control, "\2\0\0", 3));
    usleep(100000);
    finish();
    start(0);
    struct header header = {connection, {0}, 0, 0, 0};
    HOLDS(give(control, &header, sizeof header));
    finish();
    start(0);
    static int many[900];
    for (int index = 0; index < 900; index++) many[index] = connect_again(NULL);
    for (int index = 0; index < 900; index++) close(many[index]);
    /* The host takes a moment to notice the end of the connections that it has taken. */
    for (int tries = 0; !is_served(); tries++) {
        HOLDS(tries < 1000);
        usleep(10000);
    }
    finish();
    start(0);
    /* Hands over the client's own end, which the host then keeps open, so that the client has to shut it down. */
    for (int index = 0; index < 200; index++) hand_over(&control, 1);
    shutdown(control, SHUT_RDWR);
    finish();
    for (size_t index = 0; index < sizeof others / sizeof *others; index++) close(others[index]);
}

/* A client that goes amid its calls, and does not read their answers. */
static void gone(void) {
    for (int round = 0; round < 40; round++) {
        start(0);
        int own[8];
        for (int index = 0; index < 8; index++) {
            own[index] = connect_again(NULL);
            begin_call(index % 2 ? get_slot_list : generate_random, (uint64_t[]){index % 2, 1 << 20}, 2);
            put(0, 1), put(0, 4);
            send_call(own[index], NULL, 0);
        }
        usleep(rand() % 30000);
        if (round % 2 == 0) close(control), control = -1;
        for (int index = 0; index < 8; index++) close(own[index]);
        finish();
    }
    /* The first handle is the greatest number: the host goes on, whether or not it takes such a client. */
    start(~0ULL);
    struct header header;
    uint8_t greeting[16];
    if (take(control, &header, sizeof header) && take(control, greeting, 16)) {
        uint64_t slot = 0;
        int own = connect_again(NULL);
        HOLDS(ask(own, get_slot_list, (uint64_t[]){1, 1}, 2, NULL, &slot) == CKR_OK);
        ask(own, open_session_call, (uint64_t[]){slot, 6}, 2, NULL, NULL);
        close(own);
    }
    finish();
}

int main(int count, char **arguments) {
    HOLDS(count == 3);
    alarm(110);
    program = arguments[1];
    srand(20);
    static const struct {
        const char *name;
        void (*body)(void);
    } ways[] = {{"garbage", garbage}, {"calls", calls}, {"promises", promises}, {"settings", settings},
                {"descriptors", descriptors}, {"gone", gone}};
    for (size_t index = 0; index < sizeof ways / sizeof *ways; index++) {
        if (strcmp(ways[index].name, arguments[2]) != 0) continue;
        ways[index].body();
        return 0;
    }
    return 1;
}
