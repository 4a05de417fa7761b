// A stand-in for the notification server of a desktop, on a bus of a test: org.freedesktop.Notifications. It says "ready" once it has the
// name, then a line for each call:
//
//   show NUMBER REPLACED URGENCY PASSING TIME TITLE|TEXT   Notify; a line feed of the text is shown as "/"
//   close NUMBER                                           CloseNotification
//
// Its arguments are the bus's address and its kind: "markup"; "plain", which takes no markup; "mute", which never answers; "odd", which
// answers with other contents than the specification has. It ends with its input, or with the bus.
#define _GNU_SOURCE
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-bus.h>
#include <unistd.h>

#define NAME "org.freedesktop.Notifications"

static const char *kind;
static unsigned last;

static int is(const char *word) { return strcmp(kind, word) == 0; }

static void check(int result, const char *what) {
    if (result >= 0) return;
    fprintf(stderr, "notifications: %s: %s\n", what, strerror(-result));
    exit(1);
}

static void capabilities(sd_bus_message *call) {
    if (is("plain")) {
        check(sd_bus_reply_method_return(call, "as", 2, "body", "actions"), "answer");
    } else {
        check(sd_bus_reply_method_return(call, "as", 2, "body", "body-markup"), "answer");
    }
}

static void notify(sd_bus_message *call) {
    const char *program, *icon, *title, *text;
    unsigned replaced;
    int time, passing = 0;
    unsigned char urgency = 0xFF;
    check(sd_bus_message_read(call, "susss", &program, &replaced, &icon, &title, &text), "texts");
    check(sd_bus_message_skip(call, "as"), "actions");
    check(sd_bus_message_enter_container(call, 'a', "{sv}"), "hints");
    while (sd_bus_message_enter_container(call, 'e', "sv") > 0) {
        const char *hint;
        check(sd_bus_message_read(call, "s", &hint), "hint");
        if (strcmp(hint, "urgency") == 0) {
            check(sd_bus_message_read(call, "v", "y", &urgency), "urgency");
        } else if (strcmp(hint, "transient") == 0) {
            check(sd_bus_message_read(call, "v", "b", &passing), "transient");
        } else {
            check(sd_bus_message_skip(call, "v"), "other hint");
        }
        check(sd_bus_message_exit_container(call), "hint");
    }
    check(sd_bus_message_exit_container(call), "hints");
    check(sd_bus_message_read(call, "i", &time), "time");
    unsigned number = replaced == 0 ? ++last : replaced;
    printf("show %u %u %u %d %d %s|", number, replaced, urgency, passing, time, title);
    for (; *text != 0; text++) putchar(*text == '\n' ? '/' : *text);
    putchar('\n');
    if (is("odd")) {
        check(sd_bus_reply_method_return(call, "s", "1"), "answer");
    } else {
        check(sd_bus_reply_method_return(call, "u", number), "answer");
    }
}

static void close_bubble(sd_bus_message *call) {
    unsigned number;
    check(sd_bus_message_read(call, "u", &number), "number");
    printf("close %u\n", number);
    check(sd_bus_reply_method_return(call, ""), "answer");
}

static void serve(sd_bus *bus) {
    for (;;) {
        sd_bus_message *message = NULL;
        int result = sd_bus_process(bus, &message);
        if (result < 0) exit(0); // the bus has ended
        if (message != NULL) {
            if (is("mute") && sd_bus_message_is_method_call(message, NAME, NULL) > 0) {
                printf("asked\n");
            } else {
                if (sd_bus_message_is_method_call(message, NAME, "GetCapabilities") > 0) capabilities(message);
                if (sd_bus_message_is_method_call(message, NAME, "Notify") > 0) notify(message);
                if (sd_bus_message_is_method_call(message, NAME, "CloseNotification") > 0) close_bubble(message);
            }
            sd_bus_message_unref(message);
        }
        if (result == 0) return;
    }
}

int main(int count, char **arguments) {
    setvbuf(stdout, NULL, _IOLBF, 0);
    kind = count > 2 ? arguments[2] : "markup";
    sd_bus *bus;
    check(sd_bus_new(&bus), "bus");
    check(sd_bus_set_address(bus, count > 1 ? arguments[1] : ""), "address");
    check(sd_bus_set_bus_client(bus, 1), "bus");
    check(sd_bus_start(bus), "connect");
    check(sd_bus_request_name(bus, NAME, 0), "name");
    puts("ready");
    for (;;) {
        serve(bus);
        struct pollfd waiting[] = {{.fd = STDIN_FILENO, .events = POLLIN}, {.fd = sd_bus_get_fd(bus), .events = POLLIN}};
        waiting[1].events = (short)sd_bus_get_events(bus);
        poll(waiting, 2, -1);
        if (waiting[0].revents != 0) return 0;
    }
}
