/* Signs in with each key of the SSH agent by libssh2.
 *
 *     libssh2-agent PORT USER
 *
 * Prints a line for each key: its kind, and whether the server has let the user in. */
#include <arpa/inet.h>
#include <libssh2.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct connection {
    int socket;
    LIBSSH2_SESSION *session;
    LIBSSH2_AGENT *agent;
};

static void fail(const char *what) {
    fprintf(stderr, "libssh2-agent: %s\n", what);
    exit(2);
}

static struct connection begin(int port) {
    struct connection made = {socket(AF_INET, SOCK_STREAM, 0), libssh2_session_init(), NULL};
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (connect(made.socket, (struct sockaddr *)&address, sizeof address) != 0) fail("no server");
    if (!made.session || libssh2_session_handshake(made.session, made.socket) != 0) fail("no handshake");
    made.agent = libssh2_agent_init(made.session);
    if (!made.agent || libssh2_agent_connect(made.agent) != 0) fail("no agent");
    if (libssh2_agent_list_identities(made.agent) != 0) fail("no list of keys");
    return made;
}

static void end(struct connection *made) {
    libssh2_agent_disconnect(made->agent);
    libssh2_agent_free(made->agent);
    libssh2_session_disconnect(made->session, "done");
    libssh2_session_free(made->session);
    close(made->socket);
}

/* The key with a number; NULL behind the last one. */
static struct libssh2_agent_publickey *key(struct connection *made, int number) {
    struct libssh2_agent_publickey *found = NULL, *former = NULL;
    for (int index = 0; index <= number; index++, former = found) {
        int result = libssh2_agent_get_identity(made->agent, &found, former);
        if (result == 1) return NULL;
        if (result != 0) fail("no key");
    }
    return found;
}

int main(int count, char **arguments) {
    if (count != 3 || libssh2_init(0) != 0) return 2;
    for (int number = 0;; number++) {
        struct connection made = begin(atoi(arguments[1]));
        struct libssh2_agent_publickey *used = key(&made, number);
        if (!used) {
            end(&made);
            break;
        }
        /* The kind is the first string of the key, behind its length. */
        int isIn = libssh2_agent_userauth(made.agent, arguments[2], used) == 0;
        printf("%.*s %s\n", used->blob[3], (const char *)used->blob + 4, isIn ? "signed in" : "refused");
        end(&made);
    }
    libssh2_exit();
    return 0;
}
