/* Messages between the module and its host, as both ends write them: Sources/Wire/FrameHeader.swift. */
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

enum { hello = 1, connection = 2, request = 3, answer = 4, working = 5 };

struct header {
    uint8_t kind, zero[3];
    uint32_t number, fields, secrets;
};

/* Receives `count` bytes. Returns 0 if they do not come. */
static int take(int from, void *bytes, size_t count) { return recv(from, bytes, count, MSG_WAITALL) == (ssize_t)count; }

static int give(int to, const void *bytes, size_t count) {
    while (count > 0) {
        ssize_t sent = send(to, bytes, count, MSG_NOSIGNAL);
        if (sent <= 0) return 0;
        bytes = (const char *)bytes + sent;
        count -= sent;
    }
    return 1;
}

/* Receives the fields of a message, and drops its secrets. */
static int take_message(int from, struct header *header, uint8_t *fields, size_t room) {
    if (!take(from, header, sizeof *header) || header->fields > room || !take(from, fields, header->fields)) return 0;
    for (uint32_t left = header->secrets; left > 0;) {
        static uint8_t thrown_away[65536];
        size_t part = left < sizeof thrown_away ? left : sizeof thrown_away;
        if (!take(from, thrown_away, part)) return 0;
        left -= part;
    }
    return 1;
}

static int give_message(int to, uint8_t kind, uint32_t number, const void *fields, uint32_t count, uint32_t secrets) {
    struct header header = {kind, {0}, number, count, secrets};
    return give(to, &header, sizeof header) && give(to, fields, count);
}

/* Receives the connection of a message. Returns -1 if the other side is gone, or has sent none. */
__attribute__((unused)) static int take_connection(int control) {
    struct header header;
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(sizeof(int))];
    } ancillary;
    struct iovec part = {&header, sizeof header};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = &ancillary, .msg_controllen = sizeof ancillary};
    if (recvmsg(control, &message, MSG_WAITALL) != sizeof header || message.msg_controllen == 0) return -1;
    int descriptor;
    memcpy(&descriptor, CMSG_DATA(&ancillary.header), sizeof descriptor);
    return descriptor;
}
