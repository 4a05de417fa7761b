/* A program that closes every descriptor which is not a standard stream, and uses the numbers for other files, as daemons do:
 * the module neither writes to these files nor closes them, and goes on with a new host. */
#define _GNU_SOURCE
#include "module.h"
#include "host.h"
#include <sys/socket.h>
#include <sys/stat.h>

enum { rounds = 100, most = 256 };

static CK_SESSION_HANDLE session;

/* The descriptors that are open and not standard streams. */
static int list(int *descriptors) {
    DIR *folder = opendir("/proc/self/fd");
    HOLDS(folder != NULL);
    int count = 0;
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        int descriptor = atoi(entry->d_name);
        if (descriptor < 3 || descriptor == dirfd(folder)) continue;
        HOLDS(count < most);
        descriptors[count++] = descriptor;
    }
    closedir(folder);
    return count;
}

static void use(int signs) {
    session = open_session();
    find(session, CKO_CERTIFICATE, 1);
    if (!signs) return;
    MUST(CKR_OK, p11->C_Login(session, CKU_USER, pin, 6));
    MUST(CKR_OK, sign(session, find(session, CKO_PRIVATE_KEY, 1)));
}

static void close_all(void) {
    int descriptors[most], count = list(descriptors);
    HOLDS(count > 0);
    for (int index = 0; index < count; index++) close(descriptors[index]);
}

/* The sessions ended with the connection, and the new host does not know them. */
static void must_be_new(void) {
    CK_SESSION_INFO info;
    MUST(CKR_SESSION_HANDLE_INVALID, p11->C_GetSessionInfo(session, &info));
    MUST(CKR_SESSION_HANDLE_INVALID, p11->C_CloseSession(session));
}

/* Gives the numbers to other files, which the module must leave as they are. */
static void replace_all(int kind, int signs) {
    int descriptors[most], count = list(descriptors), ends[2];
    HOLDS(count > 0);
    FILE *file = tmpfile();
    HOLDS(file != NULL);
    if (kind == 0) HOLDS(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends) == 0);
    if (kind == 1) HOLDS(pipe2(ends, O_NONBLOCK) == 0);
    if (kind == 2) HOLDS((ends[0] = dup(fileno(file))) >= 0 && (ends[1] = dup(fileno(file))) >= 0);
    for (int index = 0; index < count; index++) HOLDS(dup2(ends[1], descriptors[index]) >= 0);
    must_be_new();
    use(signs);
    char byte;
    if (kind < 2) HOLDS(read(ends[0], &byte, 1) == -1 && errno == EAGAIN);
    struct stat wanted, found;
    HOLDS(fstat(ends[1], &wanted) == 0 && wanted.st_size == 0);
    for (int index = 0; index < count; index++) {
        HOLDS(fstat(descriptors[index], &found) == 0 && found.st_ino == wanted.st_ino);
        close(descriptors[index]);
    }
    close(ends[0]);
    close(ends[1]);
    fclose(file);
}

/* Closes some of the descriptors: the host is the old or a new one, and no other error is returned. */
static void close_some(int signs) {
    int descriptors[most], count = list(descriptors);
    for (int index = 0; index < count; index++) {
        if (rand() % 2 == 0) close(descriptors[index]);
    }
    CK_SESSION_INFO info;
    CK_RV result = p11->C_GetSessionInfo(session, &info);
    HOLDS(result == CKR_OK || result == CKR_SESSION_HANDLE_INVALID);
    if (result == CKR_OK) MUST(CKR_OK, p11->C_CloseAllSessions(first_slot()));
    use(signs);
}

static void *wait_for_event(void *nothing) {
    CK_SLOT_ID slot;
    CK_RV result = p11->C_WaitForSlotEvent(0, &slot, NULL);
    HOLDS(result == CKR_DEVICE_ERROR);
    return nothing;
}

/* A thread amid a call gets an error, and closes no file of the program. */
static void close_amid_a_call(void) {
    pthread_t thread;
    HOLDS(pthread_create(&thread, NULL, wait_for_event, NULL) == 0);
    usleep(100000);
    int descriptors[most], count = list(descriptors), other = open("/dev/null", O_RDWR);
    for (int index = 0; index < count; index++) HOLDS(dup2(other, descriptors[index]) >= 0);
    HOLDS(pthread_join(thread, NULL) == 0);
    for (int index = 0; index < count; index++) {
        HOLDS(fcntl(descriptors[index], F_GETFD) == 0);
        close(descriptors[index]);
    }
    close(other);
    must_be_new();
    use(1);
}

int main(int count, char **arguments) {
    HOLDS(count == 2);
    alarm(100);
    mark_host();
    load(arguments[1]);
    /* Closes inherited descriptors. */
    HOLDS(close_range(3, ~0U, 0) == 0);
    int before = open_descriptors();
    MUST(CKR_OK, p11->C_Initialize(NULL));
    use(1);
    for (int round = 0; round < rounds; round++) {
        int signs = round % 10 == 0;
        switch (round % 5) {
            case 0:
                close_all();
                must_be_new();
                use(signs);
                break;
            case 1: close_some(signs); break;
            default: replace_all(round % 5 - 2, signs);
        }
    }
    close_amid_a_call();
    await_hosts(1);
    HOLDS(open_descriptors() <= before + 2);
    MUST(CKR_OK, p11->C_Finalize(NULL));
    HOLDS(open_descriptors() == before);
    await_hosts(0);
    must_have_no_child();

    /* Without standard streams the module takes none of their numbers. */
    for (int stream = 0; stream < 2; stream++) close(stream);
    MUST(CKR_OK, p11->C_Initialize(NULL));
    use(1);
    for (int stream = 0; stream < 2; stream++) HOLDS(fcntl(stream, F_GETFD) == -1);
    MUST(CKR_OK, p11->C_Finalize(NULL));
    return 0;
}
