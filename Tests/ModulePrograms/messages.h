/* Counts the messages that the module sends, in programs that are linked with -rdynamic. */
#define _GNU_SOURCE
#include "module.h"
#include <sys/socket.h>
#include <sys/syscall.h>

static int messages;

/* Replaces libc's function, through which the module sends all messages to the host. */
ssize_t sendmsg(int descriptor, const struct msghdr *message, int flags) {
    messages++;
    return syscall(SYS_sendmsg, descriptor, message, flags);
}

static CK_UTF8CHAR password[] = "open";
