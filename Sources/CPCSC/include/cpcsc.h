// libpcsclite's headers include each other by bare name and expect -I/usr/include/PCSC. The forwarding headers beside
// this one stand in for that flag, which SwiftPM would warn about on each build if pkg-config gave it.
#pragma once
#include <PCSC/winscard.h>
#include <PCSC/reader.h>

/* Each call of libpcsclite is announced before it is made, for two reasons.

   libpcsclite has one lock for the whole process. It is held while a context is made or released, and for a moment at the start of
   every other call. In a child that is forked meanwhile, it stays locked for ever. So a fork waits until no call is in such a moment.

   libpcsclite waits for the service's answers without limit. A call that has a limit, and has not returned by then, is made to
   return: a thread of this process shuts down the socket of its context, which is of no use afterwards. */

/* The socket of a context; number -1 where it is not known. Its inode tells it from another file that has got its number, since
   programs close descriptors that are not theirs. */
struct cpcsc_socket {
    int number;
    unsigned long inode;
};

enum { cpcsc_most_sockets = 64 };

/* The sockets of this process that may be connected to the service; count -1 where they cannot be told. */
struct cpcsc_sockets {
    int count;
    struct cpcsc_socket sockets[cpcsc_most_sockets];
};

/* A call while it lasts. The caller provides the memory. */
struct cpcsc_call {
    struct cpcsc_socket socket;
    const struct cpcsc_sockets *former;
    struct cpcsc_call *next, **link;
    long deadline;
    int has_limit, is_over;
};

/* The milliseconds of a call that may take any time. */
enum { cpcsc_no_limit = 0 };

void cpcsc_begin_call(struct cpcsc_call *call, struct cpcsc_socket socket, unsigned long milliseconds);

/* Whether the call was made to return. */
int cpcsc_end_call(struct cpcsc_call *call);

/* A call that makes a context, whose socket is found by comparing the process's sockets before the call and after it. */
void cpcsc_begin_making(struct cpcsc_call *call, struct cpcsc_sockets *former, unsigned long milliseconds);
int cpcsc_end_making(struct cpcsc_call *call, struct cpcsc_socket *made);

/* A call that releases a context. */
void cpcsc_begin_releasing(struct cpcsc_call *call, struct cpcsc_socket socket, unsigned long milliseconds);
void cpcsc_end_releasing(struct cpcsc_call *call);
