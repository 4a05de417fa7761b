// A stand-in for systemd-logind on a bus of a test. It says "ready" once it has the name, then carries out the lines of its input:
//
//   add PATH UID SEAT CLASS LOCKED   a new session; SEAT is "-" for none
//   set PATH STATE                   changes the session's state, of which logind sends no signal
//   forget PATH                      removes a session without a signal
//   remove PATH                      removes a session
//   hint PATH LOCKED                 sets LockedHint
//   lock PATH                        asks the session to lock its screen
//   odd PATH                         sends the signals for the session with other contents than logind's
//   sleep FLAG                       announces sleep, or its end
//   count                            says "held N": how many descriptors delay the sleep
//
// Each line is answered by "done", after the bus has the signals. It says "inhibit WHAT MODE SENDER" for each request to delay the sleep.
// It ends with its input, or with the bus.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-bus.h>
#include <unistd.h>

#define NAME "org.freedesktop.login1"
#define OBJECT "/org/freedesktop/login1"

struct session {
    char path[128], seat[32], kind[32], state[32];
    unsigned user;
    int is_locked;
};

enum { capacity = 16 };
static struct session sessions[capacity];
static int session_count;
static int delays[64];
static int delay_count;

static void check(int result, const char *what) {
    if (result >= 0) return;
    fprintf(stderr, "logind: %s: %s\n", what, strerror(-result));
    exit(1);
}

static struct session *find(const char *path) {
    for (int i = 0; i < session_count; i++)
        if (strcmp(sessions[i].path, path) == 0) return &sessions[i];
    return NULL;
}

static void forget(struct session *session) {
    if (session != NULL) *session = sessions[--session_count];
}

static int held(void) {
    int count = 0;
    for (int i = 0; i < delay_count; i++) {
        struct pollfd end = {.fd = delays[i]};
        poll(&end, 1, 0);
        count += (end.revents & POLLHUP) == 0;
    }
    return count;
}

// MARK: Methods

static void list_sessions(sd_bus *bus, sd_bus_message *call) {
    sd_bus_message *answer;
    check(sd_bus_message_new_method_return(call, &answer), "answer");
    check(sd_bus_message_open_container(answer, 'a', "(susso)"), "array");
    for (int i = 0; i < session_count; i++)
        check(sd_bus_message_append(answer, "(susso)", strrchr(sessions[i].path, '/') + 1, sessions[i].user, "user",
                                    sessions[i].seat, sessions[i].path), "session");
    check(sd_bus_message_close_container(answer), "array");
    check(sd_bus_send(bus, answer, NULL), "send");
    sd_bus_message_unref(answer);
}

static void get_all(sd_bus *bus, sd_bus_message *call) {
    struct session *session = find(sd_bus_message_get_path(call));
    if (session == NULL) {
        check(sd_bus_reply_method_errno(call, ENOENT, NULL), "error");
        return;
    }
    sd_bus_message *answer;
    check(sd_bus_message_new_method_return(call, &answer), "answer");
    check(sd_bus_message_append(answer, "a{sv}", 5, "Id", "s", "1", "Class", "s", session->kind, "LockedHint", "b",
                                session->is_locked, "State", "s", session->state, "Seat", "(so)", session->seat, "/"),
          "properties");
    check(sd_bus_send(bus, answer, NULL), "send");
    sd_bus_message_unref(answer);
}

// A session of class "odd" has a text as its hint.
static void get_hint(sd_bus_message *call) {
    struct session *session = find(sd_bus_message_get_path(call));
    const char *interface, *property;
    check(sd_bus_message_read(call, "ss", &interface, &property), "arguments");
    if (session == NULL || strcmp(interface, NAME ".Session") != 0 || strcmp(property, "LockedHint") != 0) {
        check(sd_bus_reply_method_errno(call, ENOENT, NULL), "error");
    } else if (strcmp(session->kind, "odd") == 0) {
        check(sd_bus_reply_method_return(call, "v", "s", "1"), "hint");
    } else {
        check(sd_bus_reply_method_return(call, "v", "b", session->is_locked), "hint");
    }
}

static void inhibit(sd_bus_message *call) {
    const char *what, *who, *why, *mode;
    check(sd_bus_message_read(call, "ssss", &what, &who, &why, &mode), "arguments");
    int ends[2];
    if (delay_count == 64 || pipe2(ends, O_CLOEXEC) != 0) exit(1);
    delays[delay_count++] = ends[0];
    printf("inhibit %s %s %s\n", what, mode, sd_bus_message_get_sender(call));
    check(sd_bus_reply_method_return(call, "h", ends[1]), "inhibit");
    close(ends[1]);
}

static void serve(sd_bus *bus) {
    for (;;) {
        sd_bus_message *message = NULL;
        int result = sd_bus_process(bus, &message);
        if (result < 0) exit(0); // the bus has ended
        if (message != NULL) {
            if (sd_bus_message_is_method_call(message, NAME ".Manager", "ListSessions")) list_sessions(bus, message);
            if (sd_bus_message_is_method_call(message, "org.freedesktop.DBus.Properties", "GetAll")) get_all(bus, message);
            if (sd_bus_message_is_method_call(message, "org.freedesktop.DBus.Properties", "Get")) get_hint(message);
            if (sd_bus_message_is_method_call(message, NAME ".Manager", "Inhibit")) inhibit(message);
            sd_bus_message_unref(message);
        }
        if (result == 0) return;
    }
}

// MARK: Lines

static void tell_of(sd_bus *bus, const char *member, const struct session *session) {
    check(sd_bus_emit_signal(bus, OBJECT, NAME ".Manager", member, "so", strrchr(session->path, '/') + 1, session->path), member);
}

static void carry_out(sd_bus *bus, const char *line) {
    char word[16] = "", path[128] = "", first[32] = "";
    struct session new = {.state = "active"};
    sscanf(line, "%15s %127s %31s", word, path, first);
    struct session *session = find(path);
    if (strcmp(word, "add") == 0) {
        if (session_count == capacity) exit(1);
        sscanf(line, "%*s %127s %u %31s %31s %d", new.path, &new.user, new.seat, new.kind, &new.is_locked);
        if (strcmp(new.seat, "-") == 0) new.seat[0] = 0;
        sessions[session_count++] = new;
        tell_of(bus, "SessionNew", &new);
    } else if (strcmp(word, "set") == 0 && session != NULL) {
        strcpy(session->state, first);
    } else if (strcmp(word, "forget") == 0) {
        forget(session);
    } else if (strcmp(word, "remove") == 0 && session != NULL) {
        new = *session;
        forget(session);
        tell_of(bus, "SessionRemoved", &new);
    } else if (strcmp(word, "hint") == 0 && session != NULL) {
        session->is_locked = atoi(first);
        check(sd_bus_emit_signal(bus, path, "org.freedesktop.DBus.Properties", "PropertiesChanged", "sa{sv}as", NAME ".Session", 2,
                                 "IdleHint", "b", 0, "LockedHint", "b", session->is_locked, 0), "hint");
    } else if (strcmp(word, "lock") == 0) {
        check(sd_bus_emit_signal(bus, path, NAME ".Session", "Lock", ""), "lock");
    } else if (strcmp(word, "odd") == 0) {
        const char *properties = "org.freedesktop.DBus.Properties";
        check(sd_bus_emit_signal(bus, OBJECT, NAME ".Manager", "PrepareForSleep", "s", "true"), "odd");
        check(sd_bus_emit_signal(bus, OBJECT, NAME ".Manager", "PrepareForSleep", ""), "odd");
        check(sd_bus_emit_signal(bus, path, properties, "PropertiesChanged", "sa{sv}as", NAME ".Session", 1, "LockedHint", "s", "1", 0),
              "odd");
        check(sd_bus_emit_signal(bus, path, properties, "PropertiesChanged", "sas", NAME ".Session", 1, "LockedHint"), "odd");
    } else if (strcmp(word, "sleep") == 0) {
        check(sd_bus_emit_signal(bus, OBJECT, NAME ".Manager", "PrepareForSleep", "b", atoi(path)), "sleep");
    } else if (strcmp(word, "count") == 0) {
        printf("held %d\n", held());
    } else {
        fprintf(stderr, "logind: cannot do '%s'\n", line);
        exit(1);
    }
    check(sd_bus_flush(bus), "flush");
    puts("done");
}

int main(int count, char **arguments) {
    setvbuf(stdout, NULL, _IOLBF, 0);
    sd_bus *bus;
    check(sd_bus_new(&bus), "bus");
    check(sd_bus_set_address(bus, count > 1 ? arguments[1] : ""), "address");
    check(sd_bus_set_bus_client(bus, 1), "bus");
    check(sd_bus_start(bus), "connect");
    check(sd_bus_request_name(bus, NAME, 0), "name");
    puts("ready");
    char input[4096];
    size_t length = 0;
    for (;;) {
        serve(bus);
        struct pollfd waiting[] = {{.fd = STDIN_FILENO, .events = POLLIN}, {.fd = sd_bus_get_fd(bus), .events = POLLIN}};
        waiting[1].events = (short)sd_bus_get_events(bus);
        poll(waiting, 2, -1);
        if (waiting[0].revents == 0) continue;
        ssize_t more = read(STDIN_FILENO, input + length, sizeof input - 1 - length);
        if (more <= 0) return 0;
        length += (size_t)more;
        input[length] = 0;
        char *end;
        while ((end = strchr(input, '\n')) != NULL) {
            *end = 0;
            carry_out(bus, input);
            length -= (size_t)(end + 1 - input);
            memmove(input, end + 1, length + 1);
        }
    }
}
